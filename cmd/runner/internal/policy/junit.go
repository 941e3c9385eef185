package policy

import (
	"encoding/xml"
	"fmt"
	"os"

	"github.com/plughook/plughook/cmd/runner/internal/exit"
)

// junitSuite is what came of a policy's tests, in the form that systems of CI read.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string `xml:"classname,attr"`
	Name    string `xml:"name,attr"`
	Time    string `xml:"time,attr"` // in seconds
	Failure string `xml:"failure,omitempty"`
	Error   string `xml:"error,omitempty"`
}

// writeJUnit writes a report with a suite for each policy. One that cannot be used, or has no tests although
// some must pass, is a case with an error: who reads only the report would miss it.
func (t *policyTesting) writeJUnit() error {
	report := []junitSuite{}
	for _, s := range t.suites {
		suite := junitSuite{Name: s.File, Tests: s.Tests, Failures: s.Tests - s.Passed}
		for _, r := range s.Results {
			suite.Cases = append(suite.Cases,
				junitCase{Class: s.File, Name: r.Name, Time: fmt.Sprintf("%.6f", r.Millis/1000), Failure: r.Failure})
		}
		if s.Error != "" && !(s.Revision != "" && t.enough(s)) {
			suite.Tests = 1
			suite.Errors = 1
			suite.Cases = []junitCase{{Class: s.File, Name: "policy", Time: "0", Error: s.Error}}
		}
		report = append(report, suite)
	}
	data, err := xml.MarshalIndent(struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}{Suites: report}, "", "  ")
	if err == nil {
		err = os.WriteFile(t.junit, append([]byte(xml.Header), append(data, '\n')...), 0o666)
	}
	return exit.Other.As(err)
}

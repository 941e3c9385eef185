package policy

import (
	"encoding/xml"
	"fmt"
	"os"
)

// junitReport is a report as JUnit writes it, which CI systems read.
type junitReport struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Time     string      `xml:"time,attr"` // seconds
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string      `xml:"classname,attr"`
	Name    string      `xml:"name,attr"`
	Time    string      `xml:"time,attr"`
	Failure *junitFault `xml:"failure"`
	Error   *junitFault `xml:"error"`
}

type junitFault struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// writeJUnit writes the report: a suite for each file. A file that cannot be used, or has no tests
// where some must pass, is a case with an error, since a reader of the report alone would miss it.
func (t *policyTesting) writeJUnit() error {
	report := junitReport{Suites: []junitSuite{}}
	for _, s := range t.suites {
		suite := junitSuite{Name: s.File, Tests: s.Tests, Failures: s.Tests - s.Passed}
		millis := 0.0
		for _, r := range s.Results {
			c := junitCase{Class: s.File, Name: r.Name, Time: seconds(r.Millis)}
			if !r.OK {
				c.Failure = &junitFault{r.Failure, fmt.Sprintf("stage %s, wanted %s", r.Stage, r.Want)}
			}
			suite.Cases = append(suite.Cases, c)
			millis += r.Millis
		}
		if s.Error != "" && !(s.Revision != "" && t.enough(s)) {
			suite.Tests = 1
			suite.Errors = 1
			suite.Cases = append(suite.Cases, junitCase{
				Class: s.File,
				Name:  "policy",
				Time:  seconds(0),
				Error: &junitFault{"there is nothing to test", s.Error},
			})
		}
		suite.Time = seconds(millis)
		report.Suites = append(report.Suites, suite)
	}
	data, err := xml.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(t.junit, append([]byte(xml.Header), append(data, '\n')...), 0o666)
}

func seconds(millis float64) string { return fmt.Sprintf("%.6f", millis/1000) }

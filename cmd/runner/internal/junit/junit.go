// Package junit writes reports of tests in JUnit's XML, which systems of CI read.
//
// A new field of a report: a field here, with its name in the XML.
package junit

import (
	"encoding/xml"
	"os"
	"strings"

	"github.com/plughook/plughook/cmd/runner/internal/exit"
)

// A Suite is what came of the tests of one file.
type Suite struct {
	XMLName  xml.Name `xml:"testsuite"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Cases    []Case   `xml:"testcase"`
}

// A Case is what came of one test.
type Case struct {
	Class   string `xml:"classname,attr"`
	Name    string `xml:"name,attr"`
	Time    string `xml:"time,attr"` // in seconds
	Failure string `xml:"failure,omitempty"`
	Error   string `xml:"error,omitempty"`
	Output  string `xml:"system-out,omitempty"`
}

// Write writes a report. Characters that XML has not are left out.
func Write(file string, suites []Suite) error {
	for _, s := range suites {
		for i := range s.Cases {
			c := &s.Cases[i]
			for _, text := range []*string{&c.Name, &c.Failure, &c.Error, &c.Output} {
				*text = strings.ToValidUTF8(*text, "\uFFFD")
			}
		}
	}
	data, err := xml.MarshalIndent(struct {
		XMLName xml.Name `xml:"testsuites"`
		Suites  []Suite  `xml:"testsuite"`
	}{Suites: suites}, "", "  ")
	if err == nil {
		err = os.WriteFile(file, append([]byte(xml.Header), append(data, '\n')...), 0o666)
	}
	return exit.Other.As(err)
}

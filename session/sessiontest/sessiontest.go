// Package sessiontest holds the contract of session.Service as tests, for those who write a store.
//
// Every rule is a case with its explanation in words. A store's own test is one call:
//
//	func TestService(t *testing.T) {
//		sessiontest.Run(t, func(t *testing.T) session.Service { return openMyStore(t) })
//	}
package sessiontest

import (
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/plughook/plughook/session"
)

// Run tests a store against the contract of session.Service, each rule in a subtest. When one fails,
// its explanation is printed with the place in this package where the rule is tested.
//
// open is called for each case and returns a service that works; Run closes it. The services may share
// what they keep their sessions in, or not: every case uses an app of its own.
func Run(t *testing.T, open func(t *testing.T) session.Service) {
	for _, c := range slices.Concat(identityCases, createCases, listCases, deleteCases, appendCases, copyCases,
		repeatCases, stateCases, incrementCases, boundCases, readCases, jsonCases, compactionCases, rewindCases, viewCases,
		turnCases, fenceCases, concurrentCases, endCases, machineCases) {
		t.Run(c.name, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("The rule: %s (%s)", c.rule, c.source())
				}
			}()
			svc := open(t)
			defer svc.Close() // a case may have closed it: its error says nothing
			c.run(&tester{tb: t, t: t, Service: svc, app: newApp()})
		})
	}
}

// newApp returns an app that no other case has, in no other run on the same store.
func newApp() string { return "sessiontest " + session.NewID() }

// A testCase is one rule of the contract.
type testCase struct {
	name, rule string
	run        func(*tester)
}

// source returns file:line of the case's function.
func (c testCase) source() string {
	pc := reflect.ValueOf(c.run).Pointer()
	file, line := runtime.FuncForPC(pc).FileLine(pc)
	return fmt.Sprintf("%s:%d", filepath.Base(file), line)
}

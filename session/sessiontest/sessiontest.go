// Package sessiontest holds the contract of session.Service as tests, for those who write a store.
//
// Every rule is a case with its explanation in words. A store's own test is one call:
//
//	func TestService(t *testing.T) {
//		sessiontest.Run(t, func(t *testing.T) session.Service { return openMyStore(t) })
//	}
//
// A new rule: a case in the list whose name it begins with (append.go has appendCases), with a fault in
// faults_test.go that only this case finds. A new list of cases goes into Run; into RunShared too, if it is
// about processes that share a store. A new kind of event or operation: machine.go does it to the store and to
// one of package memory, and expects the same of both.
package sessiontest

import (
	"slices"
	"testing"

	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/session"
)

// A testCase is one rule of the contract. It has either Run or On.
type testCase struct {
	// Name is the name of the case's subtest.
	Name string
	// Rule says what a store has to do, in words. It is printed when the case fails.
	Rule string
	// Run tests the rule.
	Run func(*tester)
	// On tests the rule on a new session of the user "ann".
	On func(*tester, session.Key)
	// Around returns what is called in place of Run, and calls it. Nil is Run itself.
	Around func(run func(*tester)) func(*tester)
}

// Run tests a store against the contract of session.Service, each rule in a subtest. When one fails,
// its explanation is printed with the place in this package where the rule is tested.
//
// open is called at the beginning of each case and returns a service that works; Run closes it. The
// services may share what they keep their sessions in, or not: every case uses an app of its own. So open
// may call t.Parallel too. It is called again when a case begins anew, because a lease may have run out.
func Run(t *testing.T, open func(t *testing.T) session.Service) {
	cases := slices.Concat(
		identityCases, createCases, numberCases, listCases, searchCases, deleteCases,
		appendCases, repeatCases,
		readCases, copyCases, jsonCases,
		stateCases, incrementCases, boundCases,
		compactionCases, rewindCases, viewCases,
		holding(usual, leaseCases), holding(usual, holderCases), holding(longest, cancelCases), watchCases,
		concurrentCases, endCases, machineCases,
	)
	run(t, cases, func(t *testing.T) (one, other session.Service) {
		svc := open(t)
		return svc, svc
	})
}

// RunShared tests what a store owes to processes that share their sessions: Run's cases about numbers,
// watching and cancelling, with two services. open returns two that have the same sessions; RunShared closes
// them.
func RunShared(t *testing.T, open func(t *testing.T) (one, other session.Service)) {
	run(t, slices.Concat(numberCases, holding(usual, holderCases), holding(longest, cancelCases), watchCases), open)
}

// run runs cases, each with a tester of the services that open returns.
func run(t *testing.T, cases []testCase, open func(t *testing.T) (one, other session.Service)) {
	var start func(t *testing.T) *tester
	start = func(t *testing.T) *tester {
		one, other := open(t)
		t.Cleanup(func() { // a case may have closed them: their errors say nothing
			_ = one.Close()
			_ = other.Close()
		})
		return &tester{
			Tester:  contract.NewTester(t, t),
			Service: one,
			other:   other,
			held:    &holds{},
			start:   start,
		}
	}
	var list []contract.Case[*tester]
	for _, c := range cases {
		run := contract.Case[*tester]{Name: c.Name, Rule: c.Rule, Run: c.Run, Around: c.Around}
		if c.On != nil {
			run.Source = c.On
			run.Run = func(t *tester) { c.On(t, t.create("s")) }
		}
		list = append(list, run)
	}
	contract.Run(t, list, start)
}

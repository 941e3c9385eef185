// Package contract runs the cases of a contract: the rules that every implementation of an interface
// keeps, as tests. Package session/sessiontest is such a contract, and so are the tests of artifact.Service.
//
// What the cases of one contract need goes into its own tester; what those of every contract need, into
// Tester.
package contract

import (
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"
)

// A Case is one rule of a contract. T is what the contract's cases work with.
type Case[T any] struct {
	// Name is the name of the case's subtest.
	Name string
	// Rule says what an implementation has to do, in words. It is printed when the case fails.
	Rule string
	// Run tests the rule.
	Run func(T)
	// Source is the function whose place in the code is printed when the case fails; nil means Run.
	Source any
	// Around returns what is called in place of Run, and calls it. Nil is Run itself.
	Around func(run func(T)) func(T)
}

// Run runs each case in a subtest of its own. start makes what the case works with; what it opens, it
// closes in a t.Cleanup.
func Run[T any](t *testing.T, cases []Case[T], start func(*testing.T) T) {
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("The rule: %s (%s)", c.Rule, c.source())
				}
			}()
			run := c.Run
			if c.Around != nil {
				run = c.Around(run)
			}
			run(start(t))
		})
	}
}

// source returns file:line of the case's function.
func (c Case[T]) source() string {
	source := c.Source
	if source == nil {
		source = c.Run
	}
	pc := reflect.ValueOf(source).Pointer()
	file, line := runtime.FuncForPC(pc).FileLine(pc)
	return fmt.Sprintf("%s:%d", filepath.Base(file), line)
}

package contract

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plughook/plughook/session"
)

// A Tester has what the cases of every contract need. Its methods end the case when something fails.
type Tester struct {
	TB
	// T is the case's test, also where TB is a rapid.T.
	T *testing.T
	// App names an app that no other case has, in no other run on the same store.
	App string
}

// TB is what a *testing.T and a *rapid.T both have and cases need.
type TB interface {
	Helper()
	Logf(format string, args ...any)
	Fatalf(format string, args ...any)
	Context() context.Context
	Cleanup(func())
}

// NewTester returns a tester with an app of its own.
func NewTester(tb TB, t *testing.T) *Tester {
	return &Tester{
		TB:  tb,
		T:   t,
		App: "contract " + session.NewID(),
	}
}

// Key returns the key of a session of the tester's app.
func (t *Tester) Key(user, id string) session.Key {
	return session.Key{App: t.App, User: user, ID: id}
}

// Patience is for how long a case waits for what must happen soon. A test of a contract, whose stores never
// do it, may make it shorter.
var Patience = time.Minute

// Soon returns a context for what must happen soon: it ends after Patience.
func (t *Tester) Soon() context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	t.Cleanup(cancel)
	return ctx
}

// Must expects no error.
func (t *Tester) Must(err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}

// FailIf ends the case if wrong is true; the rest says what is wrong, as for Fatalf.
func (t *Tester) FailIf(wrong bool, format string, args ...any) {
	t.Helper()
	if wrong {
		t.Fatalf(format, args...)
	}
}

// AtOnce calls do n times at once, with 0, 1, …, and expects no error.
func (t *Tester) AtOnce(n int, do func(i int) error) {
	t.Helper()
	t.Must(errors.Join(AtOnce(n, do)...))
}

// AtOnce calls do n times at once, with 0, 1, …, and returns the errors.
func AtOnce(n int, do func(i int) error) []error {
	var calls sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		calls.Go(func() { errs[i] = do(i) })
	}
	calls.Wait()
	return errs
}

// Persist appends events wherever the log ends by then, again after each conflict.
func Persist(ctx context.Context, svc session.Service, key session.Key, events ...*session.Event) error {
	for {
		s, err := svc.Get(ctx, key)
		if err != nil {
			return err
		}
		_, err = svc.Append(ctx, session.AppendTarget{Key: key, After: s.Position}, events...)
		if !errors.Is(err, session.ErrConflict) {
			return err
		}
	}
}

// Is expects an error that is target; what says of which operation, if that is not plain.
func (t *Tester) Is(err, target error, what ...string) {
	t.Helper()
	if !errors.Is(err, target) {
		of := strings.Join(append(what, ""), ": ")
		t.Fatalf("%serror is %v\n  want one that is: %v", of, err, target)
	}
}

// Differ ends the case with two values that should be equal, as they are to be read.
func (t *Tester) Differ(what, got, want string) {
	t.Helper()
	t.Fatalf("%s:\n   got %s\n  want %s", what, Brief(got), Brief(want))
}

// Brief returns the beginning of a long text, and how long it is.
func Brief(text string) string {
	const most = 2000
	if len(text) > most {
		return fmt.Sprintf("%s… (%d bytes)", text[:most], len(text))
	}
	return text
}

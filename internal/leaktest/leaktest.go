// Package leaktest fails tests that leave goroutines behind.
//
// A goroutine that has been told to end needs a moment until it has ended: longer than a moment if the
// machine stalls just then. goleak by itself waits for less than half a second. The functions here wait for
// up to a minute; where nothing is left behind they return at once. A goroutine that no test can end, of a
// library, is named with an option of goleak where the test calls None or Find.
package leaktest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is for how long goroutines may take to end.
const patience = time.Minute

// Main runs a package's tests and exits: with 1 if they failed or left goroutines behind. TestMain calls it.
func Main(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := Find(); err != nil {
			fmt.Fprintln(os.Stderr, "the tests left goroutines behind:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// None fails the test if goroutines are left that options do not name.
func None(t testing.TB, options ...goleak.Option) {
	t.Helper()
	if err := Find(options...); err != nil {
		t.Error("goroutines are left behind:", err)
	}
}

// Find waits until no goroutines are left but the caller's and those that options name. Its error says which
// ones are left after a minute.
func Find(options ...goleak.Option) error {
	for began := time.Now(); ; {
		err := goleak.Find(options...)
		if err == nil || time.Since(began) > patience {
			return err
		}
	}
}

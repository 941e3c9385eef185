package contract

import (
	"flag"
	"os"
	"strconv"
)

// Times returns how often a test repeats what it does: n times, or n times the number in the environment
// variable PLUGHOOK_SOAK. Without it tests are short; with PLUGHOOK_SOAK=60 those of one store take most of
// an hour.
func Times(n int) int {
	if factor, err := strconv.Atoi(os.Getenv("PLUGHOOK_SOAK")); err == nil && factor > 0 {
		return n * factor
	}
	return n
}

// Short makes the tests of a package, which are to call it first in TestMain, take less time: a property is
// checked Times(checks) times in place of 100, and tests that call t.Parallel run 16 at a time, however few
// cores there are, because most of them wait. The flags -rapid.checks and -parallel go before it.
func Short(checks int) {
	for name, value := range map[string]int{"rapid.checks": Times(checks), "test.parallel": 16} {
		if err := flag.Set(name, strconv.Itoa(value)); err != nil {
			panic(err) // the package does not use rapid
		}
	}
}

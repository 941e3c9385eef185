package soak

import (
	"os"
	"strconv"
)

// Times returns how often a test repeats what it does: n times, or n times the number in the environment
// variable PLUGHOOK_SOAK. A test run by default is a short one; with PLUGHOOK_SOAK=60 it takes most of an hour.
func Times(n int) int {
	if factor, err := strconv.Atoi(os.Getenv("PLUGHOOK_SOAK")); err == nil && factor > 0 {
		return n * factor
	}
	return n
}

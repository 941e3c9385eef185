//go:build !linux

package sqlstore

// Process names this process: here it has no name that tells whether it has ended.
func Process() string { return "" }

// ProcessEnded reports whether a process has ended for sure: here that is not known.
func ProcessEnded(string) bool { return false }

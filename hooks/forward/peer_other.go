//go:build unix && !linux

package forward

// ofThisUser trusts the mode of the directory.
func ofThisUser(int) error { return nil }

//go:build !unix

package terminal

import "io"

// Closed reports whether the program was started without this standard stream: here that is not known.
func Closed(io.Writer) bool { return false }

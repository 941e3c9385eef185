//go:build !unix

package sqlite

import "io/fs"

// links returns 1: how many names a file has is not known here.
func links(fs.FileInfo) uint64 { return 1 }

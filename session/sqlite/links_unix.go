//go:build unix

package sqlite

import (
	"io/fs"
	"syscall"
)

// links returns how many names a file has.
func links(f fs.FileInfo) uint64 {
	if stat, ok := f.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink)
	}
	return 1
}

//go:build unix && !linux

package pinned

import (
	"io"
	"os"

	"github.com/plughook/plughook/plugin/internal/privatedir"
)

// unwritable returns a copy in a directory that only this user can enter. No file can be sealed
// on this system, so other processes of this user could still change it.
func unwritable(_ string, src io.Reader) (*os.File, func(), error) {
	dir, err := privatedir.Make(privatedir.Base())
	if err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(dir.Path+"/"+privatedir.ExecutableFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err == nil {
		_, err = io.Copy(f, src)
		if e := f.Close(); err == nil {
			err = e
		}
	}
	if err != nil {
		dir.Remove()
		return nil, nil, err
	}
	return f, dir.Remove, nil
}

// Executable returns how the copy is executed: by its path.
func (i *Copy) Executable() (path string, file *os.File) { return i.file.Name(), nil }

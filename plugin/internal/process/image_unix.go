//go:build unix && !linux

package process

import (
	"io"
	"os"
)

// unwritable returns a copy in a directory that only this user can enter. No file can be sealed
// on this system, so other processes of this user could still change it.
func unwritable(_ string, src io.Reader) (*os.File, func(), error) {
	dir, err := newPrivateDir(SocketBase())
	if err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(dir.path+"/"+imageFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err == nil {
		_, err = io.Copy(f, src)
		if e := f.Close(); err == nil {
			err = e
		}
	}
	if err != nil {
		dir.remove()
		return nil, nil, err
	}
	return f, dir.remove, nil
}

// in has an order execute the image.
func (i *image) in(o *order) { o.path = i.file.Name() }

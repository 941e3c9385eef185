package pinned

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// unwritable returns a copy in memory that is sealed: nobody can write to it, not even this
// process.
func unwritable(name string, src io.Reader) (*os.File, func(), error) {
	flags := unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate(name, flags|unix.MFD_EXEC)
	if err == unix.EINVAL { // a kernel before 6.3
		fd, err = unix.MemfdCreate(name, flags)
	}
	if err != nil {
		return nil, nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = io.Copy(f, src)
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, func() { _ = f.Close() }, nil
}

// Executable returns how the copy is executed: as an open file without a path.
func (i *Copy) Executable() (path string, file *os.File) { return "", i.file }

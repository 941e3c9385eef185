package pinned

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// folders notice when directories are moved, or exchanged with others, also if they are back by
// the time somebody looks. Their times do not tell: those change with whatever is made in them.
type folders struct{ file *os.File }

// watchFolders watches directories. It returns those that it cannot watch, because this user may
// not read them.
func watchFolders(dirs []string) (f *folders, unwatched []string, err error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, nil, os.NewSyscallError("inotify_init", err)
	}
	f = &folders{file: os.NewFile(uintptr(fd), "inotify")}
	const events = unix.IN_MOVE_SELF | unix.IN_DELETE_SELF | unix.IN_ONLYDIR | unix.IN_DONT_FOLLOW
	for _, dir := range dirs {
		_, err := unix.InotifyAddWatch(fd, dir, events)
		if errors.Is(err, unix.EACCES) {
			unwatched = append(unwatched, dir)
			continue
		}
		if err != nil {
			f.close()
			return nil, nil, &os.PathError{Op: "inotify_add_watch", Path: dir, Err: err}
		}
	}
	return f, unwatched, nil
}

// moved reports whether a directory was moved.
func (f *folders) moved() bool {
	if f == nil {
		return false
	}
	var event [unix.SizeofInotifyEvent + unix.NAME_MAX + 1]byte
	raw, err := f.file.SyscallConn()
	if err != nil { // it was closed
		return true
	}
	n := 0
	e := raw.Read(func(fd uintptr) bool {
		n, err = unix.Read(int(fd), event[:])
		return true
	})
	return e != nil || n > 0 || err != unix.EAGAIN
}

func (f *folders) close() {
	if f != nil {
		_ = f.file.Close()
	}
}

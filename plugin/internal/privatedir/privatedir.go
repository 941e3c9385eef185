//go:build unix

// Package privatedir makes directories for sockets that no other user can enter, and removes those that a host has
// left that was killed. What such a directory may hold is in expects: anything else is never removed.
package privatedir

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/plughook/plughook/internal/lazyregexp"
)

const (
	Prefix = "plughook-socket-"
	// MaxBase is how long the path of the directory may be in which private directories are made:
	// the system bounds the paths of sockets.
	MaxBase = 60
	// Besides sockets, a private directory has a file that says who has made it, and the copy of
	// a pinned executable, on systems that cannot have that in memory.
	markFile       = "made-by-plughook"
	ExecutableFile = "plughook-image"
	mark           = "A directory for sockets, made by Plughook. Hosts remove it once who made it has died.\n"
)

// Dir is a directory for a plugin's socket that no other user can enter. It is locked
// while the host lives.
type Dir struct {
	Path string
	lock *os.File
}

func Make(base string) (*Dir, error) {
	fail := func(err error) (*Dir, error) { return nil, fmt.Errorf("a directory for its socket: %w", err) }
	path, err := os.MkdirTemp(base, Prefix+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return fail(err)
	}
	lock, err := lockDir(path) // without the mark, nobody removes it
	if err != nil {
		return fail(err)
	}
	d := &Dir{Path: path, lock: lock}
	if err := os.WriteFile(filepath.Join(path, markFile), []byte(mark), 0o600); err != nil {
		d.Remove()
		return fail(err)
	}
	return d, nil
}

// remove removes the directory and what this package has put there. If there is anything else,
// that stays, and the directory too.
func (d *Dir) Remove() {
	fd := int(d.lock.Fd())
	names, _ := d.names()
	for _, name := range names {
		if d.expects(name) {
			_ = unix.Unlinkat(fd, name, 0)
		}
	}
	_ = unix.Rmdir(d.Path)
	_ = d.lock.Close()
}

func (d *Dir) names() ([]string, error) {
	_, _ = d.lock.Seek(0, io.SeekStart)
	return d.lock.Readdirnames(-1)
}

// expects reports whether a file is of a kind that this package or a plugin puts into the directory: the mark, the
// copy of an executable, a socket.
func (d *Dir) expects(name string) bool {
	var st unix.Stat_t
	if unix.Fstatat(int(d.lock.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || int(st.Uid) != os.Geteuid() {
		return false
	}
	switch kind := st.Mode & unix.S_IFMT; name {
	case markFile, ExecutableFile:
		return kind == unix.S_IFREG
	default:
		return kind == unix.S_IFSOCK
	}
}

// made reports whether this package has made the directory, as the mark in it says, and the directory holds no other
// files than those that expects names.
func (d *Dir) made() bool {
	var st unix.Stat_t
	if unix.Fstat(int(d.lock.Fd()), &st) != nil || st.Mode&0o7777 != 0o700 {
		return false
	}
	names, err := d.names()
	if err != nil || !slices.Contains(names, markFile) {
		return false
	}
	for _, name := range names {
		if !d.expects(name) {
			return false
		}
	}
	fd, err := unix.Openat(int(d.lock.Fd()), markFile, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	f := os.NewFile(uintptr(fd), markFile)
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(len(mark))+1))
	return err == nil && string(data) == mark
}

// lockDir locks a directory of this user, unless a process that lives has locked it.
func lockDir(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	var st, now unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && int(st.Uid) != os.Geteuid() {
		err = os.ErrPermission
	}
	if err == nil {
		err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	}
	if err == nil { // the path may be another directory by now
		err = unix.Lstat(path, &now)
	}
	if err == nil && (now.Dev != st.Dev || now.Ino != st.Ino) {
		err = os.ErrNotExist
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// sweep removes the private directories of hosts that have died: nobody holds their locks. It
// touches nothing that may not have been made by this package.
func sweep(base string) {
	entries, err := os.ReadDir(base)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !privateName.MatchString(e.Name()) || !e.IsDir() {
			continue
		}
		path := filepath.Join(base, e.Name())
		lock, err := lockDir(path)
		if err != nil {
			continue
		}
		d := &Dir{Path: path, lock: lock}
		if d.made() {
			d.Remove()
		} else {
			_ = lock.Close()
		}
	}
}

var privateName = lazyregexp.New(`^` + Prefix + `\d+-\d+$`)

var sweepOnce sync.Once

// Base returns where private directories are made.
func Base() string {
	base := os.TempDir()
	if len(base) > MaxBase {
		base = "/tmp"
	}
	sweepOnce.Do(func() { sweep(base) })
	return base
}

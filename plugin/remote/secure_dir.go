//go:build unix

package remote

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	dirPrefix = "plughook-"
	// maxBase is how long the path may be in which private directories are made: that of a socket is bounded.
	maxBase = 60
)

// privateDir is a directory for a plugin's socket that nobody else can enter. It is locked while the host lives.
type privateDir struct {
	path string
	lock *os.File
}

func newPrivateDir(base string) (*privateDir, error) {
	for range 10 {
		path, err := os.MkdirTemp(base, dirPrefix+strconv.Itoa(os.Getpid())+"-")
		if err != nil {
			return nil, fmt.Errorf("a directory for its socket: %w", err)
		}
		lock, err := lockDir(path)
		if err == nil {
			return &privateDir{path, lock}, nil
		}
		// Another host has taken it for a stale one, between the two.
	}
	return nil, fmt.Errorf("a directory for its socket: those made in %s disappear", base)
}

func (d *privateDir) remove() {
	_ = os.RemoveAll(d.path) // what stays is swept later
	_ = d.lock.Close()
}

// lockDir locks a directory that is this user's, unless somebody who lives holds it.
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
	if err == nil { // it may be another by now
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

// sweep removes the private directories of hosts that have died. Their locks died with them, whatever
// processes have their numbers now.
func sweep(base string) {
	entries, err := os.ReadDir(base)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), dirPrefix) || !e.IsDir() {
			continue
		}
		path := filepath.Join(base, e.Name())
		if lock, err := lockDir(path); err == nil {
			(&privateDir{path, lock}).remove()
		}
	}
}

var sweepOnce sync.Once

// socketBase returns where private directories are made.
func socketBase() string {
	base := os.TempDir()
	if len(base) > maxBase {
		base = "/tmp"
	}
	sweepOnce.Do(func() { sweep(base) })
	return base
}

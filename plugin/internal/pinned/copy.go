//go:build unix

package pinned

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// Executable returns the path of the executable.
// Without a slash it is looked up in PATH; a relative
// path is relative to dir.
func Executable(dir, name string) (string, error) {
	if !strings.ContainsRune(name, filepath.Separator) {
		path, err := exec.LookPath(name)
		if err != nil {
			return "", err
		}
		return filepath.Abs(path)
	}
	return within(dir, name)
}

// within returns a path as an absolute one. A relative path is relative to dir.
func within(dir, path string) (string, error) {
	if filepath.IsAbs(path) {
		return path, nil
	}
	return filepath.Abs(filepath.Join(dir, path))
}

func hash(r io.Reader) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func compare(name, want, got string) error {
	if strings.EqualFold(want, got) {
		return nil
	}
	return fmt.Errorf("%w: the SHA-256 of %s is %s, and %s is pinned; if the change is meant, pin the new one", ErrDigest, name, got, strings.ToLower(want))
}

// A Copy is a copy of an executable that was hashed while it was made, and cannot be changed any more.
type Copy struct {
	digest string
	file   *os.File
	drop   func()
	users  int
}

// copies are the copies that running processes use. A process that is started again needs no new
// copy.
var copies = struct {
	sync.Mutex
	all map[string]*Copy
}{all: map[string]*Copy{}}

// Copies returns how many copies of executables there are.
func Copies() int {
	copies.Lock()
	defer copies.Unlock()
	return len(copies.all)
}

// CopyOf returns a copy of the executable at path, which must have this digest. The caller releases
// it.
func CopyOf(path, name, want string) (*Copy, error) {
	copies.Lock()
	defer copies.Unlock()
	want = strings.ToLower(want)
	if i := copies.all[want]; i != nil {
		i.users++
		return i, nil
	}
	src, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	h := sha256.New()
	file, drop, err := unwritable(name, io.TeeReader(src, h))
	if err != nil {
		return nil, fmt.Errorf("a copy of %s that nobody can write to: %w", name, err)
	}
	err = compare(name, want, hex.EncodeToString(h.Sum(nil)))
	if err == nil {
		err = noScript(path, name)
	}
	if err != nil {
		drop()
		return nil, err
	}
	i := &Copy{digest: want, file: file, drop: drop, users: 1}
	copies.all[want] = i
	return i, nil
}

// Release ends one use of a copy.
func (i *Copy) Release() {
	copies.Lock()
	defer copies.Unlock()
	if i.users--; i.users == 0 {
		delete(copies.all, i.digest)
		i.drop()
	}
}

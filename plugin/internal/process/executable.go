//go:build unix

package process

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// executable returns the path of the executable.
func executable(s Spec) (string, error) {
	name := s.Command[0]
	if !strings.ContainsRune(name, filepath.Separator) {
		path, err := exec.LookPath(name)
		if err != nil {
			return "", err
		}
		return filepath.Abs(path)
	}
	return within(s.Dir, name)
}

// within returns a path as an absolute one. A relative path is relative to dir.
func within(dir, path string) (string, error) {
	if filepath.IsAbs(path) {
		return path, nil
	}
	return filepath.Abs(filepath.Join(dir, path))
}

// checkFiles compares the files with their digests. It returns a function that returns an
// ErrDigest if one of them was touched meanwhile.
func checkFiles(s Spec) (untouched func() error, err error) {
	var all []func() error
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		path, err := within(s.Dir, name)
		if err != nil {
			return nil, err
		}
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		was, err := stampOf(unix.Fstat, int(f.Fd()))
		if err != nil {
			return nil, err
		}
		sum, err := hash(f)
		if err != nil {
			return nil, err
		}
		if err := compare(name, s.Files[name], sum); err != nil {
			return nil, err
		}
		all = append(all, func() error {
			if is, err := stampOf(unix.Stat, path); err != nil || is != was {
				return fmt.Errorf("%w: %s was touched while the plugin started; try again", ErrDigest, name)
			}
			return nil
		})
	}
	return func() error {
		for _, f := range all {
			if err := f(); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// stamp changes whenever anything is done to a file: only root can set the time of the last
// change (ctime).
type stamp struct {
	device, inode uint64
	changed       int64
}

func stampOf[F any](stat func(F, *unix.Stat_t) error, file F) (stamp, error) {
	var s unix.Stat_t
	err := stat(file, &s)
	return stamp{uint64(s.Dev), s.Ino, s.Ctim.Nano()}, err
}

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return hash(f)
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

// image is a copy of an executable that was hashed while it was made, and cannot be changed any
// more.
type image struct {
	digest string
	file   *os.File
	drop   func()
	users  int
}

// images are the copies that running processes use. A process that is started again needs no new
// copy.
var images = struct {
	sync.Mutex
	all map[string]*image
}{all: map[string]*image{}}

// PinnedCopies returns how many copies of executables there are.
func PinnedCopies() int {
	images.Lock()
	defer images.Unlock()
	return len(images.all)
}

// pin returns a copy of the executable at path, which must have this digest. The caller releases
// it.
func pin(path, name, want string) (*image, error) {
	images.Lock()
	defer images.Unlock()
	want = strings.ToLower(want)
	if i := images.all[want]; i != nil {
		i.users++
		return i, nil
	}
	src, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	h := sha256.New()
	var head bytes.Buffer
	file, drop, err := unwritable(name, io.TeeReader(src, io.MultiWriter(h, &firstTwo{&head})))
	if err != nil {
		return nil, fmt.Errorf("a copy of %s that nobody can write to: %w", name, err)
	}
	if err := compare(name, want, hex.EncodeToString(h.Sum(nil))); err != nil {
		drop()
		return nil, err
	}
	if head.String() == "#!" {
		drop()
		return nil, fmt.Errorf("%s is a script; name its interpreter in the command, and the digest of the script in the files", name)
	}
	i := &image{digest: want, file: file, drop: drop, users: 1}
	images.all[want] = i
	return i, nil
}

func (i *image) release() {
	images.Lock()
	defer images.Unlock()
	if i.users--; i.users == 0 {
		delete(images.all, i.digest)
		i.drop()
	}
}

// firstTwo keeps the first two bytes.
type firstTwo struct{ *bytes.Buffer }

func (f *firstTwo) Write(p []byte) (int, error) {
	f.Buffer.Write(p[:min(len(p), max(0, 2-f.Len()))])
	return len(p), nil
}

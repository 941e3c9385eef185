//go:build unix

package process

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"

	"golang.org/x/sys/unix"
)

// Digests returns the digests of what is on the disk now: of the executable, and of each of the
// files. It starts nothing. A script is refused as executable, as it is when a pinned plugin
// starts.
func (s Spec) Digests() (executableSum string, files map[string]string, err error) {
	if len(s.Command) == 0 || s.Command[0] == "" {
		return "", nil, errors.New("the configuration has no command")
	}
	path, err := executable(s)
	if err != nil {
		return "", nil, err
	}
	if err := noScript(path, s.Command[0]); err != nil {
		return "", nil, err
	}
	executableSum, err = hashFile(path)
	if err != nil {
		return "", nil, err
	}
	files = maps.Clone(s.Files)
	for name := range files {
		path, err := within(s.Dir, name)
		if err != nil {
			return "", nil, err
		}
		files[name], err = hashFile(path)
		if err != nil {
			return "", nil, err
		}
	}
	return executableSum, files, nil
}

// noScript returns an error if the file at path is a script.
func noScript(path, name string) error {
	f, err := openRegular(path)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, 2)
	n, _ := io.ReadFull(f, head)
	if n == 2 && string(head) == "#!" {
		return fmt.Errorf("%s is a script; name its interpreter in the command, and the script in the files", name)
	}
	return nil
}

func hashFile(path string) (string, error) {
	f, err := openRegular(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return hash(f)
}

// openRegular opens a file for reading. It returns an error if it is something else than a file,
// and waits for nothing: to open a named pipe would wait for who writes to it.
func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", path)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

//go:build unix

package pinned

import (
	"fmt"
	"io"
	"maps"
	"os"

	"golang.org/x/sys/unix"
)

// Digests returns the digests of what is on the disk now: of the executable, and of each of the paths that files has.
// A script is refused as executable, as it is when a pinned plugin starts.
func Digests(dir, name string, files map[string]string) (executable string, sums map[string]string, err error) {
	path, err := Executable(dir, name)
	if err != nil {
		return "", nil, err
	}
	if err := noScript(path, name); err != nil {
		return "", nil, err
	}
	executable, err = hashFile(path)
	if err != nil {
		return "", nil, err
	}
	sums = maps.Clone(files)
	for file := range sums {
		path, err := within(dir, file)
		if err != nil {
			return "", nil, err
		}
		sums[file], err = hashFile(path)
		if err != nil {
			return "", nil, err
		}
	}
	return executable, sums, nil
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

//go:build unix

package process

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
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
	executableSum, err = hashRegular(path)
	if err != nil {
		return "", nil, err
	}
	files = maps.Clone(s.Files)
	for name := range files {
		path, err := within(s.Dir, name)
		if err != nil {
			return "", nil, err
		}
		files[name], err = hashRegular(path)
		if err != nil {
			return "", nil, err
		}
	}
	return executableSum, files, nil
}

// hashRegular is hashFile for what has an end.
func hashRegular(path string) (string, error) {
	if err := regular(path); err != nil {
		return "", err
	}
	return hashFile(path)
}

// regular returns an error if there is no file at path, or something else than a file.
func regular(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", path)
	}
	return err
}

// noScript returns an error if the file at path is a script.
func noScript(path, name string) error {
	if err := regular(path); err != nil {
		return err
	}
	f, err := os.Open(path)
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

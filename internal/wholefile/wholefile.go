// Package wholefile replaces files as a whole: who reads one meanwhile, or after a crash, has the old file or the new
// one.
package wholefile

import (
	"errors"
	"os"
	"path/filepath"
)

// Special reports whether a name is of something that is written to, and must not be replaced by a file: a device such
// as /dev/stdout, or a pipe.
func Special(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

// Write writes a file of mode 0644: all of it or nothing. To what is Special it writes as it is.
func Write(name string, data []byte) error {
	if Special(name) {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.Write(data)
		return errors.Join(err, f.Close())
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // what went wrong before counts
	}
	return err
}

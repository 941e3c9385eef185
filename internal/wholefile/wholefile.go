// Package wholefile replaces files as a whole: who reads one meanwhile, or after a crash, has the old file or the new
// one.
package wholefile

import (
	"errors"
	"os"
	"path/filepath"
)

// Write writes a file of mode 0644: all of it or nothing.
func Write(name string, data []byte) error {
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

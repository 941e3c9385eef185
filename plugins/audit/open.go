package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// lockWait is how long a line waits for other writers at most.
const lockWait = 5 * time.Second

// lock locks the file at the path, and opens it if it is not the one that is open: another process may have
// put that aside. Then it takes in what others have written.
func (w *file) lock(ctx context.Context) error {
	for {
		if w.f == nil {
			if err := w.reopen(); err != nil {
				return err
			}
		}
		if err := flock(ctx, w.f); err != nil {
			return fmt.Errorf("audit: %s: another process has held the lock on it for too long: %w", w.path, err)
		}
		mine, err := w.f.Stat()
		if err == nil {
			var there os.FileInfo
			if there, err = os.Stat(w.path); err == nil && os.SameFile(mine, there) {
				err = w.follow(ctx, mine.Size())
				if err != nil {
					w.unlock()
				}
				return err
			}
		}
		w.unlock()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("audit: %w", err)
		}
		if err := w.retire(); err != nil {
			return err
		}
	}
}

func (w *file) unlock() {
	if w.f != nil {
		funlock(w.f)
	}
}

// reopen opens the file, or makes it. A file that is there keeps its mode.
func (w *file) reopen() error {
	f, _, err := openRegular(w.path, os.O_CREATE)
	if err == nil {
		w.f, w.size = f, -1
	}
	return err
}

func openRegular(path string, flag int) (*os.File, int64, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|flag, 0o600)
	if err != nil {
		return nil, 0, fmt.Errorf("audit: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", path)
	}
	if err != nil {
		f.Close() // nothing was written
		return nil, 0, fmt.Errorf("audit: %w", err)
	}
	return f, info.Size(), nil
}

// probe returns what can be said to be wrong with a file without making or changing it.
func probe(path string) error {
	f, size, err := openRegular(path, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Dir(path)); err != nil {
			return fmt.Errorf("audit: the directory of the file: %w", err)
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close() // nothing was written
	if _, err := readTail(f, size); err != nil {
		return fmt.Errorf("audit: %s: %w", path, err)
	}
	return nil
}

// retire puts the open file on the disk and closes it.
func (w *file) retire() error {
	if w.f == nil {
		return nil
	}
	f := w.f
	w.f = nil
	err := w.disk.leave(f)
	if closed := f.Close(); err == nil && closed != nil {
		err = fmt.Errorf("audit: %w", closed)
	}
	return err
}

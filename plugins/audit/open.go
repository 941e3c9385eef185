package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
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
	f, err := os.OpenFile(w.path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", w.path)
	}
	if err != nil {
		f.Close() // nothing was written
		return fmt.Errorf("audit: %w", err)
	}
	w.f, w.size = f, -1
	return nil
}

// retire puts the open file on the disk and closes it.
func (w *file) retire() error {
	if w.f == nil {
		return nil
	}
	f := w.f
	w.f = nil
	err := w.disk.sync(f, w.n)
	if closed := f.Close(); err == nil && closed != nil {
		err = fmt.Errorf("audit: %w", closed)
	}
	return err
}

// follow takes in what was written to the open file, now of this size, since this process last looked. If
// the file is shorter than that, somebody has cut it: the chain goes on from the line that is missing, which
// Verify then finds.
func (w *file) follow(ctx context.Context, size int64) error {
	switch {
	case size == w.size:
		return nil
	case size == 0 && w.size < 0:
		return w.begin()
	case size < w.size:
		w.size = size
	}
	t, err := readTail(w.f, size)
	if err != nil {
		return fmt.Errorf("audit: %s: %w", w.path, err)
	}
	if t.cut > 0 {
		if err := w.f.Truncate(size - t.cut); err != nil {
			return fmt.Errorf("audit: %w", err)
		}
	}
	if t.line == nil {
		if err := w.begin(); err != nil {
			return err
		}
	}
	w.size, w.birth = size-t.cut, t.birth
	w.after(t)
	if t.cut > 0 {
		return w.write(ctx, &line{Kind: "repair", Cut: t.cut})
	}
	return nil
}

// after has the chain go on after what a file ends with, if that is further than it is.
func (w *file) after(t tail) {
	if t.n > w.n {
		w.n, w.last = t.n, w.key.hash(t.line)
	}
}

// begin makes an empty file the next one of the chain: after the one that was put aside last, or after the
// one that this process has written.
func (w *file) begin() error {
	w.size, w.birth = 0, time.Time{}
	if err := syncDir(w.path); err != nil {
		return err
	}
	aside, err := w.aside()
	if err != nil || len(aside) == 0 {
		return err
	}
	f, err := os.Open(aside[len(aside)-1].path)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	defer f.Close() // it is only read
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	t, err := readTail(f, info.Size())
	if err != nil {
		return fmt.Errorf("audit: %s: %w", f.Name(), err)
	}
	w.after(t)
	return nil
}

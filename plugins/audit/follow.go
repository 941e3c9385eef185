package audit

import (
	"context"
	"fmt"
	"os"
	"time"
)

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

package audit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// full reports whether a line of this size goes into another file. A file of before max_age was set does not say
// when it began, and is old.
func (w *file) full(size int64) bool {
	if w.size == 0 {
		return false
	}
	return w.MaxBytes > 0 && w.size+size > w.MaxBytes ||
		w.maxAge > 0 && time.Since(w.birth) > w.maxAge
}

// put is a file that was put aside: audit.jsonl as audit.TIME.NUMBER.jsonl, where the number is that of its last
// line. The numbers order files: clocks may be set back.
type put struct {
	path string
	n    int64
}

// rotate puts the open file aside, and opens and locks a new one. Others who wait for the lock see that the
// file has moved, and open the new one too.
func (w *file) rotate(ctx context.Context) error {
	ext := filepath.Ext(w.path)
	to := fmt.Sprintf("%s.%s.%d%s", strings.TrimSuffix(w.path, ext), time.Now().UTC().Format("20060102T150405Z"), w.n, ext)
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("audit: %s is full, and there is a file %s already; move that away", w.path, to)
	}
	if err := w.disk.leave(w.f); err != nil {
		return err
	}
	if err := os.Rename(w.path, to); err != nil {
		return fmt.Errorf("audit: %s is full: %w", w.path, err)
	}
	if err := w.retire(); err != nil { // the lock goes with it
		return err
	}
	if err := w.lock(ctx); err != nil {
		return err
	}
	return w.forget()
}

// aside lists the files that were put aside, in their order.
func (w *file) aside() ([]put, error) {
	dir, base := filepath.Split(w.path)
	ext := filepath.Ext(base)
	pattern := regexp.MustCompile(`^` + regexp.QuoteMeta(strings.TrimSuffix(base, ext)) + `\.\d{8}T\d{6}Z\.(\d+)` + regexp.QuoteMeta(ext) + `$`)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	var list []put
	for _, e := range entries {
		if m := pattern.FindStringSubmatch(e.Name()); m != nil {
			if n, err := strconv.ParseInt(m[1], 10, 64); err == nil {
				list = append(list, put{dir + e.Name(), n})
			}
		}
	}
	slices.SortFunc(list, func(a, b put) int { return int(min(1, max(-1, a.n-b.n))) })
	return list, nil
}

// forget deletes files that were put aside beyond those to keep.
func (w *file) forget() error {
	if w.Keep == 0 {
		return nil
	}
	list, err := w.aside()
	if err != nil {
		return err
	}
	for _, p := range list[:max(0, len(list)-w.Keep)] {
		if err := os.Remove(p.path); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("audit: %w", err)
		}
	}
	return nil
}

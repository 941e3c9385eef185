package audit

import (
	"cmp"
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

// full reports whether a line of this size must go into a new file. If max_age was not set when a file was begun, the file
// does not say when that was; it counts as old.
func (w *file) full(size int64) bool {
	if w.size == 0 {
		return false
	}
	tooLarge := w.MaxBytes > 0 && w.size+size > w.MaxBytes
	tooOld := w.maxAge > 0 && time.Since(w.birth) > w.maxAge
	return tooLarge || tooOld
}

// An oldFile is a file that was full. audit.jsonl is renamed to audit.TIME.NUMBER.jsonl, where NUMBER is that of its last
// line. The numbers order the files, since clocks may be set back.
type oldFile struct {
	path string
	n    int64
}

// rotate renames the open file, and opens and locks a new one. Other processes that wait for the lock notice that the file
// was renamed, and open the new one too.
func (w *file) rotate(ctx context.Context) error {
	ext := filepath.Ext(w.path)
	stamp := time.Now().UTC().Format("20060102T150405Z")
	to := fmt.Sprintf("%s.%s.%d%s", strings.TrimSuffix(w.path, ext), stamp, w.n, ext)
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("audit: %s is full and cannot be renamed: %s exists already; move that away", w.path, to)
	}
	if err := w.disk.syncAll(w.f); err != nil {
		return err
	}
	if err := os.Rename(w.path, to); err != nil {
		return fmt.Errorf("audit: %s is full: %w", w.path, err)
	}
	if err := w.closeFile(); err != nil { // this ends the lock too
		return err
	}
	if err := w.lock(ctx); err != nil {
		return err
	}
	return w.deleteOld()
}

// oldFiles lists the old files, oldest first.
func (w *file) oldFiles() ([]oldFile, error) {
	dir, base := filepath.Split(w.path)
	ext := filepath.Ext(base)
	stem := regexp.QuoteMeta(strings.TrimSuffix(base, ext))
	pattern := regexp.MustCompile(`^` + stem + `\.\d{8}T\d{6}Z\.(\d+)` + regexp.QuoteMeta(ext) + `$`)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	var list []oldFile
	for _, e := range entries {
		match := pattern.FindStringSubmatch(e.Name())
		if match == nil {
			continue
		}
		n, err := strconv.ParseInt(match[1], 10, 64)
		if err == nil {
			list = append(list, oldFile{path: dir + e.Name(), n: n})
		}
	}
	slices.SortFunc(list, func(a, b oldFile) int { return cmp.Compare(a.n, b.n) })
	return list, nil
}

// deleteOld deletes old files beyond Config.Keep.
func (w *file) deleteOld() error {
	if w.Keep == 0 {
		return nil
	}
	list, err := w.oldFiles()
	if err != nil {
		return err
	}
	for _, old := range list[:max(0, len(list)-w.Keep)] {
		err := os.Remove(old.path)
		if err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("audit: %w", err)
		}
	}
	return nil
}

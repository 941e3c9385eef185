package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// lockWait is how long a line waits at most for other writers.
const lockWait = 5 * time.Second

// file is the file that lines are appended to. Only the holder of turn may use its fields, except disk.sync.
type file struct {
	settings
	turn   chan struct{} // has a value while somebody holds the turn
	closed bool
	f      *os.File // nil while no file is open
	size   int64    // of f, as far as this process has read or written it; -1 if it has not read it
	birth  time.Time
	n      int64  // the number of the last line
	last   string // the hash of the last line
	disk   disk
}

func newFile(s settings) *file {
	return &file{settings: s, turn: make(chan struct{}, 1)}
}

// append writes a line. It returns when the line is as safe as Config.Sync asks.
func (w *file) append(ctx context.Context, l *line) error {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("audit: %s: the disk is slow, and other lines are waiting before this one: %w", w.path, context.Cause(ctx))
	}
	f, n, err := w.appendInTurn(ctx, l)
	<-w.turn

	// Sync after giving up the turn, so that lines that wait share one system call.
	if err == nil && w.Sync != "rotate" {
		err = w.disk.sync(f, n)
	}
	return err
}

// appendInTurn writes a line. It returns the file and the number of the line.
func (w *file) appendInTurn(ctx context.Context, l *line) (*os.File, int64, error) {
	if w.closed {
		return nil, 0, fmt.Errorf("audit: %s: %w", w.path, os.ErrClosed)
	}
	if err := w.lock(ctx); err != nil {
		return nil, 0, err
	}
	defer w.unlock()
	if err := w.write(ctx, l); err != nil {
		return nil, 0, err
	}
	return w.f, w.n, nil
}

// write writes a line to the locked file, or to a new one if this one is full.
func (w *file) write(ctx context.Context, l *line) error {
	data, err := w.encode(l)
	if err != nil {
		return err
	}
	if w.full(int64(len(data))) {
		if err := w.rotate(ctx); err != nil {
			return err
		}
		data, err = w.encode(l) // again: another process may have begun the new file
		if err != nil {
			return err
		}
	}
	written, err := w.f.Write(data)
	if err != nil {
		w.size = -1
		if written > 0 { // a full disk takes a part of the line
			err = errors.Join(err, w.removeEnd(int64(written)))
		}
		return fmt.Errorf("audit: the line cannot be written, so the run cannot go on: %w", err)
	}
	if w.size == 0 {
		w.birth = l.Written
	}
	w.size += int64(len(data))
	w.n = l.N
	w.last = w.keys.hash(data[:len(data)-1])
	w.disk.wrote(w.n)
	return nil
}

// removeEnd removes the last bytes of the file.
func (w *file) removeEnd(n int64) error {
	info, err := w.f.Stat()
	if err != nil {
		return err
	}
	return w.f.Truncate(info.Size() - n)
}

// encode makes the line the next one of the chain and returns it with its line feed.
func (w *file) encode(l *line) ([]byte, error) {
	l.N = w.n + 1
	l.Prev = w.last
	if w.Clock || w.maxAge > 0 {
		l.Written = time.Now().UTC()
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // people read it
	if err := e.Encode(l); err != nil {
		return nil, fmt.Errorf("audit: the line of event %q: %w", l.ID, err)
	}
	return b.Bytes(), nil
}

// close puts all lines on the disk and closes the file.
func (w *file) close(ctx context.Context) error {
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("audit: %s: a line is still being written: %w", w.path, context.Cause(ctx))
	}
	defer func() { <-w.turn }()
	w.closed = true
	return w.closeFile()
}

// closeFile puts the open file on the disk and closes it.
func (w *file) closeFile() error {
	if w.f == nil {
		return nil
	}
	f := w.f
	w.f = nil
	syncErr := w.disk.syncAll(f)
	closeErr := f.Close()
	if syncErr == nil && closeErr != nil {
		return fmt.Errorf("audit: %w", closeErr)
	}
	return syncErr
}

// lock locks the file at the path and reads what other processes have written to it. If another process has rotated the
// open file, lock opens the new one.
func (w *file) lock(ctx context.Context) error {
	for {
		if w.f == nil {
			f, _, err := openRegular(w.path, os.O_CREATE)
			if err != nil {
				return err
			}
			w.f = f
			w.size = -1
		}
		if err := flock(ctx, w.f); err != nil {
			return fmt.Errorf("audit: %s: another process has held the lock on it for too long: %w", w.path, err)
		}

		size, current, err := w.isCurrent()
		if err == nil && current {
			err = w.catchUp(ctx, size)
			if err != nil {
				w.unlock()
			}
			return err
		}
		w.unlock()
		if err != nil {
			return fmt.Errorf("audit: %w", err)
		}
		if err := w.closeFile(); err != nil {
			return err
		}
	}
}

func (w *file) unlock() {
	if w.f != nil {
		funlock(w.f)
	}
}

// isCurrent reports whether the open file is the one at the path, and returns its size.
func (w *file) isCurrent() (size int64, current bool, err error) {
	open, err := w.f.Stat()
	if err != nil {
		return 0, false, err
	}
	there, err := os.Stat(w.path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	return open.Size(), os.SameFile(open, there), nil
}

// catchUp reads what other processes have written to the open file, which has a size now, and repairs its end. If
// somebody has removed lines, the chain goes on with the number after them, so that Verify finds it.
func (w *file) catchUp(ctx context.Context, size int64) error {
	if size == w.size {
		return nil
	}
	if size == 0 && w.size < 0 {
		return w.begin()
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
	w.size = size - t.cut
	w.birth = t.birth
	w.continueAfter(t)
	if t.cut > 0 {
		return w.write(ctx, &line{Kind: "repair", Cut: t.cut})
	}
	return nil
}

// continueAfter makes the chain go on after a file's last line, if its number is higher than the last known one.
func (w *file) continueAfter(t tail) {
	if t.n > w.n {
		w.n = t.n
		w.last = w.keys.hash(t.line)
	}
}

// begin makes an empty file the next one of the chain, after the newest old file or the last line that this process has
// written.
func (w *file) begin() error {
	w.size = 0
	w.birth = time.Time{}
	if err := syncDir(w.path); err != nil {
		return err
	}
	old, err := w.oldFiles()
	if err != nil || len(old) == 0 {
		return err
	}
	f, err := os.Open(old[len(old)-1].path)
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
	w.continueAfter(t)
	return nil
}

// openRegular opens a regular file and returns its size. A file that exists keeps its mode.
func openRegular(path string, flag int) (*os.File, int64, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|flag, 0o600)
	if err != nil {
		return nil, 0, fmt.Errorf("audit: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		f.Close() // nothing was written
		return nil, 0, fmt.Errorf("audit: %w", err)
	}
	return f, info.Size(), nil
}

// probe returns an error if lines cannot be appended to the file, as far as this shows without changing anything.
func probe(path string) error {
	f, size, err := openRegular(path, 0)
	if errors.Is(err, fs.ErrNotExist) {
		_, err := os.Stat(filepath.Dir(path))
		if err != nil {
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

// disk knows which lines are on the disk.
type disk struct {
	written atomic.Int64 // the last line that was written
	mu      sync.Mutex
	safe    int64 // the last line that is on the disk

	// The lines after kept, up to lost, may not be on the disk because of err. The system reports such an error only
	// once, so it is remembered.
	kept, lost int64
	err        error
}

func (d *disk) wrote(n int64) { d.written.Store(n) }

// sync returns when line n, which was written to f, is on the disk.
func (d *disk) sync(f *os.File, n int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.kept < n && n <= d.lost {
		return d.err
	}
	if n <= d.safe { // f may be closed by now
		return nil
	}
	return d.flush(f)
}

// syncAll puts all lines on the disk that were written to f since the last call. Lines that were lost earlier are not
// its error.
func (d *disk) syncAll(f *os.File) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.flush(f)
}

// flush is syncAll for a caller that holds the lock.
func (d *disk) flush(f *os.File) error {
	upTo := d.written.Load()
	err := f.Sync()
	if err != nil {
		d.kept = d.safe
		d.lost = upTo
		d.err = fmt.Errorf("audit: lines up to %d may not be on the disk: %w", upTo, err)
		return d.err
	}
	d.safe = upTo
	return nil
}

// syncDir puts the names in a file's directory on the disk.
func syncDir(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	defer dir.Close() // it is only read
	if err := dir.Sync(); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

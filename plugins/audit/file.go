package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// file is the file that lines are appended to, and where its chain is. Who has its turn may use all but
// what sync guards.
type file struct {
	settings
	turn  chan struct{} // holds one value while somebody has it
	shut  bool
	f     *os.File // nil while none is open
	size  int64    // f's, when this process last had the lock; -1 if its end was not read
	birth time.Time
	n     int64  // number of the last line
	last  string // and its hash
	disk  disk
}

func newFile(s settings) *file {
	return &file{settings: s, turn: make(chan struct{}, 1)}
}

// append writes a line and returns once it is as safe as Sync asks.
func (w *file) append(ctx context.Context, l *line) error {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("audit: %s: the disk is slow, and others wait before this line: %w", w.path, context.Cause(ctx))
	}
	f, n, err := w.locked(ctx, l)
	<-w.turn
	if err == nil && w.Sync != "rotate" {
		err = w.disk.sync(f, n)
	}
	return err
}

// locked is append, for who has the turn, up to the write.
func (w *file) locked(ctx context.Context, l *line) (*os.File, int64, error) {
	if w.shut {
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

// write writes a line, into another file if this one is full. The file is locked.
func (w *file) write(ctx context.Context, l *line) error {
	data, err := w.encode(l)
	if err == nil && w.full(int64(len(data))) {
		if err = w.rotate(ctx); err == nil {
			data, err = w.encode(l) // another process may have begun the new file
		}
	}
	if err != nil {
		return err
	}
	if written, err := w.f.Write(data); err != nil {
		w.size = -1
		if written > 0 { // a disk that is full takes a part
			err = errors.Join(err, w.f.Truncate(w.end()-int64(written)))
		}
		return fmt.Errorf("audit: nothing is recorded, so nothing goes on: %w", err)
	}
	if w.size == 0 {
		w.birth = l.Written
	}
	w.size += int64(len(data))
	w.n, w.last = l.N, w.key.hash(data[:len(data)-1])
	w.disk.wrote(w.n)
	return nil
}

// end returns where the file ends.
func (w *file) end() int64 {
	info, err := w.f.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

// encode makes the line the next one of the chain and returns it with its line feed.
func (w *file) encode(l *line) ([]byte, error) {
	l.N, l.Prev = w.n+1, w.last
	if w.Clock || w.maxAge > 0 {
		l.Written = time.Now().UTC()
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // for people
	if err := e.Encode(l); err != nil {
		return nil, fmt.Errorf("audit: the line of event %q: %w", l.ID, err)
	}
	return b.Bytes(), nil
}

// close puts what was written on the disk and closes the file.
func (w *file) close(ctx context.Context) error {
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("audit: %s: a line is still being written: %w", w.path, context.Cause(ctx))
	}
	defer func() { <-w.turn }()
	w.shut = true
	return w.retire()
}

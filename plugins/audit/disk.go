package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// disk says which lines are on the disk. Those who wait for one share the system call.
type disk struct {
	written atomic.Int64 // the last line that was written
	mu      sync.Mutex
	safe    int64 // the last line that is on the disk
	// Lines after kept up to lost may not be: the system says so once only.
	kept, lost int64
	err        error // why
}

func (d *disk) wrote(n int64) { d.written.Store(n) }

// sync returns once line n, written to f, is on the disk.
func (d *disk) sync(f *os.File, n int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.kept < n && n <= d.lost:
		return d.err
	case n <= d.safe: // and f may be closed
		return nil
	}
	return d.flush(f)
}

// flush puts all that was written to f on the disk. Who calls it has the lock.
func (d *disk) flush(f *os.File) error {
	upTo := d.written.Load()
	if err := f.Sync(); err != nil {
		d.kept, d.lost = d.safe, upTo
		d.err = fmt.Errorf("audit: lines up to %d may not be on the disk: %w", upTo, err)
		return d.err
	}
	d.safe = upTo
	return nil
}

// leave is for who closes f: lines that were lost before are not its failure.
func (d *disk) leave(f *os.File) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.flush(f)
}

// syncDir puts the names in a file's directory on the disk.
func syncDir(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	defer dir.Close() // it was only read
	if err := dir.Sync(); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package audit

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// flock locks an open file, against other processes and against other opens of the file in this process. The lock ends
// when the process ends.
func flock(ctx context.Context, f *os.File) error {
	for pause := 50 * time.Microsecond; ; pause = min(2*pause, 10*time.Millisecond) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return err
		}
		select { // a blocking system call could not be cancelled
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func funlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) } // of an open file that is locked

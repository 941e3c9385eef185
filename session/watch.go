package session

import (
	"context"
	"iter"
)

// A Watch tells when a session's log has grown. Between two values of C there may have been several appends:
// whoever watches reads the log from where they are. Follow does that.
type Watch struct {
	// C gets the position of the log's last event after each append, by whichever process. It keeps only the
	// latest position that nobody has taken yet. It is closed when the session is deleted or the store closed.
	C <-chan int64
	// Read reads the session that is watched, as Service.Read does. It is ErrNotFound for another session that was
	// made under its key.
	Read func(ctx context.Context, sel Selection) iter.Seq2[*Event, error]
	// Stop ends the watch. It must be called; only its first call counts.
	Stop func()
}

// Follow yields a session's events behind position after, in order and without a gap: at first those that are
// in the log, and then each one when it was appended, by whichever process. It ends with an error: the
// context's cause, ErrNotFound when the session is deleted, ErrClosed when the store is closed.
func Follow(ctx context.Context, svc Service, key Key, after int64) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		// Watch first and read then: what is appended in between is told by the watch.
		w, err := svc.Watch(ctx, key)
		if err != nil {
			yield(nil, err)
			return
		}
		defer w.Stop()
		for {
			for e, err := range w.Read(ctx, Selection{After: after}) {
				if err != nil {
					yield(nil, err)
					return
				}
				after = e.Seq
				if !yield(e, nil) {
					return
				}
			}
			// A position that was read already brings nothing new.
			for position, ok := after, true; position <= after; {
				select {
				case position, ok = <-w.C:
				case <-ctx.Done():
					yield(nil, context.Cause(ctx))
					return
				}
				if !ok {
					yield(nil, watchEnded(ctx, svc, key))
					return
				}
			}
		}
	}
}

// watchEnded returns why a watch has ended: the store is closed, or the session was deleted.
func watchEnded(ctx context.Context, svc Service, key Key) error {
	if _, err := svc.Get(ctx, key); err != nil {
		return err
	}
	// Another session has been made under the same key.
	return &KeyError{Key: key, Err: ErrNotFound}
}

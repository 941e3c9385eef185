package sqlstore

import (
	"context"
	"iter"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// How much is read at once. What is read is held in memory: no connection and no transaction is held while
// the caller works.
const (
	PageSessions   = 128 // of a list
	PageCandidates = 32  // of a search
)

// When events are taken into the index of words, and how a search does without it.
const (
	IndexFrom  = 64      // they are taken in when so many are waiting
	IndexBatch = 256     // events of one transaction, at most
	IndexBytes = 1 << 20 // and of their data, roughly

	// SearchPending is how many events a search looks through beside the index. If more are not in it yet,
	// such as while it is made, the search does without it.
	SearchPending = 4096
)

// Pages yields what pages hold, one page after the other. next reads a page; more says that there may be
// another. An error of next, or the context's, is the last that is yielded.
func Pages[T any](ctx context.Context, next func() (page []T, more bool, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		for more := true; more; {
			var page []T
			var err error
			page, more, err = next()
			if err != nil {
				yield(none, err)
				return
			}
			for _, item := range page {
				if err := context.Cause(ctx); err != nil {
					yield(none, err)
					return
				}
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}

// A StoredEvent is an event as it is in the database.
type StoredEvent struct {
	Seq  int64
	Data []byte
}

// Events yields the events of pages, as Pages does.
func Events(
	ctx context.Context, next func() (page []StoredEvent, more bool, err error),
) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		for stored, err := range Pages(ctx, next) {
			var e *session.Event
			if err == nil {
				e, err = store.Decode(stored.Data, stored.Seq)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Candidates yields the sessions that may be hits of a search: find returns them as the database names them,
// and read reads some of them, without those that are deleted by then.
func Candidates[T any](
	ctx context.Context, find func() ([]T, error), read func(page []T) ([]*session.Hit, error),
) iter.Seq2[*session.Hit, error] {
	return func(yield func(*session.Hit, error) bool) {
		found, err := find()
		if err != nil {
			yield(nil, err)
			return
		}
		next := func() ([]*session.Hit, bool, error) {
			n := min(PageCandidates, len(found))
			page := found[:n]
			found = found[n:]
			if n == 0 {
				return nil, false, nil
			}
			hits, err := read(page)
			return hits, len(found) > 0, err
		}
		Pages(ctx, next)(yield)
	}
}

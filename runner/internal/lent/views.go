package lent

import (
	"container/list"
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/plughook/plughook/internal/inflight"
	"github.com/plughook/plughook/session"
)

// Views keeps in memory what runs have read of their sessions, so that the next run on a session reads only
// what is new. What is kept was read from the store: what a run appended is read by the next one.
//
// Hooks, tools, agents and callers were lent these events, and one of them may have changed some in place. So
// each event has a fingerprint from before anybody was lent it. A view of up to wholeCompare events is
// compared whole each time it is served, and one with a difference is thrown away: the session is read anew.
// A larger one is compared in part when it is served, and whole after each run, on a goroutine in the
// background. No model request is made from it before that has ended.
type Views struct {
	tasks *inflight.Counter // who waits for it waits for the comparisons

	mu    sync.Mutex
	limit int64                         // bytes of all views; nothing is kept if it is not above 0
	views map[session.Key]*list.Element // of order
	order list.List                     // of *view, the one used last first
	bytes int64                         // of all
	clock *time.Timer                   // drops what nobody uses; nil if nothing is kept
}

// idleTime is how long a view is kept that nobody uses. The runner is not told that a session was deleted:
// then this is how long its events stay in memory.
const idleTime = 10 * time.Minute

// A comparison is one of a whole view, in the background.
type comparison struct {
	live  printedEvents // what is compared
	again bool          // another run has ended meanwhile: all is compared once more. Views.mu guards it and live
	done  chan struct{}
	found *session.Event // an event that was changed, nil if there is none; to be read when done is closed
}

// ended reports whether the comparison has ended.
func (c *comparison) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// NewViews returns Views that keep so many bytes. Their comparisons are counted among the tasks.
func NewViews(limit int64, tasks *inflight.Counter) *Views {
	return &Views{limit: limit, tasks: tasks}
}

// Read returns the live view of a session for one run: the kept one with what was appended since, if that can
// be, else all of it from the store. It keeps what it has read.
func (k *Views) Read(ctx context.Context, sessions session.Service, s *session.Session) (Loan, error) {
	v, changed, err := k.refresh(ctx, sessions, s)
	if err == nil && v == nil {
		v, err = readView(ctx, sessions, s)
	}
	if err != nil {
		return Loan{}, err
	}
	k.put(v)
	return Loan{
		Discarded:  changed,
		Folds:      newFolds(k, v),
		began:      v.live,
		background: v.background,
	}, nil
}

// refresh returns the kept view of a session with what was appended since, nil if that cannot be: also if an
// event of it was changed in place.
func (k *Views) refresh(
	ctx context.Context, sessions session.Service, s *session.Session,
) (v *view, changed *session.Event, err error) {
	v = k.take(s.Key)
	if v == nil || !v.mayBecome(s) {
		return nil, nil, nil
	}
	if e := v.findChanged(); e != nil {
		return nil, e, nil
	}
	ok, err := v.readNew(ctx, sessions, s)
	if err != nil || !ok {
		return nil, nil, err
	}
	return v, nil, nil
}

// take takes a session's view out, so that it is the caller's alone, nil if there is none.
func (k *Views) take(key session.Key) *view {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.remove(key)
}

// put keeps a view, and drops those that were used longest ago if all together hold too much.
func (k *Views) put(v *view) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.remove(v.key)
	if v.bytes > k.limit || len(v.live.events) == 0 {
		return
	}
	if k.views == nil {
		k.views = map[session.Key]*list.Element{}
	}
	v.used = time.Now()
	k.views[v.key] = k.order.PushFront(v)
	k.bytes += v.bytes
	k.trim()
	if k.clock == nil {
		k.clock = time.AfterFunc(idleTime, k.dropIdle)
	}
}

// trim drops the views that were used longest ago while all together hold too much. The caller holds mu.
func (k *Views) trim() {
	for k.bytes > k.limit {
		k.remove(k.order.Back().Value.(*view).key)
	}
}

// Drop drops a session's view.
func (k *Views) Drop(key session.Key) { k.take(key) }

// remove takes a session's view out and returns it, nil if there is none. The caller holds mu.
func (k *Views) remove(key session.Key) *view {
	element := k.views[key]
	if element == nil {
		return nil
	}
	v := k.order.Remove(element).(*view)
	delete(k.views, key)
	k.bytes -= v.bytes
	return v
}

// dropIdle drops the views that nobody has used for a while.
func (k *Views) dropIdle() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for k.order.Len() > 0 {
		oldest := k.order.Back().Value.(*view)
		left := idleTime - time.Since(oldest.used)
		if left > 0 {
			k.clock = time.AfterFunc(left, k.dropIdle)
			return
		}
		k.remove(oldest.key)
	}
	k.clock = nil
}

// RunEnded takes back a run's folds, and compares the session's view whole, on a goroutine that is one of the
// tasks. It is for the end of a run, whose hooks may have changed something. If a comparison of the view goes on,
// it is made once more. A view that is compared whole each time it is served is not compared here.
func (k *Views) RunEnded(key session.Key, folds *Folds) {
	kept := folds.end()
	k.mu.Lock()
	defer k.mu.Unlock()
	element := k.views[key]
	if element == nil {
		return
	}
	v := element.Value.(*view)
	if kept != nil && folds.view == v {
		k.keepFolds(v, kept)
	}
	switch {
	case len(v.live.events) <= wholeCompare:
		return
	case v.background != nil && !v.background.ended():
		v.background.live = v.live
		v.background.again = true
		return
	}
	c := &comparison{live: v.live, done: make(chan struct{})}
	v.background = c
	task := "comparison of the view of " + key.String()
	k.tasks.BeginPart(task)
	go func() {
		defer k.tasks.End(task)
		k.compare(c)
	}()
}

// compare makes a comparison, and makes it again as long as runs end meanwhile.
func (k *Views) compare(c *comparison) {
	for again := true; again; {
		k.mu.Lock()
		live := c.live
		c.again = false
		k.mu.Unlock()

		c.found = nil
		const atOnce = 256 // whoever waits for a processor gets it in between
		for from := 0; from < len(live.events) && c.found == nil; from += atOnce {
			c.found = live.firstChanged(from, min(from+atOnce, len(live.events)))
			runtime.Gosched()
		}

		k.mu.Lock()
		again = c.again && c.found == nil
		if !again {
			close(c.done)
		}
		k.mu.Unlock()
	}
}

// Close drops all views, and keeps none from then on.
func (k *Views) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.limit = 0
	k.views = nil
	k.order.Init()
	k.bytes = 0
	if k.clock != nil {
		k.clock.Stop()
		k.clock = nil
	}
}

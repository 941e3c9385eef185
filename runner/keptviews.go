package runner

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/plughook/plughook/session"
)

// keptViews keeps in memory what runs have read of their sessions, so that the next run on a session reads only
// what is new. What is kept was read from the store: what a run appended is read by the next one.
//
// Hooks, tools, agents and callers were lent these events, and one of them may have changed some in place. So each
// event has a fingerprint from before anybody was lent it. A view of up to wholeCompare events is compared whole
// each time it is served. A larger one is compared whole after each run, beside the path, and in part when it is
// served. One with a difference is thrown away, and the session is read anew.
type keptViews struct {
	limit int64         // bytes of all views; nothing is kept if it is not above 0
	tasks *tasks        // the Runner waits for comparisons
	idle  time.Duration // how long a view is kept that nobody uses

	mu    sync.Mutex
	views map[session.Key]*list.Element // of order
	order list.List                     // of *keptView, the one used last first
	bytes int64                         // of all
	clock *time.Timer                   // drops what nobody uses; nil if nothing is kept
}

// defaultKeptViews is how many bytes of views a Runner keeps.
const defaultKeptViews = 64 << 20

// wholeCompare is how many events are compared each time a view is served: 2,048 take about half a millisecond.
const wholeCompare = 2048

// keptIdle is how long a view is kept that nobody uses. The runner is not told that a session was deleted: then
// this is how long its events stay in memory.
const keptIdle = 10 * time.Minute

// A keptView is the live view of a session as a run has read it.
type keptView struct {
	key                session.Key
	created            time.Time // the session's
	position, frontier int64
	// last is the ID of the event at position, "" if the view does not have it. Another ID there is another log.
	last  string
	live  printed
	bytes int64 // about what live takes

	next     int // the first of the next events to be compared, of a view that is not compared whole
	used     time.Time
	compared chan struct{}  // closed when a comparison beside the path has ended, nil if there was none
	differs  *session.Event // what it has found
}

// newKeptView returns a view without events, at the beginning of a session.
func newKeptView(key session.Key, created time.Time) *keptView {
	return &keptView{key: key, created: created}
}

// add adds an event that was just read.
func (v *keptView) add(e *session.Event) {
	const perEvent = 24 // what printed takes for one
	v.live.add(e, fingerprintOf(e))
	v.bytes += heldBytes(e) + perEvent
}

// follows reports whether a session may be the view's, with what was appended since, and nothing that has changed
// the live view otherwise.
func (v *keptView) follows(s *session.Session) bool {
	return v.created.Equal(s.Created) && v.frontier == s.Frontier && v.position <= s.Position
}

// at notes which position of a session the view has been read to.
func (v *keptView) at(s *session.Session) {
	v.position = s.Position
	v.frontier = s.Frontier
	v.last = ""
	if n := len(v.live.events); n > 0 && v.live.events[n-1].Seq == s.Position {
		v.last = v.live.events[n-1].ID
	}
}

// changed returns an event that somebody has changed, nil if none is found: all of them are compared, or of a
// large view the last ones, and others in turn.
func (v *keptView) changed() *session.Event {
	if v.differs != nil {
		return v.differs
	}
	n := len(v.live.events)
	if n <= wholeCompare {
		return v.firstChanged(0, n)
	}
	if e := v.firstChanged(n-sampleSize, n); e != nil {
		return e
	}
	older := n - sampleSize
	for range wholeCompare - sampleSize {
		v.next %= older
		if v.live.changed(v.next) {
			return v.live.events[v.next]
		}
		v.next++
	}
	return nil
}

func (v *keptView) firstChanged(from, to int) *session.Event {
	for i := from; i < to; i++ {
		if v.live.changed(i) {
			return v.live.events[i]
		}
	}
	return nil
}

// take takes a session's view out, so that it is the caller's alone, nil if there is none. It waits for a
// comparison that goes on, but not longer than the context lasts.
func (k *keptViews) take(ctx context.Context, key session.Key) *keptView {
	k.mu.Lock()
	v := k.remove(key)
	k.mu.Unlock()
	if v == nil || v.compared == nil {
		return v
	}
	select {
	case <-v.compared:
		v.compared = nil
		return v
	case <-ctx.Done():
		return nil
	}
}

// put keeps a view, and drops those that were used longest ago if all together hold too much.
func (k *keptViews) put(v *keptView) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.remove(v.key)
	if v.bytes > k.limit || len(v.live.events) == 0 {
		return
	}
	v.used = time.Now()
	if k.views == nil {
		k.views = map[session.Key]*list.Element{}
	}
	k.views[v.key] = k.order.PushFront(v)
	k.bytes += v.bytes
	for k.bytes > k.limit {
		k.remove(k.order.Back().Value.(*keptView).key)
	}
	if k.clock == nil {
		k.clock = time.AfterFunc(k.idle, k.dropIdle)
	}
}

// drop drops a session's view.
func (k *keptViews) drop(key session.Key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.remove(key)
}

// remove takes a session's view out and returns it, nil if there is none. The caller holds mu.
func (k *keptViews) remove(key session.Key) *keptView {
	element := k.views[key]
	if element == nil {
		return nil
	}
	v := k.order.Remove(element).(*keptView)
	delete(k.views, key)
	k.bytes -= v.bytes
	return v
}

// dropIdle drops the views that nobody has used for a while.
func (k *keptViews) dropIdle() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for k.order.Len() > 0 {
		oldest := k.order.Back().Value.(*keptView)
		left := k.idle - time.Since(oldest.used)
		if left > 0 {
			k.clock = time.AfterFunc(left, k.dropIdle)
			return
		}
		k.remove(oldest.key)
	}
	k.clock = nil
}

// compareBeside compares a session's view whole on a goroutine of its own, which Close waits for. One that is
// compared whole each time it is served is not.
func (k *keptViews) compareBeside(key session.Key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	element := k.views[key]
	if element == nil {
		return
	}
	v := element.Value.(*keptView)
	if len(v.live.events) <= wholeCompare || v.compared != nil {
		return
	}
	v.compared = make(chan struct{})
	task := "comparison of the view of " + key.String()
	k.tasks.BeginPart(task)
	go func() {
		defer k.tasks.End(task)
		defer close(v.compared)
		v.differs = v.firstChanged(0, len(v.live.events))
	}()
}

// close drops all views, and keeps none from then on.
func (k *keptViews) close() {
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

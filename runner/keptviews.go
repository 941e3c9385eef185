package runner

import (
	"container/list"
	"runtime"
	"sync"
	"time"

	"github.com/plughook/plughook/session"
)

// keptViews keeps in memory what runs have read of their sessions, so that the next run on a session reads only
// what is new. What is kept was read from the store: what a run appended is read by the next one.
//
// Hooks, tools, agents and callers were lent these events, and one of them may have changed some in place. So each
// event has a fingerprint from before anybody was lent it. A view of up to wholeCompare events is compared whole
// each time it is served, and one with a difference is thrown away: the session is read anew. A larger one is
// compared in part when it is served, and whole after each run, on a goroutine beside the path. No model request is
// made from it before that has ended.
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

// wholeCompare is how many events are compared each time a view is served: 1,024 take about 0.2 ms.
const wholeCompare = 1024

// keptIdle is how long a view is kept that nobody uses. The runner is not told that a session was deleted: then
// this is how long its events stay in memory.
const keptIdle = 10 * time.Minute

// A keptView is the live view of a session as a run has read it.
type keptView struct {
	key                session.Key
	number             int64 // the session's: another one may have got its key
	position, frontier int64
	// last is the ID of the event at position, "" if the view does not have it. Another ID there is another log.
	last  string
	live  printed
	bytes int64 // about what live takes

	used   time.Time
	next   int         // the first of the next events to be compared, of a view that is not compared whole
	beside *comparison // the last one beside the path, nil if there was none
}

// A comparison is one of a whole view, beside the path.
type comparison struct {
	live  printed // what is compared
	again bool    // another run has ended meanwhile: all is compared once more. keptViews.mu guards it and live
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

// newKeptView returns a view without events, at the beginning of a session.
func newKeptView(key session.Key, number int64) *keptView {
	return &keptView{key: key, number: number}
}

// add adds an event that was just read.
func (v *keptView) add(e *session.Event) {
	const perEvent = 20 // what printed takes for one
	v.live.add(e, fingerprintOf(e))
	v.bytes += heldBytes(e) + perEvent
}

// follows reports whether a session may be the view's, with what was appended since, and nothing that has changed
// the live view otherwise.
func (v *keptView) follows(s *session.Session) bool {
	same := v.number == s.Number && v.frontier == s.Frontier
	n := len(v.live.events)
	whole := n == 0 || v.live.events[n-1].Seq <= v.position // else somebody appended while it was read
	return same && whole && v.position <= s.Position
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
	if v.beside != nil && v.beside.ended() && v.beside.found != nil {
		return v.beside.found
	}
	n := len(v.live.events)
	if n <= wholeCompare {
		return v.live.firstChanged(0, n)
	}
	if e := v.live.firstChanged(n-sampleSize, n); e != nil {
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

// take takes a session's view out, so that it is the caller's alone, nil if there is none.
func (k *keptViews) take(key session.Key) *keptView {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.remove(key)
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

// compareBeside compares a session's view whole on a goroutine of its own, which Close waits for: also once more, if
// it does so already. A view that is compared whole each time it is served is not.
func (k *keptViews) compareBeside(key session.Key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	element := k.views[key]
	if element == nil {
		return
	}
	v := element.Value.(*keptView)
	switch {
	case len(v.live.events) <= wholeCompare:
		return
	case v.beside != nil && !v.beside.ended():
		v.beside.live = v.live
		v.beside.again = true
		return
	}
	c := &comparison{live: v.live, done: make(chan struct{})}
	v.beside = c
	task := "comparison of the view of " + key.String()
	k.tasks.BeginPart(task)
	go func() {
		defer k.tasks.End(task)
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

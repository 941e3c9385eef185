package compaction

import (
	"maps"
	"slices"
	"time"

	"github.com/plughook/plughook/session"
)

// begin reports whether a compaction of the session may begin. There is one at a time.
func (k *compactor) begin(key session.Key) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.busy[key] {
		return false
	}
	k.busy[key] = true
	return true
}

// end lets the next compaction of the session begin.
func (k *compactor) end(key session.Key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.busy, key)
}

// pending is a summary or a clearing that was made in the background. The runner appends its event when it
// gets the session's lease.
type pending struct {
	frontier int64  // of the session when it was made; a summary that is appended moves it
	event    string // the ID of its event
	made     time.Time
}

const (
	pendingFor = time.Minute // after this time, another one is made
	maxPending = 1000        // from this number of sessions on, old ones are removed
)

// isPending reports whether a summary or a clearing of the session is made and not appended yet.
func (k *compactor) isPending(inv *session.Invocation) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	p, ok := k.pending[inv.Key]
	if !ok {
		return false
	}
	appended := slices.ContainsFunc(inv.Live, func(e *session.Event) bool { return e.ID == p.event })
	if appended || p.frontier != inv.Frontier || time.Since(p.made) > pendingFor {
		delete(k.pending, inv.Key)
		return false
	}
	return true
}

// setPending notes that a summary or a clearing of the session is made, with that event.
func (k *compactor) setPending(inv *session.Invocation, e *session.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.pending) >= maxPending {
		maps.DeleteFunc(k.pending, func(_ session.Key, p pending) bool {
			return time.Since(p.made) > pendingFor
		})
	}
	k.pending[inv.Key] = pending{frontier: inv.Frontier, event: e.ID, made: time.Now()}
}

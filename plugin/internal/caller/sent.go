package caller

import (
	"container/list"
	"errors"
	"time"

	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

// What a plugin keeps of the sessions is bounded by these. Beyond them the plugin is told to
// forget the session that was used longest ago.
const (
	// maxBytes is how much memory it takes, by message.Weight.
	maxBytes = 64 << 20
	// maxSessions is how many sessions there are.
	maxSessions = 1000
	// maxIdle is how long a session is kept that nobody uses.
	maxIdle = 10 * time.Minute
	// maxOffered is how much memory the events of one session take that were offered and did not
	// get into the log as they were. Beyond it the session is sent anew.
	maxOffered = 16 << 20
)

// Sent is what a plugin has been sent of the sessions, and need not be sent again. The zero Sent
// is nothing. Its methods must not be called at once.
//
// It counts the bytes of everything that the plugin keeps, and of what it keeps itself to compare
// with later, which is about as much.
type Sent struct {
	sessions map[session.Key]*list.Element // of recent
	recent   list.List                     // of *sentSession, the one that was used last is first
	bytes    int                           // of all sessions
}

// session returns what the plugin has of a session. If it has nothing, the result is empty and
// fresh.
func (x *Sent) session(key session.Key) *sentSession {
	at := x.sessions[key]
	if at == nil {
		at = x.recent.PushFront(newSentSession(key))
		if x.sessions == nil {
			x.sessions = map[session.Key]*list.Element{}
		}
		x.sessions[key] = at
	}
	x.recent.MoveToFront(at)
	s := at.Value.(*sentSession)
	s.used = time.Now()
	return s
}

// Forget returns the session that the plugin is to forget next, false if there is none. It is the
// one that was used longest ago, if the plugin has too much, or has not used it for long. The
// session but is kept.
func (x *Sent) Forget(but session.Key) (key session.Key, ok bool) {
	oldest := x.recent.Back()
	if oldest == nil {
		return key, false
	}
	s := oldest.Value.(*sentSession)
	tooMuch := x.bytes > maxBytes || x.recent.Len() > maxSessions || time.Since(s.used) > maxIdle
	if s.key == but || !tooMuch {
		return key, false
	}
	x.Drop(s.key)
	return s.key, true
}

// Drop notes that the plugin has nothing of a session, or nobody knows what.
func (x *Sent) Drop(key session.Key) {
	at := x.sessions[key]
	if at == nil {
		return
	}
	x.bytes -= at.Value.(*sentSession).counted
	x.recent.Remove(at)
	delete(x.sessions, key)
}

// count counts the bytes of a session anew.
func (x *Sent) count(s *sentSession) {
	now := s.bytes()
	x.bytes += now - s.counted
	s.counted = now
}

// invocation returns an invocation as a message, with what the plugin does not have.
func (x *Sent) invocation(inv *session.Invocation) (*wire.Invocation, error) {
	s := x.session(inv.Key)
	if s.offeredBytes > maxOffered {
		x.Drop(inv.Key)
		s = x.session(inv.Key)
	}
	w, err := s.invocation(inv)
	if errors.Is(err, errOtherSession) {
		x.Drop(inv.Key)
		w, err = x.session(inv.Key).invocation(inv)
	}
	return w, err
}

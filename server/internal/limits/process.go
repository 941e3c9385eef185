package limits

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plughook/plughook/session"
)

// A Process is the budget of a process: how much of it is in use, and by whom.
type Process struct {
	Limits Limits // with numbers in place of defaults
	log    *slog.Logger
	// Notices are how often messages about runs were sent, not taken, and given up.
	Notices struct{ Sent, Failed, GivenUp atomic.Int64 }

	mu      sync.Mutex
	used    [kinds]int64
	users   map[string]*user
	swept   time.Time
	freed   chan struct{} // closed when memory is given back, if somebody waits for it; else nil
	refused map[*Row]int64
	told    map[toldKey]time.Time
}

// A user is the budget of one user.
type user struct {
	name  string
	used  [kinds]int64
	turns chan struct{} // a token for each of the user's goroutines that reads from a store
	left  time.Time     // when there was last nothing in use
	kept  map[session.Key]*kept
}

// kind is what is counted.
type kind int

const (
	memory kind = iota
	requests
	waiting
	runs
	streams
	kinds // how many there are
)

// bounds are the limits of each kind: of the process, and of a user; nil if there is none.
var bounds = [kinds]struct{ process, user *Row }{
	memory:   {Memory, UserMemory},
	requests: {Requests, UserRequests},
	waiting:  {Waiting, nil},
	runs:     {nil, UserRuns},
	streams:  {Streams, UserStreams},
}

// toldKey is what the log was told of: that a user has used most of a limit.
type toldKey struct {
	row  *Row
	user string
}

// New returns the budget of a process.
func New(limits Limits, log *slog.Logger) *Process {
	return &Process{
		Limits:  limits.WithDefaults(),
		log:     log,
		users:   map[string]*user{},
		refused: map[*Row]int64{},
		told:    map[toldKey]time.Time{},
	}
}

// user returns the budget of a user, nil for nobody in particular. p.mu is held.
func (p *Process) user(name string) *user {
	if name == "" {
		return nil
	}
	if now := time.Now(); now.Sub(p.swept) > fresh {
		p.swept = now
		for name, u := range p.users {
			if u.used == [kinds]int64{} && len(u.turns) == 0 && now.Sub(u.left) > fresh {
				delete(p.users, name)
			}
		}
	}
	u := p.users[name]
	if u == nil {
		// One user's reading does not take all processors.
		u = &user{
			name:  name,
			turns: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
			kept:  map[session.Key]*kept{},
			left:  time.Now(),
		}
		p.users[name] = u
	}
	return u
}

// take counts n more things of a kind, or returns the limit that does not allow that. p.mu is held.
func (p *Process) take(u *user, k kind, n int64) *Row {
	ofUser := int64(0)
	if row := bounds[k].user; row != nil && u != nil {
		// What is more than the whole share by itself is allowed while the user has not much else: it would never be.
		ofUser = row.value(&p.Limits)
		if ofUser > 0 && u.used[k]+n > ofUser && (n <= ofUser || u.used[k] > ofUser/2) {
			return row
		}
	}
	if row := bounds[k].process; row != nil {
		limit := row.value(&p.Limits)
		switch {
		case limit == 0 || k != memory || ofUser == 0:
		case u.used[k]+n <= ofUser/16:
			limit += limit / 2 // who has little is let in after others are not
		case n > ofUser:
			limit -= limit / 4 // who wants more than a share leaves something
		}
		if limit > 0 && p.used[k]+n > limit {
			return row
		}
	}
	p.add(u, k, n)
	return nil
}

// add counts n more things of a kind, whatever the limits say. p.mu is held.
func (p *Process) add(u *user, k kind, n int64) {
	p.used[k] += n
	if row := bounds[k].process; row != nil {
		p.tell(row, "", p.used[k])
	}
	if u == nil {
		return
	}
	u.used[k] += n
	if row := bounds[k].user; row != nil {
		p.tell(row, u.name, u.used[k])
	}
}

// TooLarge says that something needs more memory than requests may ever hold: waiting does not help.
type TooLarge struct{ Needs, Of int64 }

// Error implements error.
func (t *TooLarge) Error() string {
	return fmt.Sprintf("this takes about %d MiB of memory, and the server has %d MiB for it: make the session shorter with the "+
		"command line (runner session compact), or begin a new one", t.Needs>>20, t.Of>>20)
}

// fits returns a *TooLarge if n bytes of memory are more than are there when nobody else has any; see take.
func (p *Process) fits(u *user, n int64) error {
	limit := p.Limits.Memory
	if ofUser := p.Limits.UserMemory; u != nil && ofUser > 0 && n > ofUser {
		limit -= limit / 4
	}
	if limit > 0 && n > limit {
		return &TooLarge{Needs: n, Of: limit}
	}
	return nil
}

// give counts n fewer things of a kind. p.mu is held.
func (p *Process) give(u *user, k kind, n int64) {
	p.used[k] -= n
	if u != nil {
		u.used[k] -= n
		u.left = time.Now()
	}
	if k == memory && p.freed != nil {
		close(p.freed)
		p.freed = nil
	}
}

// refuse returns the error of a limit. p.mu is held.
func (p *Process) refuse(row *Row) error {
	p.refused[row]++
	return &Exceeded{Row: row}
}

// tell writes into the log that most of a limit is in use, but not again within ten minutes. p.mu is held.
func (p *Process) tell(row *Row, user string, used int64) {
	limit := row.value(&p.Limits)
	if limit == 0 || used < limit-limit/5 {
		return
	}
	key := toldKey{row: row, user: user}
	if time.Since(p.told[key]) < 10*time.Minute {
		return
	}
	if len(p.told) > 10_000 {
		clear(p.told)
	}
	p.told[key] = time.Now()
	p.log.Warn("80 % of a limit is in use", "limit", row.Key, "user", user, "used", used, "of", limit)
}

// Request counts a request of a user, who is "" for nobody in particular. The Hold must be released.
func (p *Process) Request(user string) (*Hold, error) { return p.hold(user, requests) }

// Stream counts a stream of a user. The Hold must be released.
func (p *Process) Stream(user string) (*Hold, error) { return p.hold(user, streams) }

// Run counts a run of a user, which waits. The Hold must be released; Begun says that it waits no more.
func (p *Process) Run(user string) (*Hold, error) { return p.hold(user, waiting, runs) }

// Hold counts nothing. It is for what has memory or turns of a user, and must be released.
func (p *Process) Hold(user string) *Hold {
	h, _ := p.hold(user)
	return h
}

// hold counts a thing that is of some kinds.
func (p *Process) hold(user string, of ...kind) (*Hold, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := &Hold{process: p, user: p.user(user)}
	for _, k := range of {
		if row := p.take(h.user, k, 1); row != nil {
			h.release()
			return nil, p.refuse(row)
		}
		h.used[k] = 1
	}
	return h, nil
}

// A Hold is what a request, a stream or a run has of the budgets of its process and its user. It may be used by many
// goroutines. A nil Hold has no bounds.
type Hold struct {
	process  *Process
	user     *user
	used     [kinds]int64
	released bool
}

// A byte of JSON that is kept decoded takes about so many bytes of memory, with what the garbage collector has not
// collected yet.
const decoded = 4

// TakeJSON takes the memory for n bytes of JSON, or returns an *Exceeded or a *TooLarge.
func (h *Hold) TakeJSON(n int64) error {
	if h == nil {
		return nil
	}
	h.process.mu.Lock()
	defer h.process.mu.Unlock()
	if h.released {
		return nil
	}
	if err := h.process.fits(h.user, n*decoded); err != nil {
		return err
	}
	if row := h.process.take(h.user, memory, n*decoded); row != nil {
		return h.process.refuse(row)
	}
	h.used[memory] += n * decoded
	return nil
}

// AddJSON takes the memory for n bytes of JSON that are there already, whatever the limits say; a negative n gives it
// back.
func (h *Hold) AddJSON(n int64) {
	if h == nil {
		return
	}
	h.process.mu.Lock()
	defer h.process.mu.Unlock()
	switch {
	case h.released:
	case n < 0:
		h.process.give(h.user, memory, -n*decoded)
		h.used[memory] += n * decoded
	default:
		h.process.add(h.user, memory, n*decoded)
		h.used[memory] += n * decoded
	}
}

// WaitJSON is TakeJSON that waits until there is room, if there can be. It returns the context's cause if that is done before.
func (h *Hold) WaitJSON(ctx context.Context, n int64) error {
	if h == nil {
		return nil
	}
	p := h.process
	if err := p.fits(h.user, n*decoded); err != nil {
		return err
	}
	for {
		p.mu.Lock()
		if h.released || p.take(h.user, memory, n*decoded) == nil {
			if !h.released {
				h.used[memory] += n * decoded
			}
			p.mu.Unlock()
			return nil
		}
		if p.freed == nil {
			p.freed = make(chan struct{})
		}
		freed := p.freed
		p.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Begun says that a run waits no more.
func (h *Hold) Begun() { h.drop(waiting) }

// Ended says that a run has ended. What it has said may be held longer.
func (h *Hold) Ended() { h.drop(runs) }

// drop gives back what there is of a kind.
func (h *Hold) drop(k kind) {
	h.process.mu.Lock()
	defer h.process.mu.Unlock()
	if !h.released && h.used[k] > 0 {
		h.process.give(h.user, k, h.used[k])
		h.used[k] = 0
	}
}

// Release gives everything back. Only its first call counts; the Hold takes nothing from then on.
func (h *Hold) Release() {
	if h == nil {
		return
	}
	h.process.mu.Lock()
	defer h.process.mu.Unlock()
	h.release()
}

func (h *Hold) release() {
	if h.released {
		return
	}
	h.released = true
	for k, n := range h.used {
		if n != 0 {
			h.process.give(h.user, kind(k), n)
		}
	}
}

// Turn waits until few goroutines read from a store for the user, and returns what ends the turn. While others wait,
// whoever has a turn waits for no client.
func (h *Hold) Turn(ctx context.Context) (end func(), err error) {
	if h == nil || h.user == nil {
		return func() {}, nil
	}
	select {
	case h.user.turns <- struct{}{}:
		return func() { <-h.user.turns }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// small is how many bytes an event may weigh that is written to a client without asking for memory: a stream has as
// much for itself.
const small = 16 << 10

// storePage is what a store has read ahead while an event is written.
const storePage = 128 << 10

// Writing calls write, which writes an event to a client who may be slow, with memory for it.
func (h *Hold) Writing(ctx context.Context, e *session.Event, write func() error) error {
	n := Weight(e)
	if n <= small {
		return write()
	}
	if err := h.WaitJSON(ctx, n); err != nil {
		return err
	}
	defer h.AddJSON(-n)
	return write()
}

// Paced yields what a store reads, to a loop that writes to a client. The user has a turn while the store reads, and
// memory for each event while it is written.
func (h *Hold) Paced(ctx context.Context, events iter.Seq2[*session.Event, error]) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		end, err := h.Turn(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { end() }()
		for e, err := range events {
			n := int64(0)
			if err == nil {
				n = Weight(e) + storePage
				if err = h.WaitJSON(ctx, n); err != nil {
					n = 0
				}
			}
			end()
			end = func() {}
			more := yield(e, err)
			h.AddJSON(-n)
			if !more || err != nil {
				return
			}
			if end, err = h.Turn(ctx); err != nil {
				end = func() {}
				yield(nil, err)
				return
			}
		}
	}
}

package session

import (
	"context"
	"iter"
	"strings"
	"time"
	"unicode"
)

// A Key identifies a session. App, user and ID together do, everywhere: two users' sessions may have
// one ID, and no operation reaches another user's session.
type Key struct{ App, User, ID string }

// String returns "app/user/id", for people.
func (k Key) String() string { return k.App + "/" + k.User + "/" + k.ID }

// Check returns an error that is ErrInvalid if App, User or (unless it may be empty) ID is not usable:
// empty, longer than 512 bytes, not UTF-8, with a control character, or "." or "..", which no path of a URL can name.
func (k Key) Check(mayBeNew bool) error {
	for _, f := range []struct{ what, value string }{{"app", k.App}, {"user", k.User}, {"id", k.ID}} {
		switch {
		case f.value == "" && !(mayBeNew && f.what == "id"):
			return invalid("session key %q: %s is empty; a session is named by app, user and id together", k, f.what)
		case f.value == "." || f.value == "..":
			return invalid("session key %q: %s is %q, which no path of a URL can name", k, f.what, f.value)
		case len(f.value) > 512:
			return invalid("session key: %s has %d bytes; 512 is the most", f.what, len(f.value))
		case strings.ToValidUTF8(f.value, "") != f.value || strings.IndexFunc(f.value, control) >= 0:
			return invalid("session key %q: %s holds a control character or is not UTF-8", k, f.what)
		}
	}
	return nil
}

// CheckHolder returns an error that is ErrInvalid if a string cannot be the holder of a lease: longer than 512
// bytes, not UTF-8, or with a control character. It may be empty.
func CheckHolder(holder string) error {
	switch {
	case len(holder) > 512:
		return invalid("the id of an invocation, which holds a lease, has %d bytes; 512 is the most", len(holder))
	case strings.ToValidUTF8(holder, "") != holder || strings.IndexFunc(holder, control) >= 0:
		return invalid("the id of an invocation, which holds a lease, is %q: it has a control character or is not UTF-8", holder)
	}
	return nil
}

// CheckTime returns an error that is ErrInvalid if a time cannot be a session's Created or Updated: before
// the year 1700 or after 2200. The zero time is right.
func CheckTime(t time.Time) error {
	if y := t.Year(); !t.IsZero() && (y < 1700 || y > 2200) {
		return invalid("the time %s is not in the years 1700 to 2200", t.Format(time.RFC3339))
	}
	return nil
}

// control reports whether a character would change how the text around it is shown.
func control(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// A Session is what a store knows of a session without its events.
type Session struct {
	Key
	// Initial is the state that the session was created with, "app:" and "user:" keys included.
	Initial map[string]any
	// State is the state now: the session's own keys, those of its app and those of its user. List
	// leaves it out.
	State map[string]any
	// Number is the store's name of the session, above 0. No other session of the store has it, or has had it: one
	// that is made under the key of a deleted one has another number.
	Number int64
	// Position is the Seq of the last event, 0 if there is none.
	Position int64
	// Frontier is the position of the last compaction or rewind, 0 if there is none.
	Frontier int64
	// Created and Updated are the store's times of creation and of the last append, or what
	// Service.SetTimes said since.
	Created, Updated time.Time
	// Holder is who holds the session's lease now, as Service.Lease was told; "" if nobody does. List leaves it
	// out.
	Holder string
	// CutOff is who held the lease last, if they never gave it back and nobody has taken it since: the invocation
	// whose process died, or could not reach the store at its end. Its input, sent again, goes on. List leaves it
	// out, and Search unless it is asked for.
	CutOff string
}

// An AppendTarget says where an append goes.
type AppendTarget struct {
	Key Key
	// After is the position that the append follows. If it is not the log's last, nothing is appended
	// and the error is ErrConflict.
	After int64
	// Fence is that of the lease which the append belongs to, 0 if it belongs to none. While somebody holds
	// the session's lease, an append that is not theirs is ErrFenced.
	Fence int64
}

// A Selection says which events to read. The zero Selection is the whole log; what is set narrows it.
type Selection struct {
	// Live selects the live view (see Live) in place of the log.
	Live bool
	// After selects the events with a greater Seq.
	After int64
	// Since selects the events with this Timestamp or a later one.
	Since time.Time
	// Last selects the last so many of the events that are left, 0 all of them.
	Last int
}

// A Reader reads sessions.
type Reader interface {
	// Get returns a session, or ErrNotFound.
	Get(ctx context.Context, key Key) (*Session, error)
	// Read yields a session's events in the order of their positions, but the live view in its own: the
	// compaction's event comes first there. After an error, such as ErrNotFound, it ends.
	Read(ctx context.Context, key Key, sel Selection) iter.Seq2[*Event, error]
}

// ReadAll returns the events that Read yields: with Live in the selection, the live view.
func ReadAll(ctx context.Context, svc Reader, key Key, sel Selection) ([]*Event, error) {
	var events []*Event
	for e, err := range svc.Read(ctx, key, sel) {
		if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return events, nil
}

// A Service keeps sessions. It may be used by many goroutines; those that keep their sessions outside
// of the process, by many processes. Package sessiontest holds its contract as tests; the rules are:
//
//   - What goes in is copied, and what comes out is the caller's own.
//   - Append is all or none. It is durable, as far as the store is, before it returns.
//   - An operation whose context is done returns its error and has no effect, or has its whole effect. So has
//     one that is ErrUnavailable: it may be repeated.
type Service interface {
	Reader

	// Create makes a session. An empty ID in the key becomes a UUIDv7. State may be nil; its "app:" and
	// "user:" keys are set for the app and the user, its "temp:" keys ignored. It is ErrExists if the
	// session is there.
	Create(ctx context.Context, key Key, state map[string]any) (*Session, error)
	// SetTimes sets a session's Created and Updated, for a session that is older than its place in this
	// store: one that was imported. A zero time leaves what is there. It is ErrNotFound if there is no such
	// session, and ErrInvalid for a time that CheckTime refuses.
	SetTimes(ctx context.Context, key Key, created, updated time.Time) error
	// List yields the sessions of an app's user in the order in which they came into the store, without their states:
	// those of every user if user is empty, and of every app if app is empty too. After an error it ends.
	List(ctx context.Context, app, user string) iter.Seq2[*Session, error]
	// Search yields the sessions that a query finds, each with the newest event that meets the query's conditions
	// on events. It is ErrInvalid if Query.Check refuses the query; after an error it ends. A session
	// that is appended to or deleted meanwhile may be found as it was, as it is, or not at all.
	//
	// Times, app and user cost a look at each session of that app and user. Conditions on events cost the reading of
	// whole logs, until enough sessions are found, unless the store is an Indexer and has its index. Waiting
	// costs the reading of live views.
	Search(ctx context.Context, q Query) iter.Seq2[*Hit, error]
	// Delete deletes a session and its events, not the state of its app and user, nor its artifacts, which
	// are with another service. It is ErrNotFound if there is none.
	Delete(ctx context.Context, key Key) error

	// Append appends events to a session, all or none, and returns the position of the log's last event.
	// It sets Seq, and ID and Timestamp where they are empty, on success only.
	//
	// Partial events are skipped. An event whose ID is in the log already is not appended again: it gets
	// the Seq it has there if its content is the same, and is ErrIDReused if not. When nothing is
	// left to append, neither position nor fence matter: a repeated append succeeds.
	//
	// State deltas and increments are applied in the same step. "temp:" keys are not stored. An append that
	// leads a number beyond its StateBound is ErrBound. Compactions and rewinds that would break the live
	// view are ErrInvalid: see store.CheckCompaction and store.CheckRewind.
	Append(ctx context.Context, to AppendTarget, events ...*Event) (int64, error)
	// Lease waits until the session is the caller's alone, honouring the context, and returns ErrNotFound
	// if there is no such session. Within a process leases are given in the order of arrival; sessions
	// never wait for each other. A lease whose holder died is free again a few seconds later. holder says who
	// holds it, the ID of an invocation by custom: Session.Holder shows it, and Cancel names it. It is
	// ErrInvalid if CheckHolder refuses it.
	Lease(ctx context.Context, key Key, holder string) (*Lease, error)
	// Cancel asks the holder of a session's lease, in whatever process it is, to end: its Lease.Cancelled is
	// closed, at once in this process and within about a second in another one. Cancel waits until the lease is
	// given back. After CancelGrace it takes the lease away: the holder's appends are ErrFenced from then on, and
	// its Lost is closed, again within about a second in another process.
	//
	// If the lease is not held by this holder, nothing is done, and the error is nil. If the context is done
	// while Cancel waits, the holder stays asked to end, and keeps the lease for as long as it likes unless
	// Cancel is called again. No later holder is asked to end, whatever its name. A workflow that waits for an
	// answer holds no lease: an event ends its run (agent/workflow.Abandon).
	Cancel(ctx context.Context, key Key, holder string) error
	// Watch tells of a session's appends, whichever process makes them; see Follow. It returns ErrNotFound if
	// there is no such session.
	Watch(ctx context.Context, key Key) (*Watch, error)

	// Close releases what the service holds. Leases and waits for them end; every operation from then on
	// is ErrClosed.
	Close() error
}

// An Indexer is a Service that can keep an index for the conditions on events of Search. What Search finds
// is the same with and without it.
//
// The index is made of the events as they are stored, so it has nothing that a plugin has taken out of them. It has no
// event's text, but the words of each, and goes with the session. Each append, of whichever process, leaves in one
// step with its events word of them to the index: no search misses an event, whenever the index was begun.
type Indexer interface {
	Service
	// Index makes the index, if the store has none, and takes in what is not in it yet. It returns when that is
	// done; if it is ended before, another call goes on. progress may be nil; else it is called again and again
	// with how many events have been taken in by this call, and how many are left. It returns nil, too, if
	// DropIndex removes the index meanwhile: Indexed tells.
	Index(ctx context.Context, progress func(done, left int64)) error
	// DropIndex removes the index, if there is one.
	DropIndex(ctx context.Context) error
	// Indexed reports whether the store has an index.
	Indexed(ctx context.Context) (bool, error)
}

// A Sizer is a Service that knows how much it keeps. A server asks it, to bound what one user may store.
type Sizer interface {
	// Size returns how many bytes a session's events take as JSON; or, if the key has no ID, those of all sessions of
	// the user in the app, with the state they were created with and the user's own ("user:"), without Live. It is
	// ErrNotFound if there is no such session; a user without anything has 0. It costs a look at each event, without its
	// content.
	Size(ctx context.Context, key Key) (Size, error)
}

// A Size is how many bytes events take: those of the log, and those of the live view.
type Size struct{ Log, Live int64 }

// CancelGrace is how long the holder of a lease may go on after Service.Cancel.
const CancelGrace = 5 * time.Second

// A Lease is the right to append to a session, alone.
type Lease struct {
	// Fence goes into AppendTarget. It is greater than that of every lease before on the session, and on those that
	// were deleted under its key: no old lease counts in a session that was made again.
	Fence int64
	// Lost is closed if the lease was lost before its release, or may have been: another has it, or the
	// store could not be reached for longer than a lease outlives its holder. Appends are ErrFenced as soon
	// as another has had it. It may be nil.
	Lost <-chan struct{}
	// Cancelled is closed when somebody asked the holder to end (Service.Cancel). The lease stays the
	// holder's for CancelGrace. It may be nil.
	Cancelled <-chan struct{}
	// Release gives the lease back; only its first call counts.
	Release func()
}

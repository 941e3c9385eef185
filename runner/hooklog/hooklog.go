// Package hooklog keeps what hooks were asked and answered, for people who look at a session later: also the calls that
// decided nothing, and how long each took. It is a trace of a runner:
//
//	calls := hooklog.New(hooklog.Options{})
//	r, err := runner.New(runner.Options{Trace: calls.Trace, …})
//
// What is kept has no content. It is kept in memory, of the sessions that were used last, and in the store if that keeps hook
// calls (session.HookKeeper): then other processes have it, too.
//
// More to keep of a call: a field of session.HookRecord, set in recordOf.
package hooklog

import (
	"cmp"
	"context"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// Options say how much is kept. The zero Options keep calls in memory alone.
type Options struct {
	// Calls is how many calls are kept of a session, 2000 if it is 0; Sessions of how many sessions, 500 if it is 0.
	Calls, Sessions int
	// Store keeps the calls, too, for the time Keep; nil keeps them in memory alone.
	Store session.HookKeeper
	Keep  time.Duration
	// Log takes what went wrong with the store; nil logs nothing.
	Log *slog.Logger
}

// A Log keeps hook calls. It may be used by many goroutines.
type Log struct {
	o     Options
	wake  chan struct{} // there is something to store
	close chan struct{}
	ended chan struct{} // closed when nothing is stored any more

	flushing sync.Mutex // one at a time, so that records are stored in order

	mu     sync.Mutex
	of     map[session.Key]*calls
	used   int64 // counts uses
	unsent int   // records that are not stored yet
}

type calls struct {
	records []session.HookRecord // the last ones
	unsent  []session.HookRecord
	used    int64
}

// flushEvery is how long a record waits to be stored, and flushAt how many wait at most: a run does not wait for them.
const (
	flushEvery = 5 * time.Second
	flushAt    = 4096
	maxUnsent  = 100_000 // while the store cannot be reached; what is beyond that is in memory alone
)

// New returns a Log. Close ends it, if it has a store.
func New(o Options) *Log {
	o.Calls = cmp.Or(o.Calls, 2000)
	o.Sessions = cmp.Or(o.Sessions, 500)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	l := &Log{
		o:     o,
		of:    map[session.Key]*calls{},
		wake:  make(chan struct{}, 1),
		close: make(chan struct{}),
		ended: make(chan struct{}),
	}
	if o.Store == nil {
		close(l.ended)
		return l
	}
	go l.store()
	return l
}

// Trace keeps a hook call. It is what runner.Options.Trace wants. Calls about partial events are kept only if the hook asked
// for something: a streamed answer has many.
func (l *Log) Trace(c runner.HookCall) {
	if c.Event != nil && c.Event.Partial && c.Outcome.IsZero() && c.Err == nil {
		return
	}
	r := recordOf(c)
	l.mu.Lock()
	defer l.mu.Unlock()
	on := l.of[c.Key]
	if on == nil {
		if len(l.of) >= l.o.Sessions {
			l.drop()
		}
		on = &calls{}
		l.of[c.Key] = on
	}
	l.used++
	on.used = l.used
	on.records = append(on.records, r)
	if len(on.records) >= 2*l.o.Calls {
		on.records = slices.Clone(on.records[len(on.records)-l.o.Calls:])
	}
	if l.o.Store == nil || l.unsent >= maxUnsent {
		return
	}
	on.unsent = append(on.unsent, r)
	if l.unsent++; l.unsent == flushAt {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
}

// drop forgets the session that was used longest ago, and has nothing that is still to be stored.
func (l *Log) drop() {
	var oldest session.Key
	least := int64(0)
	for key, on := range l.of {
		if len(on.unsent) == 0 && (least == 0 || on.used < least) {
			oldest = key
			least = on.used
		}
	}
	delete(l.of, oldest)
}

func recordOf(c runner.HookCall) session.HookRecord {
	r := session.HookRecord{
		Time:        time.Now(),
		Invocation:  c.Invocation,
		Plugin:      c.Plugin,
		Hook:        string(c.Hook),
		Did:         c.Did(),
		Reason:      cmp.Or(c.Outcome.Reason, c.Outcome.Unchecked),
		Nanoseconds: c.Duration.Nanoseconds(),
	}
	if c.Event != nil {
		r.Event = c.Event.ID
	}
	if c.Err != nil {
		r.Error = c.Err.Error()
	}
	// A plugin that counts replaces each event, and leaves what it says as it is.
	i := slices.Index(r.Did, "replaced")
	if to := c.Outcome.Replace; i >= 0 && c.Event != nil && to.ErrorCode == c.Event.ErrorCode &&
		(to.Content == c.Event.Content || reflect.DeepEqual(to.Content, c.Event.Content)) {
		r.Did[i] = "noted"
	}
	if i = slices.Index(r.Did, "emitted"); i >= 0 && len(c.Outcome.Emit[0].Actions.RequestedToolConfirmations) > 0 {
		r.Did[i] = "asked"
	}
	return r
}

// Of returns the calls that are kept of a session, in order: those of the store, if there is one, and those of this process
// that are not there yet.
func (l *Log) Of(ctx context.Context, key session.Key) ([]session.HookRecord, error) {
	if l.o.Store == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		if on := l.of[key]; on != nil {
			return slices.Clone(on.records[max(0, len(on.records)-l.o.Calls):]), nil
		}
		return nil, nil
	}
	l.flush(ctx)
	list, err := l.o.Store.Hooks(ctx, key)
	return list[max(0, len(list)-l.o.Calls):], err
}

// store stores what waits, until the Log is closed.
func (l *Log) store() {
	defer close(l.ended)
	ticker := time.NewTicker(flushEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-l.wake:
		case <-l.close:
			return
		}
		l.flush(context.Background())
	}
}

// flush stores what waits. What cannot be stored waits for the next time.
func (l *Log) flush(ctx context.Context) {
	l.flushing.Lock()
	defer l.flushing.Unlock()
	l.mu.Lock()
	batch := map[session.Key][]session.HookRecord{}
	for key, on := range l.of {
		if len(on.unsent) > 0 {
			batch[key] = on.unsent
			on.unsent = nil
		}
	}
	l.unsent = 0
	l.mu.Unlock()
	if len(batch) == 0 {
		return
	}
	err := l.o.Store.KeepHooks(ctx, time.Now().Add(-l.o.Keep), batch)
	if err == nil {
		return
	}
	l.o.Log.Warn("hook calls were not stored", "error", err)
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, records := range batch {
		if on := l.of[key]; on != nil {
			on.unsent = append(records, on.unsent...)
			l.unsent += len(records)
		}
	}
}

// Close stores what waits, and ends the Log, which may be nil. The context bounds that.
func (l *Log) Close(ctx context.Context) {
	if l == nil || l.o.Store == nil {
		return
	}
	close(l.close)
	<-l.ended
	l.flush(ctx)
}

package sessiontest_test

import (
	"context"
	"errors"
	"iter"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/session/sessiontest"
)

func TestMain(m *testing.M) {
	contract.Short(100)
	os.Exit(m.Run())
}

// faults are stores that break a rule, each with a case that must notice.
var faults = map[string]struct {
	broken func(session.Service) session.Service
	cases  string // as for go test -run
}{
	"append half a batch": {
		func(s session.Service) session.Service { return oneByOne{s} },
		"append/all_or_none",
	},
	"append anywhere": {
		func(s session.Service) session.Service { return anywhere{s} },
		"append/conflict",
	},
	"plain errors": {
		func(s session.Service) session.Service { return plainErrors{s} },
		"append/conflict",
	},
	"another's session": {
		func(s session.Service) session.Service { return oneUser{s} },
		"identity/same_ID",
	},
	"microseconds": {
		func(s session.Service) session.Service { return microseconds{s} },
		"json/time",
	},
	"shared events": {
		func(s session.Service) session.Service { return &sharing{Service: s} },
		"copy/what_comes_out",
	},
	"the log for the live view": {
		func(s session.Service) session.Service { return logForLive{s} },
		"view/law",
	},
	"the first for the last": {
		func(s session.Service) session.Service { return firstForLast{s} },
		"read/selections",
	},
	"finds whatever it is": {
		func(s session.Service) session.Service { return findsAll{s} },
		"search/scripts",
	},
	"finds the oldest first": {
		func(s session.Service) session.Service { return oldestFirst{s} },
		"search/all",
	},
	"finds what was not rewound": {
		func(s session.Service) session.Service { return alwaysLive{s} },
		"search/the_newest",
	},
	"newest session first": {
		func(s session.Service) session.Service { return newestFirst{s} },
		"list/selection",
	},
	"lost increments": {
		func(s session.Service) session.Service { return &readModifyWrite{Service: s} },
		"increment/concurrent",
	},
	"no bounds": {
		func(s session.Service) session.Service { return noBounds{s} },
		"bound/refuses",
	},
	"bounds looked at before": {
		func(s session.Service) session.Service { return &looksBefore{Service: s} },
		"bound/many_sessions",
	},
	"bounds shown": {
		func(s session.Service) session.Service { return showsBounds{s} },
		"bound/not_stored",
	},
	"the machine sees no bounds": {
		func(s session.Service) session.Service { return noBounds{s} },
		"machine",
	},
	"leases for everybody": {
		func(s session.Service) session.Service { return noLeases{s} },
		"lease/exclusive",
	},
	"tells a position twice": {
		func(s session.Service) session.Service { return repeats{s} },
		"watch/append",
	},
	"misses an append": {
		func(s session.Service) session.Service { return misses{s} },
		"watch/follow",
	},
	"watches for ever": {
		func(s session.Service) session.Service { return watchesForEver{s} },
		"watch/deleted",
	},
	"reads another session": {
		func(s session.Service) session.Service { return readsAnother{s} },
		"watch/replaced",
	},
	"does not name the holder": {
		func(s session.Service) session.Service { return nameless{s} },
		"holder/shown",
	},
	"cancels whoever it is": {
		func(s session.Service) session.Service { return cancelsAll{s} },
		"cancel/another_holder",
	},
	"cancels and does not wait": {
		func(s session.Service) session.Service { return impatient{s} },
		"cancel/asked",
	},
	"never takes a lease away": {
		func(s session.Service) session.Service { return patient{s} },
		"cancel/taken_away",
	},
	"deaf to its context": {
		func(s session.Service) session.Service { return deaf{s} },
		"end/done_context",
	},
	"open for ever": {
		func(s session.Service) session.Service { return openForEver{s} },
		"end/closed$",
	},
	"the machine sees it too": {
		func(s session.Service) session.Service { return logForLive{s} },
		"machine",
	},
	"and an error that is wrong": {
		func(s session.Service) session.Service { return anywhere{s} },
		"machine",
	},
}

// A store that breaks a rule fails, and whoever wrote it reads which rule and where it is tested.
func TestFaults(t *testing.T) {
	const env = "PLUGHOOK_SESSIONTEST_FAULT"
	if name := os.Getenv(env); name != "" {
		contract.Patience = 3 * time.Second // some of the stores never do what must happen soon
		sessiontest.FailAtOnce()
		sessiontest.Run(t,
			func(*testing.T) session.Service { return faults[name].broken(memory.New()) })
		return
	}
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFaults$/"+f.cases,
				"-rapid.nofailfile", "-rapid.shrinktime=1s")
			cmd.Env = append(os.Environ(), env+"="+name)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit, "the kit has nothing against it:\n%s", out)
			require.Contains(t, string(out),
				"--- FAIL: TestFaults/"+strings.TrimSuffix(f.cases, "$"))
			require.Regexp(t, `The rule: .*\(\w+\.go:\d+\)`, string(out))
			require.NotContains(t, string(out), "panic:")
		})
	}
}

type oneByOne struct{ session.Service }

func (s oneByOne) Append(
	ctx context.Context,
	at session.AppendTarget,
	events ...*session.Event,
) (last int64, err error) {
	for _, e := range events {
		if last, err = s.Service.Append(ctx, at, e); err != nil {
			return last, err
		}
		at.After = last
	}
	return last, nil
}

type anywhere struct{ session.Service }

func (s anywhere) Append(
	ctx context.Context,
	at session.AppendTarget,
	events ...*session.Event,
) (int64, error) {
	last, err := s.Service.Append(ctx, at, events...)
	if pe := (*session.PositionError)(nil); errors.As(err, &pe) &&
		errors.Is(err, session.ErrConflict) {
		at.After = pe.Have
		return s.Service.Append(ctx, at, events...)
	}
	return last, err
}

type plainErrors struct{ session.Service }

func (s plainErrors) Append(
	ctx context.Context,
	at session.AppendTarget,
	events ...*session.Event,
) (int64, error) {
	last, err := s.Service.Append(ctx, at, events...)
	if errors.Is(err, session.ErrConflict) {
		err = session.ErrConflict
	}
	return last, err
}

type oneUser struct{ session.Service }

func (s oneUser) Get(ctx context.Context, key session.Key) (*session.Session, error) {
	for other, err := range s.List(ctx, key.App, "") {
		if err == nil && other.ID == key.ID {
			return s.Service.Get(ctx, other.Key)
		}
	}
	return s.Service.Get(ctx, key)
}

type microseconds struct{ session.Service }

func (s microseconds) Append(
	ctx context.Context,
	at session.AppendTarget,
	events ...*session.Event,
) (int64, error) {
	for _, e := range events {
		e.Timestamp = e.Timestamp.Truncate(time.Microsecond)
	}
	return s.Service.Append(ctx, at, events...)
}

type sharing struct {
	session.Service
	log []*session.Event
}

func (s *sharing) Read(
	ctx context.Context,
	key session.Key,
	sel session.Selection,
) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		if s.log == nil {
			for e := range s.Service.Read(ctx, key, sel) {
				s.log = append(s.log, e)
			}
		}
		for _, e := range s.log {
			if !yield(e, nil) {
				return
			}
		}
	}
}

type findsAll struct{ session.Service }

func (s findsAll) Search(ctx context.Context, q session.Query) iter.Seq2[*session.Hit, error] {
	q.Match = ""
	return s.Service.Search(ctx, q)
}

type oldestFirst struct{ session.Service }

func (s oldestFirst) Search(ctx context.Context, q session.Query) iter.Seq2[*session.Hit, error] {
	q.Order = session.Oldest
	return s.Service.Search(ctx, q)
}

type alwaysLive struct{ session.Service }

func (s alwaysLive) Search(ctx context.Context, q session.Query) iter.Seq2[*session.Hit, error] {
	return func(yield func(*session.Hit, error) bool) {
		for hit, err := range s.Service.Search(ctx, q) {
			if hit != nil {
				hit.Live = true
			}
			if !yield(hit, err) {
				return
			}
		}
	}
}

type logForLive struct{ session.Service }

func (s logForLive) Read(
	ctx context.Context,
	key session.Key,
	sel session.Selection,
) iter.Seq2[*session.Event, error] {
	sel.Live = false
	return s.Service.Read(ctx, key, sel)
}

type firstForLast struct{ session.Service }

func (s firstForLast) Read(
	ctx context.Context,
	key session.Key,
	sel session.Selection,
) iter.Seq2[*session.Event, error] {
	n := sel.Last
	sel.Last = 0
	return func(yield func(*session.Event, error) bool) {
		i := 0
		for e, err := range s.Service.Read(ctx, key, sel) {
			if i++; n > 0 && i > n || !yield(e, err) {
				return
			}
		}
	}
}

type newestFirst struct{ session.Service }

func (s newestFirst) List(
	ctx context.Context,
	app, user string,
) iter.Seq2[*session.Session, error] {
	var list []*session.Session
	for one, err := range s.Service.List(ctx, app, user) {
		if err != nil {
			return func(yield func(*session.Session, error) bool) { yield(nil, err) }
		}
		list = append(list, one)
	}
	slices.Reverse(list)
	return func(yield func(*session.Session, error) bool) {
		for _, one := range list {
			if !yield(one, nil) {
				return
			}
		}
	}
}

// A meeting holds up one append until another one has come so far too. Those after them go on at once.
type meeting struct {
	once sync.Once // makes full
	full chan struct{}
	here atomic.Int32
}

// come counts an append.
func (m *meeting) come() {
	m.once.Do(func() { m.full = make(chan struct{}) })
	if m.here.Add(1) == 2 {
		close(m.full)
	}
}

// wait counts an append, and returns when two have come.
func (m *meeting) wait(ctx context.Context) {
	m.come()
	select {
	case <-m.full:
	case <-ctx.Done():
	}
}

// readModifyWrite adds to what it has read before.
type readModifyWrite struct {
	session.Service
	both meeting // of two who have read the same
}

func (s *readModifyWrite) Append(
	ctx context.Context,
	at session.AppendTarget,
	events ...*session.Event,
) (int64, error) {
	before, err := s.Get(ctx, at.Key)
	if err != nil {
		return 0, err
	}
	for _, e := range events {
		for k, by := range e.Actions.StateIncrement {
			n, _ := before.State[k].(float64)
			if e.Actions.StateDelta == nil {
				e.Actions.StateDelta = map[string]any{}
			}
			e.Actions.StateDelta[k] = n + by
		}
		e.Actions.StateIncrement = nil
	}
	s.both.wait(ctx)
	return s.Service.Append(ctx, at, events...)
}

// noBounds adds whatever the bound.
type noBounds struct{ session.Service }

func (s noBounds) Append(
	ctx context.Context,
	at session.AppendTarget,
	events ...*session.Event,
) (int64, error) {
	events = withoutBounds(events)
	return s.Service.Append(ctx, at, events...)
}

func withoutBounds(events []*session.Event) []*session.Event {
	events = slices.Clone(events)
	for i, e := range events {
		if e != nil {
			e = e.Clone()
			e.Actions.StateBound = nil
			events[i] = e
		}
	}
	return events
}

// looksBefore compares with the bound before the append, not in it.
type looksBefore struct {
	session.Service
	atBound meeting // of who leads to the bound and who may pass it, or is refused
}

func (s *looksBefore) Append(
	ctx context.Context,
	at session.AppendTarget,
	events ...*session.Event,
) (int64, error) {
	before, err := s.Get(ctx, at.Key)
	if err != nil {
		return 0, err
	}
	for _, e := range events {
		for k, bound := range e.Actions.StateBound {
			n, _ := before.State[k].(float64)
			switch after := n + e.Actions.StateIncrement[k]; {
			case after > bound:
				s.atBound.come()
				return 0, &session.EventError{Key: at.Key, ID: e.ID, Err: session.ErrBound}
			case after == bound:
				s.atBound.wait(ctx)
			}
		}
	}
	return s.Service.Append(ctx, at, withoutBounds(events)...)
}

// showsBounds makes up a bound for every increment that is read.
type showsBounds struct{ session.Service }

func (s showsBounds) Read(
	ctx context.Context,
	key session.Key,
	sel session.Selection,
) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		for e, err := range s.Service.Read(ctx, key, sel) {
			if e != nil {
				e.Actions.StateBound = e.Actions.StateIncrement
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

type noLeases struct{ session.Service }

func (s noLeases) Lease(context.Context, session.Key, string) (*session.Lease, error) {
	return &session.Lease{Release: func() {}}, nil
}

// repeats tells each position twice.
type repeats struct{ session.Service }

func (s repeats) Watch(ctx context.Context, key session.Key) (*session.Watch, error) {
	w, err := s.Service.Watch(ctx, key)
	if err != nil {
		return nil, err
	}
	c := make(chan int64, 100)
	go func() {
		defer close(c)
		for p := range w.C {
			c <- p
			c <- p // once more
		}
	}()
	return &session.Watch{C: c, Read: w.Read, Stop: w.Stop}, nil
}

// misses tells a watch nothing of every second append.
type misses struct{ session.Service }

func (s misses) Watch(ctx context.Context, key session.Key) (*session.Watch, error) {
	w, err := s.Service.Watch(ctx, key)
	if err != nil {
		return nil, err
	}
	c := make(chan int64)
	go func() {
		for n := 0; ; n++ {
			p, ok := <-w.C
			if !ok {
				close(c)
				return
			}
			if n == 0 {
				c <- p
			}
		}
	}()
	return &session.Watch{C: c, Read: w.Read, Stop: w.Stop}, nil
}

type watchesForEver struct{ session.Service }

func (s watchesForEver) Watch(ctx context.Context, key session.Key) (*session.Watch, error) {
	if _, err := s.Get(ctx, key); err != nil {
		return nil, err
	}
	read := func(ctx context.Context, sel session.Selection) iter.Seq2[*session.Event, error] {
		return s.Read(ctx, key, sel)
	}
	return &session.Watch{C: make(chan int64), Read: read, Stop: func() {}}, nil
}

// readsAnother reads whatever session is under the key of one that is watched.
type readsAnother struct{ session.Service }

func (s readsAnother) Watch(ctx context.Context, key session.Key) (*session.Watch, error) {
	w, err := s.Service.Watch(ctx, key)
	if err == nil {
		w.Read = func(ctx context.Context, sel session.Selection) iter.Seq2[*session.Event, error] {
			return s.Read(ctx, key, sel)
		}
	}
	return w, err
}

type nameless struct{ session.Service }

func (s nameless) Lease(ctx context.Context, key session.Key, _ string) (*session.Lease, error) {
	return s.Service.Lease(ctx, key, "somebody")
}

// cancelsAll does not look whom it cancels.
type cancelsAll struct{ session.Service }

func (s cancelsAll) Cancel(ctx context.Context, key session.Key, _ string) error {
	now, err := s.Get(ctx, key)
	if err != nil {
		return err
	}
	return s.Service.Cancel(ctx, key, now.Holder)
}

type impatient struct{ session.Service }

func (s impatient) Cancel(_ context.Context, key session.Key, holder string) error {
	go s.Service.Cancel(context.Background(), key, holder)
	return nil
}

// patient waits for a holder for as long as that takes.
type patient struct{ session.Service }

func (s patient) Cancel(ctx context.Context, key session.Key, holder string) error {
	short, stop := context.WithTimeout(ctx, session.CancelGrace/2)
	defer stop()
	err := s.Service.Cancel(short, key, holder)
	if errors.Is(err, context.DeadlineExceeded) {
		time.Sleep(session.CancelGrace)
		return nil
	}
	return err
}

type deaf struct{ session.Service }

func (s deaf) Get(ctx context.Context, key session.Key) (*session.Session, error) {
	return s.Service.Get(context.WithoutCancel(ctx), key)
}

type openForEver struct{ session.Service }

func (openForEver) Close() error { return nil }

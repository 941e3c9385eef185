package agent

import (
	"context"

	"github.com/plughook/plughook/internal/panicked"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/session"
)

// A Part is one of several tasks that an agent does at the same time. It yields events as Agent.Run
// does. It must not use its yield and its host after it has returned. Give each Part that asks a
// model a branch of its own (Host.At); otherwise its model would read what the other parts say.
type Part func(ctx context.Context, host *Host, yield func(*session.Event, error) bool)

// Together runs parts at once, each on a goroutine of its own, and returns when all have ended.
// Their calls of yield and of the host's functions run one at a time on the caller's goroutine;
// each part makes them from its own goroutine. When yield returns false or a part yields an error,
// the contexts of all parts are cancelled. Together reports whether the agent may continue. If a
// part panics, Together panics too, on the caller's goroutine.
func Together(ctx context.Context, host *Host, yield func(*session.Event, error) bool,
	parts ...Part) bool {
	return Schedule(ctx, host, yield, func() []Part {
		all := parts
		parts = nil
		return all
	})
}

// Schedule is Together for parts that are not all known at the beginning. It calls next at first,
// and again each time that a part has ended, on the caller's goroutine; next returns the parts to
// start now. Schedule returns when next returns none and no part is running. A part that is alone runs
// on the caller's goroutine, so it must not use its yield and its host on another one.
func Schedule(ctx context.Context, host *Host, yield func(*session.Event, error) bool,
	next func() []Part) bool {
	ctx, cancel := context.WithCancel(ctx)
	t := &together{jobs: make(chan func()), more: true}
	running := 0
	var thrown any // what a part has panicked with
	start := func(part Part) {
		returned := false
		defer func() { // on a goroutine of its own, also if the part panics or ends it
			p := recover()
			panicked.Log(host.Log, "a part of an agent panicked", panicked.Recovered(p), "branch", host.Branch)
			t.jobs <- func() {
				running--
				if !returned {
					thrown = panicValue(p)
					t.more = false
					cancel()
				}
			}
		}()
		part(ctx, t.host(host), func(e *session.Event, err error) bool {
			return t.yield(cancel, yield, e, err)
		})
		returned = true
	}
	alone := func(e *session.Event, err error) bool {
		t.pass(cancel, yield, e, err)
		return t.more
	}
	defer func() { // also if yield panics: no part stays behind
		cancel()
		t.more = false
		for running > 0 {
			(<-t.jobs)()
		}
	}()
	for {
		// Start what is there to start.
		var parts []Part
		if t.more {
			parts = next()
		}
		if running == 0 && len(parts) == 1 {
			parts[0](ctx, host, alone)
			continue
		}
		for _, part := range parts {
			running++
			go start(part)
		}
		if running == 0 {
			break
		}

		// Do what the parts want done, until one of them has ended.
		for ended := false; !ended; {
			before := running
			(<-t.jobs)()
			ended = running < before
		}
	}
	if thrown != nil {
		panic(thrown)
	}
	return t.more
}

func panicValue(p any) any {
	if p == nil {
		return "agent: a part of Together ended its goroutine"
	}
	return p
}

// together passes the calls of the parts to the caller's goroutine.
type together struct {
	jobs chan func()
	more bool // used by the caller's goroutine only
}

// do has f done on the caller's goroutine, and waits for it.
func (t *together) do(f func()) {
	done := make(chan struct{})
	t.jobs <- func() { defer close(done); f() }
	<-done
}

func (t *together) yield(cancel func(), yield func(*session.Event, error) bool, e *session.Event,
	err error) (more bool) {
	t.do(func() {
		t.pass(cancel, yield, e, err)
		more = t.more
	})
	return more
}

// pass yields an event of a part, on the caller's goroutine.
func (t *together) pass(cancel func(), yield func(*session.Event, error) bool, e *session.Event, err error) {
	if t.more {
		t.more = yield(e, err) && err == nil
	}
	if !t.more {
		cancel()
	}
}

// host returns a host whose functions run on the caller's goroutine.
func (t *together) host(h *Host) *Host {
	mine := *h
	mine.Now = func() (inv *session.Invocation) {
		t.do(func() { inv = h.Now() })
		return inv
	}
	mine.BeforeModel = func(
		ctx context.Context, build func(*session.Invocation) (*model.Request, error),
	) (req *model.Request, err error) {
		err = ErrEnded
		t.do(func() {
			if t.more {
				req, err = h.BeforeModel(ctx, build)
			}
		})
		return req, err
	}
	return &mine
}

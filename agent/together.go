package agent

import (
	"context"
	"sync"

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
	ctx, cancel := context.WithCancel(ctx)
	t := &together{jobs: make(chan func()), more: true}
	var panicked any
	go func() { // owned by the loop below, which ends when this one has closed jobs
		defer close(t.jobs)
		var all sync.WaitGroup
		for _, part := range parts {
			all.Go(func() {
				returned := false
				defer func() {
					if p := recover(); !returned {
						t.do(func() {
							panicked = panicValue(p)
							t.more = false
							cancel()
						})
					}
				}()
				part(ctx, t.host(host), func(e *session.Event, err error) bool {
					return t.yield(cancel, yield, e, err)
				})
				returned = true
			})
		}
		all.Wait()
	}()
	defer func() { // also if yield panics: no part stays behind
		cancel()
		t.more = false
		for job := range t.jobs {
			job()
		}
	}()
	for job := range t.jobs {
		job()
	}
	if panicked != nil {
		panic(panicked)
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
		if t.more {
			t.more = yield(e, err) && err == nil
		}
		more = t.more
		if !more {
			cancel()
		}
	})
	return more
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

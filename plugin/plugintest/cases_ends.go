package plugintest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// patience is how long a hook may take to return once its context is done, and Close once its own
// is.
const patience = 5 * time.Second

var errEnd = errors.New("the agent has failed")

// ends makes a run for each way in which a run can end.
func ends(ctx context.Context, p *plugin.Plugin) error {
	if p.AfterRun == nil {
		return Skip("it has no AfterRun")
	}
	for _, kind := range []plugin.EndKind{plugin.EndDone, plugin.EndStopped, plugin.EndFailed, plugin.EndCancelled, plugin.EndLeft} {
		running, cancel := context.WithCancel(ctx)
		steps := []step{{ask: true}}
		stop := &plugin.Plugin{Name: "plugintest-stops", OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			return plugin.Outcome{Stop: kind == plugin.EndStopped && e.Author != session.User}, nil
		}}
		switch kind {
		case plugin.EndFailed:
			steps = append(steps, step{do: func() error { return errEnd }})
		case plugin.EndCancelled:
			steps = append(steps, step{do: func() error { cancel(); return nil }}, step{event: session.Reply("too late")})
		}
		var w watcher
		r, err := runner.New(runner.Options{Agent: player([]turn{{steps: steps}}), Sessions: memory.New(), Plugins: []*plugin.Plugin{watched(p, &w), stop}})
		if err != nil {
			cancel()
			return err
		}
		in := session.Message("Hello")
		in.InvocationID = "0"
		for range r.Run(running, key, in, session.RunConfig{Create: true}) {
			if kind == plugin.EndLeft {
				break
			}
		}
		cancel()
		if err := errors.Join(r.Close(ctx), w.broken[noPanic], w.broken[inPlace], w.broken[allowed]); err != nil {
			return fmt.Errorf("a run that ends %s: %w", kind, err)
		}
	}
	return nil
}

// cancelled calls each hook twice: with a context that is done, and with one that is cancelled during the
// call.
func cancelled(ctx context.Context, p *plugin.Plugin) error {
	in := session.Message("Hello")
	in.ID = "e1"
	in.Seq = 1
	in.InvocationID = "i1"
	inv := &session.Invocation{ID: "i1", Key: key, Input: in, Live: []*session.Event{in}, State: map[string]any{}, Position: 1}
	e := session.Reply("Good morning, my card is 4111 1111 1111 1111")
	e.ID = "e2"
	e.Author = "bot"
	e.InvocationID = "i1"
	for _, hook := range p.Subscribes() {
		args := plugin.Args{
			Hook:    hook,
			Event:   e,
			Request: &model.Request{Agent: "bot", Contents: []*genai.Content{in.Content}},
			End:     plugin.End{Kind: plugin.EndCancelled, Err: context.Canceled},
		}
		for _, before := range []bool{true, false} {
			done, cancel := context.WithCancel(ctx)
			if before {
				cancel()
			} else {
				go cancel()
			}
			late, err := within(patience, func() error { _, _ = p.Call(done, inv, args); return nil })
			cancel()
			if late {
				return fmt.Errorf("%s did not return within %v after its context was done", hook, patience)
			}
			if err != nil {
				return fmt.Errorf("%s, cancelled: %w", hook, err)
			}
		}
	}
	return nil
}

// afterCancel cancels a run in the middle, and then makes another one on the same session.
func afterCancel(ctx context.Context, p *plugin.Plugin) error {
	sessions := memory.New()
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	turns := talk()
	turns[1].steps = append(turns[1].steps[:2:2], step{do: func() error { cancel(); return context.Canceled }})
	_, _ = try(running, p, sessions, turns[:2]...)
	return works(ctx, p, sessions, "a run after one that was cancelled")
}

// works has the ordinary conversation twice: in the sessions given, in which something has failed before,
// and in new ones. A turn that fails only in the first is an error.
func works(ctx context.Context, p *plugin.Plugin, sessions session.Service, what string) error {
	other := talk()
	for i := range other {
		other[i].user = "bob"
	}
	fresh, err := try(ctx, p, memory.New(), other...)
	if err != nil {
		return err
	}
	t, err := try(ctx, p, sessions, talk()...)
	if err != nil {
		return err
	}
	for i, err := range t.errs {
		if err != nil && fresh.errs[i] == nil {
			return fmt.Errorf("%s fails: %w", what, err)
		}
	}
	return errors.Join(t.broken[noPanic], t.broken[inPlace])
}

// refusing is a store that refuses what plugins emit, for a while.
type refusing struct {
	session.Service
	mu       sync.Mutex
	refuse   bool
	attempts int
}

func (s *refusing) Append(ctx context.Context, at session.AppendTarget, events ...*session.Event) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range events {
		if _, emitted := e.Plugin(); emitted && s.refuse {
			s.attempts++
			return 0, errors.New("the store is away")
		}
	}
	return s.Service.Append(ctx, at, events...)
}

func afterFailure(ctx context.Context, p *plugin.Plugin) error {
	sessions := &refusing{Service: memory.New(), refuse: true}
	t, err := try(ctx, p, sessions, talk()...)
	if err != nil {
		return err
	}
	if sessions.attempts == 0 {
		return Skip("it emitted nothing")
	}
	if sessions.attempts > 20*len(talk()) {
		return fmt.Errorf("in %d runs it emitted %d times what the store refused", len(talk()), sessions.attempts)
	}
	if err := errors.Join(t.broken[noPanic], t.broken[inPlace]); err != nil {
		return err
	}
	sessions.refuse = false
	return works(ctx, p, sessions, "a run after one whose append failed")
}

// closes closes the plugin three times: as runners do, again, and with a context that is done.
func closes(ctx context.Context, p *plugin.Plugin) error {
	if p.Close == nil {
		return Skip("it has no Close")
	}
	for _, what := range []string{"Close", "a second Close", "Close with a context that is done"} {
		closing, cancel := context.WithTimeout(ctx, patience)
		if what != "Close" && what != "a second Close" {
			cancel()
		}
		late, err := within(2*patience, func() error {
			if err := p.Close(closing); what == "Close" {
				return err
			}
			return nil
		})
		if late {
			err = fmt.Errorf("%w, with a context of %v", err, patience)
		}
		cancel()
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

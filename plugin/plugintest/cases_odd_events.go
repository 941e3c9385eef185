package plugintest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// oddities is the conversation of odd events, which several cases look at. It is had once with
// each plugin.
type oddities struct {
	mu    sync.Mutex
	of    *plugin.Plugin
	trial *trial
	turns []turn
	err   error
}

// converse has the conversation, if it was not had with this plugin.
func (o *oddities) converse(ctx context.Context, p *plugin.Plugin) (*trial, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.of != p {
		o.of = p
		o.turns = slices.Concat(talk(), oddTurns())
		o.trial, o.err = try(ctx, p, memory.New(), o.turns...)
	}
	return o.trial, o.err
}

// keep returns a case about one rule of single calls.
func (o *oddities) keep(r rule) func(context.Context, *plugin.Plugin) error {
	return func(ctx context.Context, p *plugin.Plugin) error {
		t, err := o.converse(ctx, p)
		if err != nil {
			return err
		}
		return t.broken[r]
	}
}

// acceptable looks for runs that fail although no hook has failed.
func (o *oddities) acceptable(ctx context.Context, p *plugin.Plugin) error {
	t, err := o.converse(ctx, p)
	if err != nil {
		return err
	}
	without, err := try(ctx, nil, memory.New(), o.turns...)
	if err != nil {
		return err
	}
	for i, err := range t.errs {
		if without.errs[i] == nil && t.refused(err) {
			return fmt.Errorf("a run with %s failed, and without the plugin it does not: %w", o.turns[i].what, err)
		}
	}
	return nil
}

// refused reports whether a run failed by what a plugin asked for: not by a hook's own error.
func (t *trial) refused(err error) bool {
	return err != nil && !slices.ContainsFunc(t.own, func(own error) bool { return errors.Is(err, own) })
}

// firstRefused returns an error if a turn's run was refused.
func (t *trial) firstRefused(turns []turn) error {
	for i, err := range t.errs {
		if t.refused(err) {
			return fmt.Errorf("the run with %s failed: %w", turns[i].what, err)
		}
	}
	return nil
}

// unknownKeys looks whether replaced events keep the keys that they had.
func (o *oddities) unknownKeys(ctx context.Context, p *plugin.Plugin) error {
	if p.OnEvent == nil {
		return Skip("it has no OnEvent")
	}
	t, err := o.converse(ctx, p)
	if err == nil && t.replaced == 0 {
		return Skip("it replaced none of the events that have such keys")
	}
	return errors.Join(err, t.broken[keeps])
}

// partials streams an answer.
func partials(ctx context.Context, p *plugin.Plugin) error {
	if !p.Partials {
		return Skip("it takes none")
	}
	var steps []step
	for _, text := range []string{"It ", "", "is a fine "} {
		e := session.Reply(text)
		e.ID = "streamed"
		e.Partial = true
		steps = append(steps, step{event: e})
	}
	none := &session.Event{ID: "streamed", Partial: true}
	whole := session.Reply("It is a fine day")
	whole.ID = "streamed"
	turns := []turn{
		{what: "a stream", input: session.Message("Hello"), steps: append(steps, step{event: none}, step{event: whole})},
		{what: "another stream", input: session.Message("And?"), steps: []step{{ask: true}}}}
	t, err := try(ctx, p, memory.New(), turns...)
	if err != nil {
		return err
	}
	return errors.Join(t.firstRefused(turns), t.broken[noPanic], t.broken[inPlace], t.broken[allowed], t.broken[observes])
}

// settles asks a model several times in a row.
func settles(ctx context.Context, p *plugin.Plugin) error {
	if p.BeforeModel == nil {
		return Skip("it has no BeforeModel")
	}
	asks := turn{what: "three requests", input: session.Message("Think about it"), steps: []step{{ask: true}, {ask: true}, {ask: true}}}
	turns := slices.Concat(talk(), []turn{asks, asks})
	t, err := try(ctx, p, memory.New(), turns...)
	if err != nil {
		return err
	}
	return t.firstRefused(turns)
}

package guardrail

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/plughook/plughook/session"
)

// remotes makes what asks the judges of a policy's rules.
func (g *guard) remotes(p *Policy) (map[string]*remote, error) {
	var all map[string]*remote
	for _, r := range p.rules {
		if r.ask == nil {
			continue
		}
		a := &remote{rule: r, revision: p.revision, slots: make(chan struct{}, maxAsking)}
		var err error
		switch {
		case r.ask.url != "":
			a.ask, err = g.judges.service(r.ask)
		case g.Models == nil:
			err = errors.New("its judge is a model, and none can be opened here: the Config has no Models")
		default:
			m, e := g.Models(r.ask.model)
			a.ask, err = g.judges.byModel(r, m), e
		}
		if err != nil {
			return nil, fmt.Errorf("guardrail: %s: rule %s: %w", p.name, r.id, err)
		}
		if all == nil {
			all = map[string]*remote{}
		}
		all[r.id] = a
	}
	return all, nil
}

// hears begins to ask about an event.
func (g *guard) hears(ctx context.Context, j *judgment) {
	if len(j.policy.remotes) > 0 {
		j.hearing, j.aside = g.hearing(ctx, j.decides), g.hearing(g.judges.ctx, nil)
	}
}

// told reports what judges have answered, and what the policy has made of it. It returns why something is to pass that
// nobody has judged.
func (g *guard) told(ctx context.Context, j *judgment, event string) (unchecked string) {
	at := []slog.Attr{slog.String("session", j.inv.Key.String()), slog.String("invocation", j.inv.ID), slog.String("event", event), slog.String("revision", j.policy.revision)}
	for _, o := range j.answers {
		rule := o.remote.rule
		mine := append(slices.Clone(at), slog.String("rule", o.rule), slog.String("stage", string(o.stage)), slog.Duration("took", o.took))
		if o.err == nil {
			g.Log.LogAttrs(ctx, slog.LevelDebug, "guardrail: a judge has answered", append(mine, slog.Bool("flagged", o.answer.flagged), slog.Int("tokens", o.answer.tokens))...)
			continue
		}
		g.metrics.errors.Add(ctx, 1)
		g.Log.LogAttrs(ctx, slog.LevelError, "guardrail: a text could not be judged", append(mine, slog.String("error", o.err.Error()), slog.String("on_error", string(rule.ask.onError)))...)
		if rule.ask.onError == Allow && unchecked == "" {
			unchecked = fmt.Sprintf("rule %s: %v", o.rule, o.err)
		}
	}
	if len(j.records) > 0 || j.err != nil {
		g.report(ctx, j, event)
	}
	if j.err != nil && j.policy.onError == Allow {
		unchecked = j.err.Error()
	}
	return unchecked
}

// shadowed waits for the judges of rules in shadow, on a goroutine that Close waits for, and reports what they would
// have done: no event waits for them.
func (g *guard) shadowed(j *judgment, e *session.Event) {
	aside := j.aside
	if aside == nil || len(aside.texts) == 0 {
		aside.end()
		return
	}
	mine := &judgment{policy: j.policy, scope: j.scope, inv: j.inv, event: e, edits: map[int][]string{}, began: j.began}
	g.judges.spawn(func() {
		err := aside.wait(g.judges.ctx)
		aside.end()
		if err == nil {
			mine.settle(aside)
			g.told(g.judges.ctx, mine, e.ID)
		}
	})
}

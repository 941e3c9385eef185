package guardrail

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/plughook/plughook/plugins/guardrail/internal/judge"
	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// askWait is how long a run waits for the answer of an address.
const askWait = time.Second

// reload reads the policy again if it has changed. One that is wrong, or gone, leaves the policy before
// it in force. Runs that have begun keep their policy. One run reads at a time, so that no older policy
// replaces a newer one; runs that begin meanwhile do not wait, and get the one in force. An address is
// asked at most every half minute, on a goroutine that Close ends. The run that asks waits a second for
// the answer. A later answer is for the next run.
func (g *guard) reload(ctx context.Context) {
	if !g.Reload || !g.reading.TryLock() {
		return
	}
	if !g.from.remote {
		defer g.reading.Unlock()
		g.take(g.from.read(ctx))
		return
	}
	now := g.Now()
	if now.Sub(g.from.asked) < askEvery {
		g.reading.Unlock()
		return
	}
	g.from.asked = now
	done := make(chan struct{})
	g.judges.Go(func() {
		defer close(done)
		defer g.reading.Unlock()
		p, err := g.from.read(g.asking)
		if g.asking.Err() == nil { // the plugin is not being closed
			g.take(p, err)
		}
	})
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// take puts a policy in force that was read again, nil if it was not changed. The log says which policy is
// in force when that changes, and with each look what is wrong with the one that is not.
func (g *guard) take(p *policy.Policy, err error) {
	inForce := g.policy.Load()
	if p != nil && p.Revision() == inForce.Revision() {
		p = nil // whoever serves it has not said that it is the same
	}
	if p != nil && err == nil && g.PublicKey != "" {
		err = p.CheckSignature(g.PublicKey)
		if err == nil && p.Signed().Before(inForce.Signed()) {
			err = fmt.Errorf("guardrail: %s was signed at %s, before the policy that is in force", p.Name(), p.Signed().Format(time.RFC3339))
		}
	}
	if p != nil && err == nil {
		err = g.use(p)
	}
	before := g.wrong
	g.wrong = ""
	if err != nil {
		g.wrong = err.Error()
		g.from.forget()
	}
	if p != nil || err != nil {
		g.metrics.reloads.Add(context.Background(), 1,
			metric.WithAttributes(attribute.Bool("ok", err == nil)))
	}
	attrs := []any{
		slog.String("file", g.File),
		slog.String("revision", g.policy.Load().Revision()),
		slog.String("release", g.policy.Load().Release()),
	}
	switch {
	case err != nil && g.wrong == before:
		g.Log.Warn("guardrail: the policy is still wrong, or gone; the one before it is in force",
			append(attrs, slog.String("error", g.wrong))...)
	case err != nil:
		g.Log.Error("guardrail: the policy was not reloaded; the one before it stays in force",
			append(attrs, slog.String("error", g.wrong))...)
	case p != nil:
		g.Log.Info("guardrail: the policy was reloaded",
			append(attrs, slog.String("before", inForce.Revision()))...)
	case before != "":
		g.Log.Info("guardrail: the policy that is in force can be read again", attrs...)
	}
}

// use makes a policy the one that new runs get.
func (g *guard) use(p *policy.Policy) error {
	if p.NeedsKey() && g.Key == nil {
		return fmt.Errorf("guardrail: %s has the action vault, and there is no key to open one with; say key_env: NAME", p.Name())
	}
	e := &enforced{
		Policy:       p.WithKey(g.secret),
		judges:       map[string]*judge.Judge{},
		taints:       p.Taints(),
		flows:        p.Flows(),
		promptsAlone: true,
	}
	if err := p.CheckPrices(g.Price); err != nil {
		return fmt.Errorf("guardrail: %w", err)
	}
	for _, spec := range p.Judges() {
		j, err := g.judges.Open(spec, g.Models)
		if err != nil {
			return fmt.Errorf("guardrail: %s: rule %s: %w", p.Name(), spec.Rule, err)
		}
		e.judges[spec.Rule] = j
	}
	for _, r := range p.Rules() {
		if slices.Contains(r.Stages, policy.Prompt) {
			e.prompt = true
			e.promptsAlone = e.promptsAlone && r.TextOnly()
		}
	}
	// A policy that is read later may ask what was read meanwhile.
	before := g.policy.Load()
	if before != nil {
		e.taints = e.taints || before.taints
		e.flows = e.flows || before.flows
	}
	g.policy.Store(e)
	return nil
}

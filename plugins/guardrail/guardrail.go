package guardrail

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail/internal/vault"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

// New returns the plugin. It returns an error if the policy or the key is wrong.
// Put the plugin after those that emit and change events, and before those that record them.
func New(c Config) (*plugin.Plugin, error) {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	c.complete()

	// The key.
	if c.KeyEnv != "" && c.Key == nil {
		c.Key = []byte(os.Getenv(c.KeyEnv))
		if len(c.Key) == 0 {
			return nil, fmt.Errorf("guardrail: key_env: the environment variable %s is not set", c.KeyEnv)
		}
	}
	if c.Key != nil && len(c.Key) < vault.MinSecret {
		return nil, fmt.Errorf("guardrail: the key's length is %d; it must be %d bytes or more", len(c.Key),
			vault.MinSecret)
	}
	g := newGuard(c)

	// The policy.
	p := c.Policy
	switch {
	case c.File != "" && c.Policy != nil:
		return nil, errors.New("guardrail: a file and a policy; give one of them")
	case c.Reload && c.File == "":
		return nil, errors.New("guardrail: reload: there is no file to read again")
	case c.File != "":
		var err error
		g.from, err = newSource(c.File)
		if err != nil {
			return nil, err
		}
		g.from.signed = c.PublicKey != ""
		p, err = g.from.read(context.Background())
		if err != nil {
			return nil, err
		}
		g.from.asked = c.Now()
	case p == nil:
		p = policy.Default()
	}
	if c.PublicKey != "" {
		if err := p.CheckSignature(c.PublicKey); err != nil {
			return nil, err
		}
	}
	if err := g.use(p); err != nil {
		return nil, err
	}
	var err error
	g.decisions, err = openDecisions(c.Decisions, c.Log)
	if err != nil {
		return nil, err
	}
	if c.Reload {
		g.Log.Info("guardrail: the policy is in force",
			slog.String("file", g.File),
			slog.String("revision", p.Revision()),
			slog.String("release", p.Release()),
		)
	}
	return &plugin.Plugin{
		Name:        c.Name,
		StateName:   c.Name,
		Doc:         "Holds runs to a policy: blocks, redacts, asks, flags.",
		Partials:    true,
		ReadsState:  func() []string { return g.policy.Load().ReadsState() },
		OnEvent:     g.onEvent,
		BeforeModel: g.beforeModel,
		AfterRun:    g.afterRun,
		About:       func() plugin.About { return plugin.About{Policy: about(g.policy.Load().Policy)} },
		Close: func(ctx context.Context) error {
			g.stop()
			return errors.Join(g.judges.Close(ctx), g.decisions.close())
		},
	}, nil
}

func (g *guard) onEvent(ctx context.Context, inv *session.Invocation,
	e *session.Event) (out plugin.Outcome, err error) {
	defer g.recovering(&err)
	r := g.run(ctx, inv, e.Author == session.User || e.Partial)
	if e.Partial {
		return g.partial(ctx, inv, r, e), nil
	}
	return g.event(ctx, inv, r, e, r.endStream(e.ID))
}

package show

import (
	"context"
	_ "embed"
	"fmt"
	"iter"
	"log/slog"
	"sync"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/internal/debuglog"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/model/script"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/budget"
	"github.com/plughook/plughook/plugins/earlyexit"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

//go:embed policy.yaml
var policyText string

//go:embed script.yaml
var answers []byte

const agentName = "agent"

// newAgent returns an agent that moves bookings, and pays back. What its model streams is overheard.
func newAgent() (agent.Agent, *overheard, error) {
	m, err := script.Parse("script.yaml", answers)
	if err != nil {
		return nil, nil, err
	}
	heard := &overheard{Model: m}
	answering := func(name string, answer map[string]any) *tool.Tool {
		return &tool.Tool{
			Declaration: &genai.FunctionDeclaration{Name: name, ParametersJsonSchema: map[string]any{"type": "object"}},
			Run:         func(context.Context, *tool.Call) (map[string]any, error) { return answer, nil },
		}
	}
	a, err := llm.New(llm.Config{
		Name:  agentName,
		Model: heard,
		Tools: []*tool.Tool{
			answering("move_booking", map[string]any{"feeEUR": 25}),
			answering("refund", map[string]any{"paidEUR": 25}),
		},
	})
	return a, heard, err
}

// overheard is a model, and the chunks of what it has streamed.
type overheard struct {
	model.Model
	chunks []string
}

func (o *overheard) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		for r, err := range o.Model.Generate(ctx, req) {
			if err == nil && r.Partial && r.Content != nil {
				o.chunks = append(o.chunks, r.Content.Parts[0].Text)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// newPlugins returns the plugins of the first conversation in their order.
func (d *Demo) newPlugins(seen *counts) ([]*plugin.Plugin, error) {
	hours, err := earlyexit.New(earlyexit.Config{Rules: []earlyexit.Rule{
		{Name: "hours", Text: `(?i)opening hours`, Answer: "We are here every day from 8 to 20."},
	}})
	if err != nil {
		return nil, err
	}
	parsed, err := policy.Parse("policy.yaml", []byte(policyText))
	if err != nil {
		return nil, err
	}
	guard, err := guardrail.New(guardrail.Config{Policy: parsed, Log: d.log()})
	if err != nil {
		return nil, err
	}
	moves, err := budget.New(budget.Config{Limits: []budget.Limit{{
		Name:    "moves",
		Count:   "tool_calls",
		Tools:   []string{"move_booking"},
		Max:     1,
		Per:     "user",
		Message: "A booking can be moved once.",
	}}})
	counter := &plugin.Plugin{Name: "counter", Doc: "Counts events.", Observer: true, OnEvent: seen.count}
	return []*plugin.Plugin{hours, guard, moves, counter}, err
}

// log returns the log of plugins whose work the demo shows anyway.
func (d *Demo) log() *slog.Logger {
	if d.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return debuglog.New(d.Log)
}

// counts are what the observer counts.
type counts struct {
	mu                    sync.Mutex
	user, agents, plugins int
}

func (c *counts) count(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
	if e.Partial {
		return plugin.Outcome{}, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case e.Author == session.User:
		c.user++
	case e.FromAgent():
		c.agents++
	default:
		c.plugins++
	}
	return plugin.Outcome{}, nil
}

func (c *counts) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("%d events: %d of the customer, %d of the agent, %d of plugins", c.user+c.agents+c.plugins, c.user, c.agents, c.plugins)
}

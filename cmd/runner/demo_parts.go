package main

import (
	"context"
	"embed"
	"fmt"
	"iter"
	"strings"
	"sync"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/model/script"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/earlyexit"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

//go:embed demo/policy.yaml demo/script.yaml
var demoFiles embed.FS

func demoFile(name string) []byte {
	data, err := demoFiles.ReadFile("demo/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return data
}

const demoName = "agent"

// demoAgent returns an agent that moves bookings, and pays back. What its model streams is overheard.
func demoAgent() (agent.Agent, *overheard, error) {
	m, err := script.Parse("script.yaml", demoFile("script.yaml"))
	if err != nil {
		return nil, nil, err
	}
	heard := &overheard{Model: m}
	answering := func(name string, answer map[string]any) *tool.Tool {
		return &tool.Tool{Declaration: &genai.FunctionDeclaration{Name: name, ParametersJsonSchema: map[string]any{"type": "object"}},
			Run: func(context.Context, *tool.Call) (map[string]any, error) { return answer, nil }}
	}
	a, err := llm.New(llm.Config{Name: demoName, Model: heard, Tools: []*tool.Tool{
		answering("move_booking", map[string]any{"feeEUR": 25}), answering("refund", map[string]any{"paidEUR": 25})}})
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

// demoPlugins returns the demo's plugins in their order.
func (p *program) demoPlugins(seen *demoCounts) ([]*plugin.Plugin, error) {
	hours, err := earlyexit.New(earlyexit.Config{Rules: []earlyexit.Rule{
		{Name: "hours", Text: `(?i)opening hours`, Answer: "We are here every day from 8 to 20."},
	}})
	if err != nil {
		return nil, err
	}
	policy, err := policy.Parse("policy.yaml", demoFile("policy.yaml"))
	if err != nil {
		return nil, err
	}
	guard, err := guardrail.New(guardrail.Config{Policy: policy, Log: lowered(p.log)})
	counter := &plugin.Plugin{Name: "counter", Doc: "Counts events.", Observer: true, OnEvent: seen.count}
	return []*plugin.Plugin{hours, guard, counter}, err
}

// demoCounts is what the observer counts.
type demoCounts struct {
	mu                    sync.Mutex
	user, agents, plugins int
}

func (c *demoCounts) count(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
	if e.Partial {
		return plugin.Outcome{}, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case e.Author == session.User:
		c.user++
	case strings.HasPrefix(e.Author, session.PluginPrefix):
		c.plugins++
	default:
		c.agents++
	}
	return plugin.Outcome{}, nil
}

func (c *demoCounts) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("%d events: %d of the customer, %d of the agent, %d of plugins", c.user+c.agents+c.plugins, c.user, c.agents, c.plugins)
}

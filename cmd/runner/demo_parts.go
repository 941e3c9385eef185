package main

import (
	"context"
	"fmt"
	"iter"
	"regexp"
	"strings"
	"sync"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/earlyexit"
	"github.com/plughook/plughook/session"
)

// demoAgent moves a booking. It reads the input from the log, where plugins have been.
var demoAgent = agent.New("agent", "", func(_ context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		call := &genai.FunctionCall{ID: "c1", Name: "move_booking", Args: map[string]any{"booking": "K7Q2", "day": "Friday"}}
		if !yield(&session.Event{Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{{FunctionCall: call}}}}, nil) {
			return
		}
		for _, c := range session.Calls(host.Now().Live) { // as plugins have left them
			if c.Response == nil && !yield(session.Respond(c.FunctionCall, map[string]any{"feeEUR": 25}), nil) {
				return
			}
		}
		_, card, _ := strings.Cut(host.Now().Input.Text(), "My card is ")
		yield(session.Reply("Done: K7Q2 leaves on Friday. The fee of 25 EUR went to your card "+card+"."), nil)
	}
})

// demoPlugins returns the demo's plugins in their order.
func demoPlugins(seen *demoCounts) ([]*plugin.Plugin, error) {
	rules, err := earlyexit.New(earlyexit.Config{Rules: []earlyexit.Rule{
		{Name: "hours", Text: `(?i)opening hours`, Answer: "We are here every day from 8 to 20."},
		{Name: "refunds", Text: `(?i)refund every`, Answer: "I cannot refund what is not yours.", Deny: true},
	}})
	cards := &plugin.Plugin{Name: "cards", Doc: "Takes card numbers out of texts.", OnEvent: redactCards}
	counter := &plugin.Plugin{Name: "counter", Doc: "Counts events.", Observer: true, OnEvent: seen.count}
	return []*plugin.Plugin{cards, rules, counter}, err
}

var cardNumber = regexp.MustCompile(`\b\d{4}([ -]?\d{4}){3}\b`)

func redactCards(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
	if !cardNumber.MatchString(e.Text()) {
		return plugin.Outcome{}, nil
	}
	clean := e.Clone()
	for _, part := range clean.Content.Parts {
		part.Text = cardNumber.ReplaceAllString(part.Text, "[card]")
	}
	return plugin.Outcome{Replace: clean, Reason: "card number"}, nil
}

// demoCounts is what the observer counts.
type demoCounts struct {
	mu                    sync.Mutex
	user, agents, plugins int
}

func (c *demoCounts) count(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
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

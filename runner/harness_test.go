package runner_test

import (
	"context"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

var (
	ctx = context.Background()
	key = session.Key{App: "app", User: "ann", ID: "s"}
)

// scene is a session in memory with an agent and plugins on it.
type scene struct {
	t        testing.TB
	sessions session.Service
	agent    agent.Agent
	plugins  []*plugin.Plugin
	options  runner.Options
	cfg      session.RunConfig

	runner *runner.Runner
}

// says returns an agent that yields these texts. "=" before a text makes it partial, "!" its error.
func says(texts ...string) agent.Agent {
	return does(func(ctx context.Context, h *agent.Host, yield func(*session.Event, error) bool) {
		for _, text := range texts {
			e := session.Reply(strings.TrimPrefix(text, "="))
			e.Partial = strings.HasPrefix(text, "=")
			if !yield(e, nil) {
				return
			}
		}
	})
}

func does(
	f func(ctx context.Context, h *agent.Host, yield func(*session.Event, error) bool),
) agent.Agent {
	return agent.New(
		"bot",
		"",
		func(ctx context.Context, h *agent.Host) iter.Seq2[*session.Event, error] {
			return func(yield func(*session.Event, error) bool) { f(ctx, h, yield) }
		},
	)
}

func stage(t testing.TB, a agent.Agent, plugins ...*plugin.Plugin) *scene {
	s := &scene{t: t, sessions: memory.New(), agent: a, plugins: plugins}
	_, err := s.sessions.Create(ctx, key, map[string]any{"mood": "fine"})
	require.NoError(t, err)
	return s
}

func (s *scene) start() *runner.Runner {
	if s.runner == nil {
		o := s.options
		o.Agent, o.Sessions, o.Plugins = s.agent, s.sessions, s.plugins
		r, err := runner.New(o)
		require.NoError(s.t, err)
		s.runner = r
		s.t.Cleanup(func() { _ = s.close() })
	}
	return s.runner
}

func (s *scene) close() error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return s.start().Close(ctx)
}

// run runs a text and returns what was yielded, in the form of line, and the error.
func (s *scene) run(text string) (yielded []string, err error) {
	return s.runCtx(ctx, text)
}

func (s *scene) runCtx(ctx context.Context, text string) (yielded []string, err error) {
	for e, err := range s.start().Run(ctx, key, session.Message(text), s.cfg) {
		if err != nil {
			return yielded, err
		}
		yielded = append(yielded, line(e))
	}
	return yielded, nil
}

// log returns the session's log in the form of line.
func (s *scene) log() []string {
	var list []string
	for _, e := range s.events(session.Selection{}) {
		list = append(list, line(e))
	}
	return list
}

func (s *scene) events(sel session.Selection) []*session.Event {
	var list []*session.Event
	for e, err := range s.sessions.Read(ctx, key, sel) {
		require.NoError(s.t, err)
		list = append(list, e)
	}
	return list
}

// line is an event as "author: text", "=" before a partial one's text.
func line(e *session.Event) string {
	text := e.Text()
	if e.Partial {
		text = "=" + text
	}
	for _, p := range parts(e) {
		if p.FunctionCall != nil {
			text += "call " + p.FunctionCall.ID
		}
		if p.FunctionResponse != nil {
			text += "response " + p.FunctionResponse.ID
		}
	}
	return e.Author + ": " + text
}

func parts(e *session.Event) []*genai.Part {
	if e.Content == nil {
		return nil
	}
	return e.Content.Parts
}

// on returns a plugin whose OnEvent answers to events with this text, and to no others.
func on(name, text string, answer func(e *session.Event) plugin.Outcome) *plugin.Plugin {
	return &plugin.Plugin{
		Name: name,
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Text() != text {
				return plugin.Outcome{}, nil
			}
			return answer(e), nil
		},
	}
}

func emit(texts ...string) plugin.Outcome {
	var out plugin.Outcome
	for _, text := range texts {
		out.Emit = append(out.Emit, session.Reply(text))
	}
	return out
}

func with(e *session.Event, text string) *session.Event {
	c := e.Clone()
	c.Content.Parts[0].Text = text
	return c
}

// spy returns a plugin that notes what OnEvent sees in the form of line.
func spy(name string, seen *[]string) *plugin.Plugin {
	return &plugin.Plugin{
		Name:     name,
		Partials: true,
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			*seen = append(*seen, line(e))
			return plugin.Outcome{}, nil
		},
	}
}

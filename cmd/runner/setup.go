package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/printer"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/hooks/coding"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/runner/hooklog"
	"github.com/plughook/plughook/server/client"
	"github.com/plughook/plughook/session"
	"github.com/spf13/pflag"
)

// setup is what runs the agent, here or on a server, and the session that the flags name.
type setup struct {
	runner interface {
		Run(ctx context.Context, key session.Key, input *session.Event, cfg session.RunConfig) iter.Seq2[*session.Event, error]
	}
	sessions interface {
		session.Reader
		List(ctx context.Context, app, user string) iter.Seq2[*session.Session, error]
	}
	key      session.Key
	inMemory bool // the session ends with the program

	local *local // what runs in this process; nil if a server runs the agent
	// waits says that a run waits for its server; what runs in this process says itself what it waits for.
	waits func() (done func())
	close func() error
}

// local is a configuration at work in this process.
type local struct {
	runner *runner.Runner
	*config.Opened
	calls *hooklog.Log // nil unless the program keeps hook calls
}

// setUpServer returns what runs the agent of a server.
func (p *program) setUpServer(url string) (*setup, error) {
	o := client.Options{Token: os.Getenv(tokenVariable), Header: http.Header{}}
	if o.Token != "" && p.User != "" {
		return nil, exit.Usage.Errorf("the token in %s says who you are: leave out --user", tokenVariable)
	}
	for _, text := range p.headers {
		name, value, ok := strings.Cut(text, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, exit.Usage.Errorf("--header %q is no header, such as \"X-User: ada\"", name)
		}
		o.Header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	c, err := client.New(url, o)
	if err != nil {
		return nil, exit.Usage.Errorf("--server: %w", err)
	}
	s := &setup{
		runner:   c,
		sessions: c,
		key:      session.Key{App: p.App, User: cmp.Or(p.User, "user"), ID: p.Session},
		waits:    func() func() { return p.Waiting.Begin("the server") },
		close: func() error {
			c.Close()
			return nil
		},
	}
	switch {
	case p.StoreName != "" || p.ConfigFile != "":
		return nil, exit.Usage.Errorf("--server has its own configuration and store: leave out --config and --store")
	case s.key.App == "":
		return nil, exit.Usage.Errorf("which app of the server? Name it with --app; %s/v1/apps lists them", url)
	case s.key.ID == "":
		s.key.ID = session.NewID()
		p.Note("session %s", s.key.ID)
	}
	return s, exit.Usage.As(s.key.Check(false))
}

// noSession is the session of a command that has none of its own.
const noSession = "-"

// tokenVariable is the environment variable with the token for --server.
const tokenVariable = "RUNNER_TOKEN"

// serverFlag defines the flag that lets a server run the agent.
func (p *program) serverFlag(f *pflag.FlagSet) {
	f.StringVar(&p.server, "server", "",
		"let the server at this `URL` run the agent; the variable "+tokenVariable+" has the token, if it wants one")
	f.StringArrayVar(&p.headers, "header", nil, "a `\"NAME: VALUE\"` to send to the server with each request; may be repeated")
}

// setUp opens what the configuration names, and makes a Runner of it; or, with --server, a client.
func (p *program) setUp(ctx context.Context, c *config.Config) (*setup, error) {
	if p.server != "" {
		return p.setUpServer(p.server)
	}
	s := &setup{key: p.Key(c), waits: func() func() { return func() {} }}
	fresh := s.key.ID == ""
	if fresh {
		s.key.ID = session.NewID()
	}
	if err := s.key.Check(false); err != nil {
		return nil, exit.Usage.As(err)
	}
	o := config.Options{Log: p.Log, Store: p.StoreName, Waits: p.Waiting.Begin, NoAgent: p.hooksOnly}
	if p.Verbose {
		o.ServerStderr = p.Err
	}
	s.inMemory = strings.HasPrefix(cmp.Or(p.StoreName, c.Store()), "memory")
	opened, err := c.Open(ctx, o)
	if err != nil {
		return nil, configError(c, err)
	}
	if p.hooksOnly {
		opened.Agent = agent.Outside(coding.App, "coding agents")
	}
	of := runner.Options{
		Agent:     opened.Agent,
		Sessions:  opened.Sessions,
		Plugins:   opened.Plugins,
		KeptViews: c.KeptViews(),
	}
	var calls *hooklog.Log
	store, can := opened.Sessions.(session.HookKeeper)
	switch {
	case c.KeepHooks() > 0 && can:
		calls = hooklog.New(hooklog.Options{Store: store, Keep: c.KeepHooks(), Log: p.Log})
	case p.keepsHooks:
		calls = hooklog.New(hooklog.Options{})
	}
	if calls != nil {
		of.Trace = calls.Trace
	}
	r, closeRunner, err := p.NewRunner(ctx, of)
	if err != nil {
		calls.Close(ctx)
		return nil, errors.Join(err, opened.Close(ctx))
	}
	s.runner = r
	s.sessions = opened.Sessions
	s.local = &local{runner: r, Opened: opened, calls: calls}
	s.close = func() error {
		err := closeRunner()
		calls.Close(context.WithoutCancel(ctx))
		return errors.Join(err, exit.OfConfig(opened.Close(ctx)))
	}
	switch {
	case fresh:
		p.Note("session %s", s.key.ID)
	case s.inMemory && p.Session != noSession:
		p.Note("no store is set, so nothing of session %s is kept; --store sqlite:FILE keeps it", s.key.ID)
	}
	return s, nil
}

// finish closes everything at the end of a command, and adds what goes wrong to its error.
func (s *setup) finish(err *error) {
	if closed := s.close(); closed != nil {
		*err = errors.Join(*err, closed)
	}
}

const noAgent = `no agent is configured, so nobody would answer. Put one into %s:

    agent:
      model: gemini:gemini-2.5-flash   # with GEMINI_API_KEY set; openai:NAME and script:FILE are others
      instruction: Answer in one sentence.

or see "runner demo", which brings its own`

// configError gives an error of package config its exit code, and says how to write an agent if
// there is none.
func configError(c *config.Config, err error) error {
	if errors.Is(err, config.ErrNoAgent) {
		return exit.Usage.Errorf(noAgent, cmp.Or(c.Name(),
			config.DefaultName+" (or another file, named with --config)"))
	}
	return exit.OfConfig(err)
}

// waiting returns the calls that wait for an answer from outside: not one that an agent answers,
// once a call in their conversation has its own.
func (s *setup) waiting(ctx context.Context) ([]session.Call, error) {
	live, err := s.live(ctx)
	if err != nil {
		return nil, err
	}
	calls := slices.DeleteFunc(session.Calls(live), func(c session.Call) bool { return !c.Waits() })
	var list []session.Call
	for _, c := range calls {
		if held(c) || !slices.ContainsFunc(calls,
			func(other session.Call) bool { return c.Conversation(other.Event.Branch) }) {
			list = append(list, c)
		}
	}
	return list, nil
}

// live returns the session's events that count, none if the session is not there.
func (s *setup) live(ctx context.Context) ([]*session.Event, error) {
	live, err := session.ReadAll(ctx, s.sessions, s.key, session.Selection{Live: true})
	if err != nil && !errors.Is(err, session.ErrNotFound) {
		return nil, exit.Store.As(err)
	}
	return live, nil
}

// hasFailed reports whether a workflow of the session has failed, and can go on.
func (s *setup) hasFailed(ctx context.Context) bool {
	live, err := s.live(ctx)
	return err == nil && slices.ContainsFunc(session.NewWorkflowRuns(live).Workflows(), (*session.WorkflowRun).Failed)
}

// asks reports whether the call is the question of a workflow's node.
func asks(c session.Call) bool { return c.Name == session.AskTool && !held(c) }

// question says what a call waits for.
func question(c session.Call) string {
	if message, ok := c.Args["message"].(string); ok && asks(c) {
		who := c.Event.Author
		if n := c.Event.NodeInfo; n != nil && n.Path != "" {
			who = printer.NodeName(n.Path)
		}
		if until, ok := c.Args["deadline"].(string); ok {
			message += " (until " + until + ")"
		}
		return who + " asks: " + message
	}
	what := fmt.Sprintf("%s: %s %s", c.Event.Author, c.Name, eventtext.Object(c.Args))
	if held(c) {
		what += eventtext.Because(c.Held.Actions.RequestedToolConfirmations[c.ID].Hint)
	} else if _, latest := c.Latest(); latest != nil {
		what += "; so far " + eventtext.Object(latest.Response)
	}
	return what
}

// held reports whether the call waits for a human's yes or no, rather than for its response.
func held(c session.Call) bool { return c.Held != nil && c.Decision == nil }

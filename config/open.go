package config

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// Options say how a configuration is opened. The zero Options open all that the file names.
type Options struct {
	// Log gets the records of plugins; nil discards them. The guardrail and the compaction log what
	// they do at debug level, since their events say it too. Which policy is in force is logged at info level.
	Log *slog.Logger
	// Store is used in place of the file's store:, if it is not empty. OpenStore says what it can be.
	Store string
	// Stores open further kinds of stores, such as your own, by their schemes: with a function for the key "redis",
	// the file can say "store: redis://host/0". The function gets that text. If create is false, it returns an
	// fs.ErrNotExist where the store does not exist. Its errors should not repeat a password.
	Stores map[string]func(ctx context.Context, where string, create bool) (session.Service, error)
	// Sessions is used in place of a store, if it is not nil. Close leaves it open.
	Sessions session.Service
	// NoAgent leaves out the agent, its models, tools and servers.
	NoAgent bool
	// ServerStderr gets what servers that are commands write to standard error; nil discards it.
	ServerStderr io.Writer
	// Waits is told what a run waits for, such as "model fast", "tool get_weather" or "plugin words", when that call
	// begins, and calls done when it has ended. Calls may run at the same time. nil tells nobody.
	Waits func(what string) (done func())
	// Tool returns what is executed in place of each tool of the file and of its servers, once a human has agreed to
	// the call where that is asked for; nil changes none.
	Tool func(*tool.Tool) *tool.Tool
	// Model answers in place of every model that agents of the file ask, which are not opened then; nil opens them.
	Model model.Model
}

func (o *Options) log() *slog.Logger {
	if o.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Log
}

// Opened is what a configuration names, opened: everything that a Runner needs.
type Opened struct {
	Agent     agent.Agent // nil with Options.NoAgent
	Plugins   []*plugin.Plugin
	Sessions  session.Service
	Artifacts artifact.Service // nil if the file names no store of artifacts

	close closers
}

// Open opens what the configuration names: the stores, the plugins, and the agent with its models,
// tools and servers. Processes of plugins and servers are started, and the keys that they need must
// be in the environment. If something fails, what was opened is closed again. Errors about the file
// have its name, a line and a column; an Error
// says what else failed.
//
// The caller closes the Opened, after the Runner that is made of them.
func (c *Config) Open(ctx context.Context, o Options) (*Opened, error) {
	p := &Opened{}
	err := c.open(ctx, o, p)
	if err != nil {
		return nil, errors.Join(err, p.Close(ctx))
	}
	return p, nil
}

func (c *Config) open(ctx context.Context, o Options, p *Opened) error {
	artifacts, closeArtifacts, err := c.OpenArtifacts()
	if err != nil {
		return err
	}
	p.close = append(p.close, closeArtifacts)

	p.Sessions = o.Sessions
	if p.Sessions == nil {
		p.Sessions, err = c.OpenStore(ctx, o, true)
		if err != nil {
			return err
		}
		p.close = append(p.close, func() error { return failed(storeFailed, p.Sessions.Close()) })
	}

	if artifacts != nil { // what is saved while its session is deleted is not left behind
		artifacts = artifact.Bind(artifacts, p.Sessions)
	}
	p.Artifacts = artifacts

	plugins, err := c.file.plugins(ctx, dependencies{
		log:       o.log(),
		artifacts: artifacts,
		sessions:  p.Sessions,
	})
	if err != nil {
		return err
	}
	p.Plugins = waits(o.Waits).plugins(closingOnce(plugins))
	if o.NoAgent {
		return nil
	}

	b := newBuilder(ctx, c.file, p.Sessions)
	b.artifacts = artifacts
	b.stderr = o.ServerStderr
	b.waits = o.Waits
	b.changeTool = o.Tool
	b.onlyModel = o.Model
	p.Agent, err = b.agent()
	p.close = append(p.close, b.close...)
	return err
}

// Close closes the plugins, the servers and the stores. A Runner closes its plugins itself: then
// Close, which comes after Runner.Close, does not close them again. The context bounds how long
// plugins may take.
func (p *Opened) Close(ctx context.Context) error {
	var errs []error
	errs = append(errs, failed(pluginFailed, closePlugins(ctx, p.Plugins)))
	for _, f := range slices.Backward(p.close) {
		errs = append(errs, f())
	}
	p.close = nil
	return errors.Join(errs...)
}

// closers close what was opened. They are in the order of opening.
type closers []func() error

// closingOnce returns plugins of which each is closed once, whoever closes it first: a Runner, or
// Opened.Close.
func closingOnce(plugins []*plugin.Plugin) []*plugin.Plugin {
	list := make([]*plugin.Plugin, len(plugins))
	for i, p := range plugins {
		once := *p
		if p.Close != nil {
			var closed atomic.Bool
			once.Close = func(ctx context.Context) error {
				if closed.Swap(true) {
					return nil
				}
				return p.Close(ctx)
			}
		}
		list[i] = &once
	}
	return list
}

// closePlugins closes plugins that no Runner has.
func closePlugins(ctx context.Context, plugins []*plugin.Plugin) error {
	var errs []error
	for _, p := range plugins {
		if p.Close != nil {
			errs = append(errs, p.Close(ctx))
		}
	}
	return errors.Join(errs...)
}

// CheckAgent makes the agent, its models and tools as far as that needs neither a key nor a server,
// and returns what is wrong with them. Nothing stays open.
func (c *Config) CheckAgent(ctx context.Context) error {
	b := newBuilder(ctx, c.file, nil)
	b.dry = true
	_, err := b.agent()
	return err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/replay"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/earlyexit"
	"github.com/plughook/plughook/plugins/logger"
	"github.com/plughook/plughook/session"
)

// A kind is a key that a plugin's configuration can have, and what makes the plugin of it.
type kind struct {
	name string
	is   func(*pluginConfig) bool
	make func(*pluginConfig, *slog.Logger) (*plugin.Plugin, error)
}

var kinds = []kind{
	{"logger", func(c *pluginConfig) bool { return c.Logger != nil }, func(c *pluginConfig, log *slog.Logger) (*plugin.Plugin, error) {
		mine := *c.Logger
		mine.Log = log
		return logger.New(mine)
	}},
	{"earlyexit", func(c *pluginConfig) bool { return c.EarlyExit != nil }, func(c *pluginConfig, _ *slog.Logger) (*plugin.Plugin, error) {
		return earlyexit.New(*c.EarlyExit)
	}},
}

func kindNames() []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// kinds returns the kinds that the plugin's configuration names: one, if it is right.
func (c *pluginConfig) kinds() []kind {
	var list []kind
	for _, k := range kinds {
		if k.is(c) {
			list = append(list, k)
		}
	}
	return list
}

// plugins makes the plugins of a configuration that was checked.
func (c *config) plugins(ctx context.Context, log *slog.Logger) ([]*plugin.Plugin, error) {
	var list []*plugin.Plugin
	var errs []error
	for i := range c.Plugins {
		pc, path := &c.Plugins[i], fmt.Sprintf("plugins[%d]", i)
		k := pc.kinds()[0]
		p, err := k.make(pc, log)
		if err == nil {
			named := *p
			named.Name = pc.Name
			p = &named
			list = append(list, p)
			if invalid := plugin.Validate(p); invalid != nil {
				_, why, _ := strings.Cut(invalid.Error(), "): ") // it counts from the one it was given
				errs = append(errs, c.source.errorf(path+".name", "plugin %q: %s", p.Name, why))
				continue
			}
		}
		if err != nil {
			errs = append(errs, c.source.errorf(path+"."+k.name, "%w", err))
			continue
		}
		if pc.Timeout > 0 {
			p = plugin.Timeout(p, pc.Timeout)
		}
		if pc.OnError == "open" {
			p = plugin.FailOpen(p)
		}
		list[len(list)-1] = p
	}
	if len(errs) > 0 {
		return nil, exitUsage.as(errors.Join(append(errs, closePlugins(ctx, list))...))
	}
	return list, nil
}

const noAgent = `no agent is configured, so nobody would answer. Put one into %s:

    agent:
      replay: conversation.jsonl   # a session file, as "runner session export" writes it

or see "runner demo", which brings its own`

// agent makes the agent of a configuration.
func (c *config) agent() (agent.Agent, error) {
	if c.Agent == nil {
		name := c.source.name
		if name == "" {
			name = defaultConfig + " (or another file, named with --config)"
		}
		return nil, exitUsage.errorf(noAgent, name)
	}
	a, err := replayAgent(c.path(c.Agent.Replay))
	if err != nil {
		return nil, exitUsage.as(c.source.errorf("agent.replay", "%w", err))
	}
	return a, nil
}

// replayAgent returns an agent that plays a file with one session.
func replayAgent(name string) (agent.Agent, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var only *session.Recording
	for rec, err := range session.ReadRecordings(name, f) {
		if err != nil {
			return nil, err
		}
		if only != nil {
			return nil, fmt.Errorf("%s has several sessions, and the agent plays one: write it into a file of its own", name)
		}
		only = rec
	}
	if only == nil {
		return nil, fmt.Errorf("%s has no session", name)
	}
	return replay.NewScript("agent", only)
}

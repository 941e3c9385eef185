package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/replay"
	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/audit"
	"github.com/plughook/plughook/plugins/budget"
	"github.com/plughook/plughook/plugins/earlyexit"
	"github.com/plughook/plughook/plugins/logger"
	"github.com/plughook/plughook/plugins/retry"
	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/plugins/uploads"
	"github.com/plughook/plughook/session"
)

// A kind is a key that a plugin's configuration can have, and what makes the plugin of it.
type kind struct {
	name string
	is   func(*pluginConfig) bool
	make func(*pluginConfig, lent) (*plugin.Plugin, error)
}

// lent is what plugins get beyond their configuration.
type lent struct {
	log       *slog.Logger
	artifacts artifact.Service                  // nil if there is none
	sessions  session.Service                   // that runs are in; nil where nothing is run
	path      func(string) string               // of the configuration, as one of this process
	model     func(string) (model.Model, error) // that the configuration names so
	dry       bool                              // no process is started, no key needed: a plugin that is a process is left out
}

var kinds = []kind{
	{"logger", func(c *pluginConfig) bool { return c.Logger != nil }, func(c *pluginConfig, l lent) (*plugin.Plugin, error) {
		mine := *c.Logger
		mine.Log = l.log
		return logger.New(mine)
	}},
	{"earlyexit", func(c *pluginConfig) bool { return c.EarlyExit != nil }, func(c *pluginConfig, _ lent) (*plugin.Plugin, error) {
		return earlyexit.New(*c.EarlyExit)
	}},
	{"retry", func(c *pluginConfig) bool { return c.Retry != nil }, func(c *pluginConfig, _ lent) (*plugin.Plugin, error) {
		return retry.New(*c.Retry)
	}},
	{"rewind", func(c *pluginConfig) bool { return c.Rewind != nil }, func(_ *pluginConfig, l lent) (*plugin.Plugin, error) {
		return rewind.Over(l.sessions), nil
	}},
	{"compaction", func(c *pluginConfig) bool { return c.Compaction != nil }, func(c *pluginConfig, l lent) (*plugin.Plugin, error) {
		return c.Compaction.plugin(l)
	}},
	{"uploads", func(c *pluginConfig) bool { return c.Uploads != nil }, func(c *pluginConfig, l lent) (*plugin.Plugin, error) {
		if l.artifacts == nil {
			return nil, errors.New("uploads needs a place to save to: say artifacts: DIRECTORY at the top of the configuration")
		}
		mine := *c.Uploads
		mine.Artifacts = l.artifacts
		return uploads.New(mine)
	}},
	{"budget", func(c *pluginConfig) bool { return c.Budget != nil }, func(c *pluginConfig, _ lent) (*plugin.Plugin, error) {
		own := *c.Budget
		own.Name = c.Name // with which the keys of its counts begin
		return budget.New(own)
	}},
	{"guardrail", func(c *pluginConfig) bool { return c.Guardrail != nil }, guarding},
	{"audit", func(c *pluginConfig) bool { return c.Audit != nil }, func(c *pluginConfig, l lent) (*plugin.Plugin, error) {
		mine := *c.Audit
		if mine.Path != "" {
			mine.Path = l.path(mine.Path)
		}
		if mine.KeyFile != "" {
			mine.KeyFile = l.path(mine.KeyFile)
		}
		return audit.New(mine)
	}},
	{processKind, func(c *pluginConfig) bool { return c.Command != nil }, nil}, // config.process and config.start make it
	{attachKind, (*pluginConfig).attached, nil},
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

const noAgent = `no agent is configured, so nobody would answer. Put one into %s:

    agent:
      model: gemini:gemini-2.5-flash   # with GEMINI_API_KEY set; openai:NAME and script:FILE are others
      instruction: Answer in one sentence.

or see "runner demo", which brings its own`

// replayAgent returns an agent that plays a file with one session.
func replayAgent(ctx context.Context, name, file string) (agent.Agent, error) {
	f, err := openFile(ctx, file)
	if err != nil {
		return nil, err
	}
	defer f.close() // it was only read
	var only *session.Recording
	for rec, err := range session.ReadRecordings(file, f) {
		if err != nil {
			return nil, err
		}
		if only != nil {
			return nil, fmt.Errorf("%s has several sessions, and the agent plays one: write it into a file of its own", file)
		}
		only = rec
	}
	if only == nil {
		return nil, fmt.Errorf("%s has no session", file)
	}
	return replay.NewScript(name, only)
}

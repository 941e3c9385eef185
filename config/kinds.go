package config

import (
	"errors"
	"log/slog"
	"reflect"
	"slices"

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
	"github.com/plughook/plughook/prices"
	"github.com/plughook/plughook/session"
)

// A kind is a key that a plugin's configuration can have, and what makes the plugin of it.
type kind struct {
	name string
	make func(*pluginConfig, dependencies) (*plugin.Plugin, error) // nil for processes, see file.start
}

// dependencies are what plugins need beyond their configuration.
type dependencies struct {
	log       *slog.Logger
	artifacts artifact.Service                  // nil if there is none
	sessions  session.Service                   // that runs are in; nil where nothing is run
	path      func(string) string               // turns a path of the configuration into one of this process
	prices    func() *prices.Table              // what models cost
	model     func(string) (model.Model, error) // opens a model by its name in the configuration
	price     func(string) (prices.Price, bool) // what a model costs in USD, by its name
	agent     string                            // the name of the configuration's agent
	audit     *audit.Config                     // of the first plugin audit, nil without one
	// dry starts no process and needs no key. A plugin that is a process is left out.
	dry bool
}

// The kinds of plugins in a process of their own: one that is started here, and one that somebody
// else has started.
const (
	processKind = "command"
	attachKind  = "attach"
)

var kinds = []kind{
	{
		name: "logger",
		make: func(c *pluginConfig, d dependencies) (*plugin.Plugin, error) {
			own := *c.Logger
			own.Log = d.log
			return logger.New(own)
		},
	},
	{
		name: "earlyexit",
		make: func(c *pluginConfig, _ dependencies) (*plugin.Plugin, error) { return earlyexit.New(*c.EarlyExit) },
	},
	{
		name: "retry",
		make: func(c *pluginConfig, _ dependencies) (*plugin.Plugin, error) { return retry.New(*c.Retry) },
	},
	{
		name: "rewind",
		make: func(_ *pluginConfig, d dependencies) (*plugin.Plugin, error) { return rewind.New(d.sessions), nil },
	},
	{
		name: "compaction",
		make: func(c *pluginConfig, d dependencies) (*plugin.Plugin, error) { return c.Compaction.plugin(d) },
	},
	{
		name: "uploads",
		make: func(c *pluginConfig, d dependencies) (*plugin.Plugin, error) {
			if d.artifacts == nil {
				return nil, errors.New("uploads needs a place to save to: write artifacts: DIRECTORY at the top of the configuration")
			}
			own := *c.Uploads
			own.Artifacts = d.artifacts
			return uploads.New(own)
		},
	},
	{
		name: "budget",
		make: func(c *pluginConfig, _ dependencies) (*plugin.Plugin, error) {
			own := *c.Budget
			own.Name = c.Name // the keys of its counts begin with it
			return budget.New(own)
		},
	},
	{name: "guardrail", make: newGuardrail},
	{
		name: "audit",
		make: func(c *pluginConfig, d dependencies) (*plugin.Plugin, error) {
			return audit.New(auditConfig(c.Audit, d.path))
		},
	},
	{name: "agenthost", make: newAgenthost},
	{name: processKind},
	{name: attachKind},
}

// PluginKinds returns the kinds of plugins that a configuration can have, which are their keys.
func (c *Config) PluginKinds() []string { return pluginKinds() }

func pluginKinds() []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// kinds returns the kinds that the plugin's configuration names: one, if it is right.
func (c *pluginConfig) kinds() []kind {
	return slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool { return !given(c, k.name) })
}

// given reports whether the configuration of a plugin, a model or a node has a key.
func given(config any, key string) bool {
	for field, value := range reflect.ValueOf(config).Elem().Fields() {
		if field.Tag.Get("yaml") == key {
			return !value.IsZero()
		}
	}
	return false
}

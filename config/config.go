package config

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/plughook/plughook/config/internal/lockfile"
	"github.com/plughook/plughook/internal/input"
	"github.com/plughook/plughook/prices"
	"github.com/plughook/plughook/yamlfile"
)

// DefaultName is what a configuration file is called unless a program names another one.
const DefaultName = lockfile.DefaultConfig

const maxBytes = 1 << 20 // of a configuration

// A Config is a configuration that was read and checked as far as that is possible without looking
// at anything else: its form, its names and what they refer to. It is safe for concurrent use.
type Config struct{ file *file }

// Load reads the configuration in a file. An error names file, line and column, and there is one
// line for each. It opens nothing that the file names. The file must not have more than 1 MiB. A file that is not
// there is an fs.ErrNotExist.
func Load(ctx context.Context, name string) (*Config, error) {
	data, err := input.ReadFile(ctx, name, maxBytes)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return Parse(name, data)
}

// Parse is Load for a file's content. The name is for errors, and its directory is where the paths
// in the file begin. An empty configuration is one without an agent and without plugins.
func Parse(name string, data []byte) (*Config, error) {
	f, err := parse(name, data)
	if err != nil {
		return nil, err
	}
	return &Config{file: f}, nil
}

// Name returns the name that the configuration was loaded by.
func (c *Config) Name() string { return c.file.source.Name() }

// App returns the app that sessions belong to, "" if the file does not say.
func (c *Config) App() string { return c.file.App }

// KeepHooks returns how long the store is to keep hook calls, 0 if it is to keep none.
func (c *Config) KeepHooks() time.Duration { return c.file.KeepHooks }

// KeptViews returns what runner.Options.KeptViews is to be, 0 if the file does not say.
func (c *Config) KeptViews() int64 { return int64(c.file.KeptViews) }

// Hooks say how hooks of coding agents are answered: the section hooks.
type Hooks struct {
	Serve   bool   `yaml:"serve" json:"serve,omitempty" jsonschema:"runner serve answers hooks, too, at the socket where they look for a server; with --hooks=FILE at another one"`
	Unknown string `yaml:"unknown" json:"unknown,omitempty" jsonschema:"what becomes of a tool call that comes with an event which nobody knows: deny (the default) or allow"`
}

// Hooks returns the section hooks.
func (c *Config) Hooks() Hooks { return c.file.Hooks }

// Prices returns what models cost: prices.Default, with the prices of the file in front of it.
func (c *Config) Prices() *prices.Table { return c.file.prices() }

func (c *file) prices() *prices.Table { return prices.Default().With(c.Prices) }

// file is what a configuration file says. Its tags are the file's keys and their documentation.
type file struct {
	App       string         `yaml:"app" json:"app,omitempty" jsonschema:"app that sessions belong to; --app overrides it"`
	Store     string         `yaml:"store" json:"store,omitempty" jsonschema:"where sessions are kept: memory:, sqlite:FILE or postgres://…; --store overrides it"`
	Artifacts string         `yaml:"artifacts" json:"artifacts,omitempty" jsonschema:"where files that tools and users save are kept: a directory, or memory; they are not kept if empty"`
	Models    []modelConfig  `yaml:"models" json:"models,omitempty" jsonschema:"models that agents name; a model without settings needs no entry"`
	Tools     []toolConfig   `yaml:"tools" json:"tools,omitempty" jsonschema:"commands that agents can call; each call is a process of its own"`
	MCP       []mcpConfig    `yaml:"mcp" json:"mcp,omitempty" jsonschema:"servers of the Model Context Protocol, whose tools agents can call"`
	Agent     *agentConfig   `yaml:"agent" json:"agent,omitempty" jsonschema:"the agent that answers"`
	Plugins   []pluginConfig `yaml:"plugins" json:"plugins,omitempty" jsonschema:"the plugins in the order in which they see an event"`

	Prices    *prices.Table `yaml:"prices" json:"prices,omitempty" jsonschema:"what models cost, where Plughook does not know it or you pay another price; runner session stats, compaction and the budget of judges read it"`
	KeepHooks time.Duration `yaml:"keep_hooks" json:"keep_hooks,omitempty" jsonschema:"how long the store keeps what each hook was asked and answered, and how long that took, such as 168h; the page and session show --hooks show it. Not at all if empty"`
	KeptViews size          `yaml:"kept_views" json:"kept_views,omitempty" jsonschema:"how much memory may keep what was read of sessions, so that their next runs read only what is new; 128MiB if empty"`
	Hooks     Hooks         `yaml:"hooks" json:"hooks,omitzero" jsonschema:"coding agents whose hooks are answered with these plugins; see runner hook"`
	Server    *Server       `yaml:"server" json:"server,omitempty" jsonschema:"how runner serve serves it over HTTP"`

	source *yamlfile.File
	errs   []error // of check
}

// parse reads a configuration.
func parse(name string, data []byte) (*file, error) {
	c := &file{}
	var err error
	if c.source, err = yamlfile.Read(name, data, c); err != nil {
		return nil, err
	}
	return c, c.check()
}

// check returns what is wrong with the configuration beyond its form.
func (c *file) check() error {
	bad := func(path, format string, args ...any) {
		c.errs = append(c.errs, c.source.Errorf(path, format, args...))
	}
	if c.Store != "" {
		if _, err := schemeOf(c.Store); err != nil {
			bad("store", "%w", err)
		} else if err := checkBuiltInStore(c.Store); err != nil {
			bad("store", "%w", err)
		}
	}
	c.checkModels(bad)
	c.checkTools(bad)
	c.checkAgents(bad)
	c.checkPlugins(bad)
	if c.Prices != nil {
		c.Prices.Check(func(model string, err error) { bad("prices.models."+model, "%w", err) })
	}
	if u := c.Hooks.Unknown; u != "" && u != "deny" && u != "allow" {
		bad("hooks.unknown", "unknown %q: it is deny or allow", u)
	}
	checkAbove0(c, bad, "keep_hooks", c.KeepHooks)
	c.checkServing(bad)
	return errors.Join(c.errs...)
}

// A complaint reports what is wrong with what stands at a path of the configuration.
type complaint func(path, format string, args ...any)

// names are the names that are taken already, and the positions in the file at which they were given.
type names struct {
	source    *yamlfile.File
	what      string // that has the names
	positions map[string]string
}

func (c *file) names(what string) *names {
	return &names{source: c.source, what: what, positions: map[string]string{}}
}

// take notes that a name is used at a path, and complains if it was used before.
func (n *names) take(bad complaint, path, name string) {
	if first, taken := n.positions[name]; taken {
		bad(path, "another %s, at %s, is named %q too; give one of them another name with name:", n.what,
			first, name)
		return
	}
	n.positions[name] = n.source.At(path)
}

// keysAt returns which of some keys the file has in what stands at a path.
func (c *file) keysAt(path string, keys []string) (list []string) {
	for _, key := range keys {
		if c.source.Has(path + "." + key) {
			list = append(list, key)
		}
	}
	return list
}

// checkAbove0 complains about a number or a duration that is there and not above 0.
func checkAbove0[N int | int32 | int64 | size | time.Duration](c *file, bad complaint, path string, n N) {
	if n <= 0 && c.source.Has(path) {
		bad(path, "%s %v: it must be more than 0", last(path), n)
	}
}

// path returns a path of the configuration as one of this process.
func (c *file) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(c.source.Name()), name)
}

// last is the last key of a path.
func last(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

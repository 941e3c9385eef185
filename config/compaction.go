package config

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/plughook/plughook/internal/debuglog"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/prices"
)

// compactionConfig is the kind compaction: the plugin's own settings, and who writes the summaries.
type compactionConfig struct {
	compaction.Config `yaml:",inline"`

	Model    string       `yaml:"model" json:"model,omitempty" jsonschema:"who writes the summaries: the name of one of models, or KIND:WHAT as in an agent; if empty, they are made without a model, of words and values of the conversation"`
	MaxInput int          `yaml:"max_input" json:"max_input,omitempty" jsonschema:"tokens that one request to the model may have; 32000 if it is not set"`
	Prompt   string       `yaml:"prompt" json:"prompt,omitempty" jsonschema:"the model's system instruction; one that says what to keep if it is not set"`
	Price    prices.Price `yaml:"prices" json:"prices,omitzero" jsonschema:"what the model costs; if not set, what the prices of the configuration say. Each summary says what it has cost"`
}

// modelKeys are keys that only a compaction with a model can have.
var modelKeys = []string{"max_input", "prompt", "prices", "attempts", "timeout"}

func (c *file) checkCompaction(bad complaint, path string, k *compactionConfig) {
	if k.Model == "" {
		for _, key := range c.keysAt(path, modelKeys) {
			bad(path+"."+key, "%s needs a model that writes the summaries; name one with model:", key)
		}
	} else if _, err := c.model(k.Model); err != nil {
		bad(path+".model", "%w", err)
	}
	if k.Clear.Artifacts > 0 && c.Artifacts == "" {
		bad(path+".clear.artifacts", "there is no place to save results to: write artifacts: DIRECTORY at the top of the configuration")
	}

	// In the place of 0 these would have their defaults, as if they were not set.
	atLeastOne := func(key string, n int) { checkAbove0(c, bad, path+"."+key, n) }
	atLeastOne("window", k.Window)
	atLeastOne("budget", k.Budget)
	atLeastOne("trigger", k.Trigger)
	atLeastOne("summary", k.Summary)
	atLeastOne("tail", k.Tail)
	atLeastOne("min_gain", k.MinGain)
	atLeastOne("keep.tokens", k.Keep.Tokens)
	atLeastOne("clear.keep", k.Clear.Keep)
	atLeastOne("clear.min", k.Clear.Min)
	atLeastOne("attempts", k.Attempts)
	atLeastOne("max_input", k.MaxInput)
	checkAbove0(c, bad, path+".timeout", k.Timeout)
	checkAbove0(c, bad, path+".idle", k.Idle)
}

// plugin makes the plugin.
func (k *compactionConfig) plugin(d dependencies) (*plugin.Plugin, error) {
	c, err := k.settings(d)
	if err != nil {
		return nil, err
	}
	return compaction.New(c)
}

// settings returns the plugin's configuration, with the model opened.
func (k *compactionConfig) settings(d dependencies) (compaction.Config, error) {
	c := k.Config
	c.Log = debuglog.New(d.log)
	c.Artifacts = d.artifacts
	if k.Model == "" {
		return c, nil
	}
	m, err := d.model(k.Model)
	if err != nil {
		return c, fmt.Errorf("model %s: %w", k.Model, err)
	}
	c.Summarizer = &compaction.Model{
		Model:    m,
		MaxInput: k.MaxInput,
		Price:    k.Price,
		Prices:   d.prices(),
		Prompt:   k.Prompt,
	}
	return c, nil
}

// summarizes reports whether a plugin asks the model.
func (c *file) summarizes(name string) bool {
	return slices.ContainsFunc(c.Plugins,
		func(p pluginConfig) bool { return p.Compaction != nil && p.Compaction.Model == name })
}

// compacting returns the index of the configured plugin that compacts, -1 if there is none.
func (c *file) compacting() int {
	return slices.IndexFunc(c.Plugins, func(p pluginConfig) bool { return p.Compaction != nil })
}

// Compaction returns the settings of the plugin of the kind compaction, and whether there is one.
// They have no model yet, and no log: see Summarizer.
func (c *Config) Compaction() (compaction.Config, bool) {
	i := c.file.compacting()
	if i < 0 {
		return compaction.Config{}, false
	}
	return c.file.Plugins[i].Compaction.Config, true
}

// Summarizer opens the model that the plugin of the kind compaction asks for summaries. It is nil
// if there is no such plugin, or if it asks no model.
func (c *Config) Summarizer(ctx context.Context) (compaction.Summarizer, error) {
	i := c.file.compacting()
	if i < 0 {
		return nil, nil
	}
	d := dependencies{log: slog.New(slog.DiscardHandler)}
	c.file.complete(ctx, &d)
	settings, err := c.file.Plugins[i].Compaction.settings(d)
	if err != nil {
		return nil, c.file.source.Errorf(pluginPath(i)+".compaction", "%w", err)
	}
	return settings.Summarizer, nil
}

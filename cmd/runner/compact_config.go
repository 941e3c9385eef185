package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/compaction"
)

// compactionConfig is the kind compaction: the plugin's own settings, and who writes the summaries.
type compactionConfig struct {
	compaction.Config `yaml:",inline"`

	Model    string            `yaml:"model" json:"model,omitempty" jsonschema:"who writes the summaries: the name of one of models, or KIND:WHAT as in an agent; if empty they are made of words and values of the conversation, in this process"`
	MaxInput int               `yaml:"max_input" json:"max_input,omitempty" jsonschema:"tokens that one request to the model may have; 32000 if it is not set"`
	Prompt   string            `yaml:"prompt" json:"prompt,omitempty" jsonschema:"the model's system instruction; one that says what to keep if it is not set"`
	Prices   compaction.Prices `yaml:"prices" json:"prices,omitzero" jsonschema:"what the model costs, so that each summary says what it has cost"`
}

// modelKeys are keys that only a compaction with a model can have.
var modelKeys = []string{"max_input", "prompt", "prices", "attempts", "timeout"}

func (c *config) checkCompaction(bad complaint, path string, k *compactionConfig) {
	if k.Model == "" {
		for _, key := range modelKeys {
			if path := path + "." + key; c.source.Has(path) {
				bad(path, "%s is of a model that writes the summaries, and none does: name it with model:", key)
			}
		}
	} else if _, err := c.model(k.Model); err != nil {
		bad(path+".model", "%w", err)
	}
	c.checkDuration(bad, path, "timeout", k.Timeout)
	c.checkDuration(bad, path, "idle", k.Idle)
}

// plugin makes the plugin.
func (k *compactionConfig) plugin(l lent) (*plugin.Plugin, error) {
	c, err := k.settings(l)
	if err != nil {
		return nil, err
	}
	return compaction.New(c)
}

// settings returns the plugin's configuration, with the model opened.
func (k *compactionConfig) settings(l lent) (compaction.Config, error) {
	c := k.Config
	c.Log = lowered(l.log)
	if k.Model == "" {
		return c, nil
	}
	m, err := l.model(k.Model)
	if err != nil {
		return c, fmt.Errorf("model %s: %w", k.Model, err)
	}
	c.Summarizer = &compaction.Model{Model: m, MaxInput: k.MaxInput, Prices: k.Prices, Prompt: k.Prompt}
	return c, nil
}

// openModel opens a model that something other than an agent names; dry opens none that may need a key.
func (c *config) openModel(ctx context.Context, ref string, dry bool) (model.Model, error) {
	m, err := c.model(ref)
	if err != nil {
		return nil, err
	}
	if kind := m.kinds()[0]; !dry || !kind.remote {
		return kind.open(ctx, c, m)
	}
	return notOpened{}, nil
}

// summarizes reports whether a plugin asks the model.
func (c *config) summarizes(name string) bool {
	return slices.ContainsFunc(c.Plugins, func(p pluginConfig) bool { return p.Compaction != nil && p.Compaction.Model == name })
}

// compacting returns the settings of the configured plugin that compacts, and its index: the defaults and -1 if there
// is none. No model is asked with them.
func (c *config) compacting() (compaction.Config, int) {
	i := slices.IndexFunc(c.Plugins, func(p pluginConfig) bool { return p.Compaction != nil })
	if i < 0 {
		return compaction.Config{}, i
	}
	return c.Plugins[i].Compaction.Config, i
}

// uncheckedSummaries names the plugins that may check what is said, and stand where no summary is offered to them.
func (c *config) uncheckedSummaries() (advice []string) {
	_, at := c.compacting()
	for i := range max(at, 0) {
		switch kind := c.Plugins[i].kinds()[0].name; kind {
		case "logger", "audit", "rewind", "retry", "uploads":
		default:
			advice = append(advice, fmt.Sprintf("plugin %q stands before %q and is not offered its summaries; put it after, if it checks what is said", c.Plugins[i].Name, c.Plugins[at].Name))
		}
	}
	return advice
}

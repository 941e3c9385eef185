package config

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// newGuardrail makes the plugin of the kind guardrail.
func newGuardrail(pc *pluginConfig, d dependencies) (*plugin.Plugin, error) {
	c := *pc.Guardrail
	c.Name = pc.Name // the keys of its state begin with it
	c.Log = d.log
	c.Level = slog.LevelDebug // decisions are on the events, too
	c.File = policyName(c.File, d.path)
	if c.Decisions != "" {
		c.Decisions = d.path(c.Decisions)
	}
	if c.KeyEnv != "" && d.dry { // nothing is judged, so any key will do
		c.Key = bytes.Repeat([]byte{1}, 32)
	}
	c.Price = d.price
	c.Models = func(name string) (model.Model, error) {
		m, err := d.model(name)
		if err != nil {
			return nil, fmt.Errorf("model %s: %w", name, err)
		}
		return m, nil
	}
	if !d.dry || c.File == "" {
		return guardrail.New(c)
	}
	pol, err := guardrail.Load(context.Background(), c.File)
	if err != nil {
		return nil, err
	}
	if c.PublicKey != "" {
		if err := pol.CheckSignature(c.PublicKey); err != nil {
			return nil, err
		}
	}
	for _, name := range pol.Models() {
		if _, err := c.Models(name); err != nil {
			return nil, fmt.Errorf("guardrail: %s: %w", pol.Name(), err)
		}
	}
	if err := pol.CheckPrices(c.Price); err != nil {
		return nil, fmt.Errorf("guardrail: %w", err)
	}
	// No judge is asked here, so none needs its key: leave them out.
	c.Policy = pol.Local()
	c.PublicKey = ""
	c.File = ""
	c.Reload = false
	c.Decisions = "" // nothing is decided
	return guardrail.New(c)
}

// policyName returns where a guardrail's policy is: an address, or a file, whose path counts from the
// configuration's directory.
func policyName(name string, path func(string) string) string {
	if name == "" || strings.Contains(name, "://") {
		return name
	}
	return path(name)
}

// vaultKey names the environment variable with the key of the guardrail's vault, "" if there is
// none.
func (c *file) vaultKey() string {
	for _, p := range c.Plugins {
		if p.Guardrail != nil && p.Guardrail.KeyEnv != "" {
			return p.Guardrail.KeyEnv
		}
	}
	return ""
}

// policies yields the policies that guardrails of the configuration read from files. One that
// cannot be read is left out: making the plugin says so.
func (c *file) policies(yield func(*policy.Policy) bool) {
	for _, p := range c.Plugins {
		if p.Guardrail == nil || p.Guardrail.File == "" {
			continue
		}
		pol, err := guardrail.Load(context.Background(), policyName(p.Guardrail.File, c.path))
		if err == nil && !yield(pol) {
			return
		}
	}
}

// judges reports whether a guardrail asks the model.
func (c *file) judges(name string) bool {
	for pol := range c.policies {
		if slices.Contains(pol.Models(), name) {
			return true
		}
	}
	return false
}

package main

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
)

// guarding makes the plugin of the kind guardrail. Its decisions are on the events, so their records are for -v.
func guarding(pc *pluginConfig, l lent) (*plugin.Plugin, error) {
	c := *pc.Guardrail
	c.Log = lowered(l.log)
	if c.File != "" {
		c.File = l.path(c.File)
	}
	if c.KeyEnv != "" && l.dry { // nothing is judged, so any key will do
		c.Key = bytes.Repeat([]byte{1}, 32)
	}
	return guardrail.New(c)
}

// unguarded names plugins that say something which no guardrail is offered, and those that are offered what one is yet
// to take out.
func (c *config) unguarded() (advice []string) {
	first := slices.IndexFunc(c.Plugins, func(p pluginConfig) bool { return p.Guardrail != nil })
	if first < 0 {
		return nil
	}
	guard := c.Plugins[first].Name
	for i := range c.Plugins {
		p := &c.Plugins[i]
		switch {
		case i < first && (p.Audit != nil || p.Uploads != nil):
			advice = append(advice, fmt.Sprintf("plugin %q stands before %q and keeps what that has not looked at yet; put it after", p.Name, guard))
		case i > first && p.EarlyExit != nil:
			advice = append(advice, fmt.Sprintf("plugin %q stands after %q, which is not offered its answers; put it before", p.Name, guard))
		}
	}
	return advice
}

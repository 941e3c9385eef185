package config

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/yamlfile"
)

// A Report is what Check finds in a configuration that can be opened.
type Report struct {
	// Warnings say what is allowed and probably not meant.
	Warnings []string
	// NotStarted names the plugins that are processes. Their settings are checked when they start.
	NotStarted []string
	// Needs names the environment variables that must be set when the configuration is opened;
	// those that are not say so.
	Needs []string
	// NotForCallers are the state keys that callers of a server may not write, since the agent or a plugin reads
	// them, without parts of others; "*" is every key. The section server.state says otherwise.
	NotForCallers []string
}

// Check makes everything that the configuration names as far as that is possible without a key, a
// network, a store and a process: the agents, their tools, the files of models and policies, the
// plugins. Files of plugins that are processes are compared with their digests. Nothing stays open.
// Of the options only Log and Stores count.
func (c *Config) Check(ctx context.Context, o Options) (*Report, error) {
	if err := c.checkStore(o); err != nil {
		return nil, err
	}
	plugins, err := c.file.plugins(ctx, dependencies{
		log:       o.log(),
		artifacts: c.file.dryArtifacts(),
		dry:       true,
	})
	b := newBuilder(ctx, c.file, nil)
	b.dry = true
	b.artifacts = c.file.dryArtifacts()
	var a agent.Agent
	if b.Agent != nil {
		var bad error
		a, bad = b.agent()
		err = errors.Join(bad, err)
	}
	if err != nil {
		return nil, errors.Join(err, closePlugins(ctx, plugins))
	}
	r := &Report{Needs: b.needs(), NotForCallers: c.notForCallers(plugins)}
	r.Warnings = slices.Concat(plugin.Warnings(plugins...), c.file.uncheckedSummaries(), c.file.deafTriggers(), c.file.unreadable(), c.file.unguarded(), c.file.refunded(), c.file.unknownTools(), c.file.pinWarnings(a))
	if o.Stores["sqlite"] == nil {
		r.Warnings = append(r.Warnings, c.noPlace()...)
	}
	if b.Agent == nil {
		r.Warnings = append(r.Warnings, "no agent is configured, so nobody answers in run and chat")
	} else {
		for _, name := range b.unused() {
			r.Warnings = append(r.Warnings, "no agent uses "+name)
		}
	}
	for i := range c.file.Plugins {
		if c.file.Plugins[i].process() {
			r.NotStarted = append(r.NotStarted, c.file.Plugins[i].Name)
		}
	}
	return r, failed(pluginFailed, closePlugins(ctx, plugins))
}

// needs lists what must be in the environment when the configuration that was built runs: the keys
// of the models that something asks, of the guardrails, the headers of the servers that agents use, and the
// tokens for agents that run elsewhere. What is not set says so.
func (b *builder) needs() (list []string) {
	add := func(variables ...string) {
		what := strings.Join(variables, " or ")
		if !slices.ContainsFunc(variables, func(name string) bool { return os.Getenv(name) != "" }) {
			what += " (not set)"
		}
		if variables != nil && !slices.Contains(list, what) {
			list = append(list, what)
		}
	}
	models := slices.Sorted(maps.Keys(b.models))
	for _, p := range b.Plugins {
		if p.Compaction != nil && p.Compaction.Model != "" {
			models = append(models, p.Compaction.Model)
		}
	}
	for pol := range b.policies {
		models = append(models, pol.Models()...)
	}
	for _, ref := range models {
		if m, err := b.file.model(ref); err == nil {
			add(m.keys()...)
		}
	}
	for _, variable := range b.tokens {
		add(variable)
	}
	for _, p := range b.Plugins {
		if p.Guardrail != nil && p.Guardrail.KeyEnv != "" {
			add(p.Guardrail.KeyEnv)
		}
		if p.Agenthost != nil {
			for _, r := range p.Agenthost.Interceptors {
				if r.TokenEnv != "" {
					add(r.TokenEnv)
				}
			}
		}
	}
	for _, m := range b.MCP {
		if b.used[m.Name] {
			for _, header := range slices.Sorted(maps.Keys(m.HeaderEnv)) {
				add(m.HeaderEnv[header])
			}
		}
	}
	return list
}

// uncheckedSummaries warns of plugins that may check texts and stand before the compaction: a plugin is offered only
// the events of plugins before it, so they never see a summary.
func (c *file) uncheckedSummaries() (warnings []string) {
	at := c.compacting()
	for i := range max(at, 0) {
		switch c.Plugins[i].kinds()[0].name {
		case "logger", "audit", "rewind", "retry", "uploads":
		default:
			warnings = append(warnings, fmt.Sprintf("plugin %q stands before %q, so it does not see the summaries; if it checks what is said, put it after",
				c.Plugins[i].Name, c.Plugins[at].Name))
		}
	}
	return warnings
}

// deafTriggers warns of triggers that can never start a compaction with the other settings of the plugin.
func (c *file) deafTriggers() (warnings []string) {
	for i := range c.Plugins {
		if k := c.Plugins[i].Compaction; k != nil {
			warnings = append(warnings, k.Config.Warnings()...)
		}
	}
	return warnings
}

// unreadable warns of results that are cleared where no agent can read them again. The tools of servers
// need not be known: none of them is the recall that reads the log.
func (c *file) unreadable() (warnings []string) {
	if c.Agent == nil || c.Agent.Replay != "" {
		return nil
	}
	if tools, _ := c.toolsOf(c.Agent); slices.Contains(tools, recall) {
		return nil
	}
	for i := range c.Plugins {
		if k := c.Plugins[i].Compaction; k != nil && k.Config.Clear.Trigger > 0 {
			warnings = append(warnings, fmt.Sprintf("plugin %q clears results of tools, and no agent has the tool recall to read them again; put it into tools:", c.Plugins[i].Name))
		}
	}
	return warnings
}

// refunded warns of a budget that stands before a rewind: a rewind then sets the counts of the session back, and users
// get used budget again.
func (c *file) refunded() (warnings []string) {
	rewind := slices.IndexFunc(c.Plugins, func(p pluginConfig) bool { return p.Rewind != nil })
	for i := range c.Plugins {
		p := &c.Plugins[i]
		if p.Budget != nil && i < rewind {
			warnings = append(warnings, fmt.Sprintf("plugin %q stands before %q, so a rewind gives back what its session had used; put it after", p.Name, c.Plugins[rewind].Name))
		}
	}
	return warnings
}

// unguarded warns of plugins whose answers no guardrail sees, and of those that keep what a guardrail has not seen yet.
func (c *file) unguarded() (warnings []string) {
	first := slices.IndexFunc(c.Plugins, func(p pluginConfig) bool { return p.Guardrail != nil })
	if first < 0 {
		return nil
	}
	guard := c.Plugins[first].Name
	for i := range c.Plugins {
		p := &c.Plugins[i]
		switch {
		case i < first && (p.Audit != nil || p.Uploads != nil):
			warnings = append(warnings, fmt.Sprintf("plugin %q stands before %q and keeps what that has not checked yet; put it after", p.Name, guard))
		case i > first && p.EarlyExit != nil:
			warnings = append(warnings, fmt.Sprintf("plugin %q stands after %q, which does not see its answers; put it before", p.Name, guard))
		}
	}
	return warnings
}

// unknownTools warns of tools that policies and compactions name and no agent has. The tools of servers
// and recordings are not known here: if there are some, it is silent.
func (c *file) unknownTools() (warnings []string) {
	if c.Agent == nil {
		return nil
	}
	tools, all := c.toolsOf(c.Agent)
	if !all {
		return nil
	}
	for pol := range c.policies {
		warnings = append(warnings, pol.Advise(tools)...)
	}
	for i := range c.Plugins {
		k := c.Plugins[i].Compaction
		if k == nil {
			continue
		}
		warn := func(key string, names []string) {
			for _, name := range names {
				if !slices.Contains(tools, name) {
					warnings = append(warnings, fmt.Sprintf("plugin %q: %s names %q, and no tool has that name%s",
						c.Plugins[i].Name, key, name, yamlfile.Guess(name, tools)))
				}
			}
		}
		warn("keep.tools", k.Keep.Tools)
		warn("clear.except", k.Clear.Except)
	}
	return warnings
}

// toolsOf returns the names of the functions that an agent and those below it call, and whether
// these are all.
func (c *file) toolsOf(a *agentConfig) (tools []string, all bool) {
	all = a.Replay == ""
	for _, name := range a.Tools {
		tools = append(tools, name)
		command := slices.ContainsFunc(c.Tools, func(t toolConfig) bool { return t.Name == name })
		all = all && (command || name == exitLoop || name == recall)
	}
	for _, name := range a.Workflow.tools() {
		command := slices.ContainsFunc(c.Tools, func(t toolConfig) bool { return t.Name == name })
		all = all && command
		tools = append(tools, name)
	}
	if a.OutputSchema != nil {
		tools = append(tools, "set_model_response") // by which its model gives the answer
	}
	for _, in := range a.inside() {
		below, known := c.toolsOf(in.agent)
		tools = append(tools, below...)
		all = all && known
		if strings.HasPrefix(in.path, "calls[") {
			tools = append(tools, in.agent.Name)
		}
	}
	return append(tools, llm.Transfer), all
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote"
)

// pluginLine is a plugin's line in plugin list. What only the plugin knows is not there if it did not start.
type pluginLine struct {
	Name       string            `json:"name"`
	Kind       string            `json:"kind"`
	Version    string            `json:"version,omitzero"`
	Hooks      []plugin.Hook     `json:"hooks"`
	Filter     *filterLine       `json:"filter,omitzero"`
	Observer   bool              `json:"observer,omitzero"`
	Partials   bool              `json:"partials,omitzero"`
	Background bool              `json:"background,omitzero"`
	OnError    string            `json:"onError"`
	Timeout    string            `json:"timeout,omitzero"`
	Timeouts   map[string]string `json:"timeouts,omitzero"`
	Digest     string            `json:"digest,omitzero"` // of the executable, if it is pinned
	Health     remote.State      `json:"health"`
	Error      string            `json:"error,omitzero"`
	Doc        string            `json:"doc"`
}

// filterLine are the events that OnEvent is called with.
type filterLine struct {
	Authors []string     `json:"authors,omitzero"`
	Has     []plugin.Has `json:"has,omitzero"`
}

// failed is the health of a plugin that did not start.
const failed remote.State = "failed"

func (p *program) listPlugins(ctx context.Context) (err error) {
	c, err := p.loadConfig(ctx)
	if err != nil {
		return err
	}
	all, err := c.open(ctx, lent{log: p.log, artifacts: c.dryArtifacts()})
	if err != nil {
		return err
	}
	defer func() { err = exitPlugin.as(errors.Join(err, closePlugins(ctx, working(all)))) }()
	if len(all) == 0 {
		p.note("no plugins are configured; the kinds are: %s", strings.Join(kindNames(), ", "))
		return nil
	}
	var wrong, failures []error
	for i, o := range all {
		if o.err != nil && !c.Plugins[i].process() {
			wrong = append(wrong, o.err)
		} else if o.err != nil {
			failures = append(failures, o.err)
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return exitUsage.as(err)
	}
	if err := p.printPlugins(c, all); err != nil {
		return err
	}
	for _, advice := range plugin.Advise(working(all)...) {
		p.note("warning: %s", advice)
	}
	if len(failures) > 0 {
		return &failure{exitPlugin, errors.Join(failures...)}
	}
	return nil
}

func (p *program) printPlugins(c *config, all []opened) error {
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	if !p.jsonl {
		fmt.Fprintln(w, "NAME\tKIND\tVERSION\tHOOKS\tTAKES\tON ERROR\tTIMEOUT\tDIGEST\tHEALTH\tDOES")
	}
	for i := range all {
		line := newPluginLine(&all[i], &c.Plugins[i])
		if p.jsonl {
			if err := p.writeJSON(line); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintln(w, printable(strings.Join([]string{line.Name, line.Kind, cmp.Or(line.Version, "-"), line.hooks(), line.takes(), line.OnError,
			cmp.Or(line.Timeout, "-"), line.digest(), string(line.Health), oneLine(line.Doc, 120)}, "\t")))
	}
	return w.Flush()
}

func newPluginLine(o *opened, c *pluginConfig) pluginLine {
	line := pluginLine{Name: c.Name, Kind: c.kinds()[0].name, Hooks: []plugin.Hook{}, OnError: cmp.Or(c.OnError, onErrors[0]), Health: remote.Ready}
	for hook, d := range c.Timeouts.byHook() {
		if line.Timeouts == nil {
			line.Timeouts = map[string]string{}
		}
		line.Timeouts[string(hook)] = d.String()
	}
	if d := c.Timeout; d > 0 || c.process() && !c.attached() {
		line.Timeout = cmp.Or(d, processTimeout).String()
	}
	if o.host != nil {
		h := o.host.Health()
		line.Version, line.Digest, line.Health, line.Error = h.Version, h.Digest, h.State, h.LastError
	}
	if o.err != nil {
		line.Health, line.Error = failed, o.err.Error()
	}
	plug := o.Plugin
	if plug == nil {
		return line
	}
	line.Hooks, line.Observer, line.Partials, line.Background, line.Doc = plug.Subscribes(), plug.Observer, plug.Partials, plug.Background, plug.Doc
	if f := plug.Filter; f != nil {
		line.Filter = &filterLine{f.Authors, f.Has}
	}
	if plug.Observer {
		line.OnError = "logged" // whatever the configuration says: nobody waits for it
	}
	return line
}

func (l *pluginLine) digest() string {
	switch {
	case l.Kind != processKind && l.Kind != attachKind || l.Health == failed:
		return "-"
	case l.Digest == "":
		return "not pinned"
	}
	return l.Digest[:12]
}

func (l *pluginLine) hooks() string {
	var hooks []string
	for _, h := range l.Hooks {
		hooks = append(hooks, string(h))
	}
	return cmp.Or(strings.Join(hooks, ","), "-")
}

// takes says how the plugin takes part.
func (l *pluginLine) takes() string {
	var how []string
	for _, h := range []struct {
		is   bool
		what string
	}{{l.Observer, "observes"}, {l.Partials, "partials"}, {l.Background, "background"}} {
		if h.is {
			how = append(how, h.what)
		}
	}
	return cmp.Or(strings.Join(how, ","), "-")
}

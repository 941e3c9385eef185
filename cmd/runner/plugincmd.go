package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/plugin"
)

func (p *program) pluginCommand() *cobra.Command {
	return group(&cobra.Command{Use: "plugin", Short: "List the configured plugins"},
		&cobra.Command{
			Use: "list", Short: "List the configured plugins in their order", Args: arguments(cobra.NoArgs),
			RunE: func(cmd *cobra.Command, _ []string) error { return p.listPlugins(cmd.Context()) },
		})
}

// pluginLine is a plugin's line in plugin list.
type pluginLine struct {
	Name       string        `json:"name"`
	Kind       string        `json:"kind"`
	Hooks      []plugin.Hook `json:"hooks"`
	Observer   bool          `json:"observer,omitzero"`
	Partials   bool          `json:"partials,omitzero"`
	Background bool          `json:"background,omitzero"`
	OnError    string        `json:"onError"`
	Timeout    string        `json:"timeout,omitzero"`
	Doc        string        `json:"doc"`
}

func (p *program) listPlugins(ctx context.Context) error {
	c, err := p.loadConfig(ctx)
	if err != nil {
		return err
	}
	plugins, err := c.plugins(ctx, lent{p.log, c.dryArtifacts()})
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	if len(plugins) == 0 {
		p.note("no plugins are configured; the kinds are: %s", strings.Join(kindNames(), ", "))
	} else if !p.jsonl {
		fmt.Fprintln(w, "NAME\tKIND\tHOOKS\tTAKES\tON ERROR\tTIMEOUT\tDOES")
	}
	for i, plug := range plugins {
		line := newPluginLine(plug, &c.Plugins[i])
		if p.jsonl {
			if err := p.writeJSON(line); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", line.Name, line.Kind, line.hooks(), line.takes(), line.OnError, cmp.Or(line.Timeout, "-"), line.Doc)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return exitPlugin.as(closePlugins(ctx, plugins))
}

func newPluginLine(plug *plugin.Plugin, c *pluginConfig) pluginLine {
	line := pluginLine{plug.Name, c.kinds()[0].name, plug.Subscribes(), plug.Observer, plug.Partials, plug.Background, cmp.Or(c.OnError, onErrors[0]), "", plug.Doc}
	if c.Timeout > 0 {
		line.Timeout = c.Timeout.String()
	}
	if plug.Observer {
		line.OnError = "logged" // whatever the configuration says: nobody waits for it
	}
	return line
}

func (l *pluginLine) hooks() string {
	var hooks []string
	for _, h := range l.Hooks {
		hooks = append(hooks, string(h))
	}
	return strings.Join(hooks, ",")
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

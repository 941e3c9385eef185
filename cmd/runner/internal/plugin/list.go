package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote"
)

// pluginLine is a plugin's line in plugin list. What only the plugin knows is not there if it did
// not start.
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

	process bool // it is in a process of its own
}

// filterLine are the events that OnEvent is called with.
type filterLine struct {
	Authors []string              `json:"authors,omitzero"`
	Has     []plugin.EventFeature `json:"has,omitzero"`
}

// failed is the health of a plugin that did not start.
const failed remote.State = "failed"

func (p *commands) listCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the configured plugins in their order",
		Args:  cli.NoArgs,
		Long: `List the configured plugins in their order. Those that are processes are started,
asked who they are, and stopped again. One that does not start is listed with what is wrong; the
exit code is 4 then.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.list(cmd.Context()) },
	}
}

func (p *commands) list(ctx context.Context) (err error) {
	c, err := p.LoadConfig(ctx)
	if err != nil {
		return err
	}
	all, err := c.OpenPlugins(ctx, config.Options{Log: p.Log})
	if err != nil {
		return exit.OfConfig(err)
	}
	var working []*plugin.Plugin
	var failures, wrong []error // wrong are those that are the configuration's fault alone
	for _, o := range all {
		if o.Opened != nil {
			working = append(working, o.Opened)
		}
		switch {
		case o.Err == nil:
		case o.Started() || o.Attached():
			failures = append(failures, o.Err)
		default:
			wrong = append(wrong, o.Err)
		}
	}
	defer func() {
		for _, o := range working {
			if o.Close != nil {
				err = errors.Join(err, o.Close(ctx))
			}
		}
		err = exit.Plugin.As(err)
	}()
	if len(all) == 0 {
		p.Note("no plugins are configured; the kinds are: %s", strings.Join(c.PluginKinds(), ", "))
		return nil
	}
	if err := errors.Join(wrong...); err != nil {
		return exit.OfConfig(err)
	}
	if err := p.print(all); err != nil {
		return err
	}
	for _, advice := range plugin.Warnings(working...) {
		p.Note("warning: %s", advice)
	}
	if len(failures) > 0 {
		return exit.Plugin.Always(errors.Join(failures...))
	}
	return nil
}

func (p *commands) print(all []config.Plugin) error {
	w := tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', 0)
	if !p.JSONL {
		fmt.Fprintln(w, "NAME\tKIND\tVERSION\tHOOKS\tTAKES\tON ERROR\tTIMEOUT\tDIGEST\tHEALTH\tDOES")
	}
	for i := range all {
		line := newPluginLine(&all[i])
		if p.JSONL {
			if err := p.WriteJSON(line); err != nil {
				return err
			}
			continue
		}
		cells := []string{line.Name, line.Kind, cmp.Or(line.Version, "-"), line.hooks(), line.takes(),
			line.OnError,
			cmp.Or(line.Timeout, "-"), line.digest(), string(line.Health), eventtext.OneLine(line.Doc, 120)}
		fmt.Fprintln(w, eventtext.Printable(strings.Join(cells, "\t")))
	}
	return w.Flush()
}

func newPluginLine(o *config.Plugin) pluginLine {
	line := pluginLine{
		Name:    o.Name,
		Kind:    o.Kind,
		Hooks:   []plugin.Hook{},
		OnError: o.OnError,
		Health:  remote.Ready,
	}
	for hook, d := range o.Timeouts {
		if line.Timeouts == nil {
			line.Timeouts = map[string]string{}
		}
		line.Timeouts[string(hook)] = d.String()
	}
	if o.Timeout > 0 {
		line.Timeout = o.Timeout.String()
	}
	if o.Host != nil {
		h := o.Host.Health()
		line.Version = h.Version
		line.Digest = h.Digest
		line.Health = h.State
		line.Error = h.LastError
		line.process = true
	}
	if o.Err != nil {
		line.Health = failed
		line.Error = o.Err.Error()
	}
	plug := o.Opened
	if plug == nil {
		return line
	}
	line.Hooks = plug.Subscribes()
	line.Observer = plug.Observer
	line.Partials = plug.Partials
	line.Background = plug.Background
	line.Doc = plug.Doc
	if f := plug.Filter; f != nil {
		line.Filter = &filterLine{Authors: f.Authors, Has: f.Has}
	}
	if plug.Observer {
		line.OnError = "logged" // whatever the configuration says: nobody waits for it
	}
	return line
}

func (l *pluginLine) digest() string {
	switch {
	case !l.process || l.Health == failed:
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

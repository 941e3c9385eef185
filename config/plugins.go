package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plughook/plughook/config/internal/lockfile"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote"
)

// A Plugin is what the configuration says of a plugin, and what OpenPlugins has made of it.
type Plugin struct {
	Name    string
	Kind    string // one of Config.PluginKinds
	OnError string // closed or open
	// Timeout bounds each hook, and Timeouts single ones. 0 is no limit.
	Timeout  time.Duration
	Timeouts map[plugin.Hook]time.Duration

	Opened *plugin.Plugin // nil if it is not open. The caller of OpenPlugins closes it
	Host   *remote.Host   // of a plugin in a process of its own that is open
	Err    error          // why it could not be opened
}

// Started reports whether the plugin is in a process of its own that the host starts.
func (p *Plugin) Started() bool { return p.Kind == processKind }

// Attached reports whether the plugin is in a process that somebody else has started.
func (p *Plugin) Attached() bool { return p.Kind == attachKind }

// Plugins returns the plugins of the configuration in their order.
func (c *Config) Plugins() []Plugin {
	list := make([]Plugin, len(c.file.Plugins))
	for i := range c.file.Plugins {
		pc := &c.file.Plugins[i]
		list[i] = Plugin{
			Name:     pc.Name,
			Kind:     pc.kinds()[0].name,
			OnError:  cmp.Or(pc.OnError, onErrors[0]),
			Timeout:  pc.Timeout,
			Timeouts: pc.Timeouts,
		}
		if pc.process() && !pc.attached() {
			list[i].Timeout = cmp.Or(pc.Timeout, processTimeout)
		}
	}
	return list
}

// OpenPlugins opens each plugin of the configuration on its own, so that a program can list them: a
// plugin that fails does not stop the others. The plugins have no sessions, and what they save is
// dropped. The error is about all of them, such as one of the lockfile; what is wrong with a single
// plugin is in its Err. Only Log of the options counts.
func (c *Config) OpenPlugins(ctx context.Context, o Options) ([]Plugin, error) {
	all, err := c.file.openPlugins(ctx, dependencies{log: o.log(), artifacts: c.file.dryArtifacts()})
	if err != nil {
		return nil, err
	}
	for i, p := range c.Plugins() {
		p.Opened = all[i].Opened
		p.Host = all[i].Host
		p.Err = all[i].Err
		all[i] = p
	}
	return all, nil
}

func pluginPath(i int) string { return fmt.Sprintf("plugins[%d]", i) }

// plugins makes the plugins of the configuration: all of them, or none and an error.
func (c *file) plugins(ctx context.Context, d dependencies) ([]*plugin.Plugin, error) {
	all, err := c.openPlugins(ctx, d)
	if err != nil {
		return nil, err
	}
	var list []*plugin.Plugin
	var errs []error
	for _, o := range all {
		if o.Opened != nil {
			list = append(list, o.Opened)
		}
		errs = append(errs, o.Err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, closePlugins(ctx, list))
	}
	return list, nil
}

// openPlugins makes each plugin of the configuration, and starts those that are processes. What the
// configuration says of them is left to the caller.
func (c *file) openPlugins(ctx context.Context, d dependencies) ([]Plugin, error) {
	c.complete(ctx, &d)
	lock := &lockfile.File{}
	if slices.ContainsFunc(c.Plugins, func(p pluginConfig) bool { return p.process() }) {
		var err error
		lock, err = lockfile.Read(ctx, c.source.Name())
		if err != nil {
			return nil, err
		}
	}
	all := make([]Plugin, len(c.Plugins))
	var free []string // plugins that are not pinned
	for i := range c.Plugins {
		o := &all[i]
		pc := &c.Plugins[i]
		if !pc.process() {
			o.Opened, o.Err = c.inProcess(i, d)
			continue
		}
		// How the process is started, by the configuration and the lockfile.
		r, err := c.process(i, d.log)
		pinned := false
		if err == nil && !pc.attached() {
			r, pinned, err = c.pin(i, r, lock)
		}
		if err != nil {
			o.Err = err
			continue
		}
		if d.dry {
			o.Err = c.checkStart(i, r)
		} else {
			o.Host, o.Err = c.start(ctx, i, r)
			if o.Err == nil {
				o.Opened, o.Err = c.wrap(i, o.Host.Plugin())
			}
		}
		if !pinned && !pc.attached() && o.Err == nil {
			free = append(free, pc.Name)
		}
	}
	for _, name := range free {
		d.log.Warn("Plugin " + name + " is not pinned; its files may change. To pin it: " + c.lockCommand(""))
	}
	return all, nil
}

// complete fills in the dependencies that are the configuration's.
func (c *file) complete(ctx context.Context, d *dependencies) {
	dry := d.dry
	d.path = c.path
	d.prices = c.prices
	d.price = c.price
	d.agent = "agents"
	if c.Agent != nil {
		d.agent = c.Agent.Name
	}
	for i := range c.Plugins {
		if d.audit == nil {
			d.audit = c.Plugins[i].Audit
		}
	}
	d.model = func(name string) (model.Model, error) { return c.openModel(ctx, name, dry) }
}

// inProcess makes the plugin at an index, which is no process.
func (c *file) inProcess(i int, d dependencies) (*plugin.Plugin, error) {
	pc := &c.Plugins[i]
	k := pc.kinds()[0]
	p, err := k.make(pc, d)
	if err != nil {
		return nil, c.source.Errorf(pluginPath(i)+"."+k.name, "%w", err)
	}
	named := *p
	named.Name = pc.Name
	return c.wrap(i, &named)
}

// wrap bounds a plugin as the configuration says. A process bounds its hooks itself. A plugin that
// is not valid is returned with the error, so that it is closed.
func (c *file) wrap(i int, p *plugin.Plugin) (*plugin.Plugin, error) {
	pc := &c.Plugins[i]
	if invalid := plugin.Validate(p); invalid != nil {
		// Validate names the plugin by its place among those it was given, which is one.
		_, why, _ := strings.Cut(invalid.Error(), "): ")
		return p, c.source.Errorf(pluginPath(i)+".name", "plugin %q: %s", p.Name, why)
	}
	if pc.Timeout > 0 && !pc.process() {
		p = plugin.Timeout(p, pc.Timeout)
	}
	if pc.OnError == "open" {
		p = plugin.FailOpen(p)
	}
	return p, nil
}

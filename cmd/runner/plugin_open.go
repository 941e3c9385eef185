package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote"
)

// opened is a configured plugin at work.
type opened struct {
	*plugin.Plugin              // nil if it did not come to work, or is left out
	host           *remote.Host // nil if it is no process
	err            error        // why it did not come to work
}

func pluginPath(i int) string { return fmt.Sprintf("plugins[%d]", i) }

// plugins makes the plugins of a configuration that was checked: all of them, or none and an error.
func (c *config) plugins(ctx context.Context, l lent) ([]*plugin.Plugin, error) {
	all, err := c.open(ctx, l)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, o := range all {
		errs = append(errs, o.err)
	}
	list := working(all)
	if err := errors.Join(errs...); err != nil {
		return nil, exitUsage.as(errors.Join(err, closePlugins(ctx, list)))
	}
	return list, nil
}

// working returns the plugins that came to work.
func working(all []opened) []*plugin.Plugin {
	var list []*plugin.Plugin
	for _, o := range all {
		if o.Plugin != nil {
			list = append(list, o.Plugin)
		}
	}
	return list
}

// open makes each plugin of a configuration that was checked, and starts those that are processes.
func (c *config) open(ctx context.Context, l lent) ([]opened, error) {
	c.lend(ctx, &l)
	lock := &lockfile{}
	if slices.ContainsFunc(c.Plugins, func(p pluginConfig) bool { return p.process() }) {
		var err error
		if lock, err = c.lock(ctx); err != nil {
			return nil, err
		}
	}
	all := make([]opened, len(c.Plugins))
	var free []string
	for i := range c.Plugins {
		o, pc := &all[i], &c.Plugins[i]
		if !pc.process() {
			o.Plugin, o.err = c.inProcess(i, l)
			continue
		}
		r, err := c.process(i, l.log)
		pinned := false
		if err == nil && !pc.attached() {
			r, pinned, err = c.pin(i, r, lock)
		}
		if err != nil {
			o.err = err
			continue
		}
		if l.dry {
			o.err = c.checkStart(i, r)
		} else if o.host, o.err = c.start(ctx, i, r); o.err == nil {
			o.Plugin, o.err = c.wrap(i, o.host.Plugin())
		}
		if !pinned && !pc.attached() && o.err == nil {
			free = append(free, pc.Name)
		}
	}
	for _, name := range free {
		l.log.Warn("Plugin " + name + " is not pinned; its files may change. To pin it: " + c.lockCommand(""))
	}
	return all, nil
}

// lend fills in what is the configuration's.
func (c *config) lend(ctx context.Context, l *lent) {
	l.path = c.path
	l.model = func(name string) (model.Model, error) { return c.openModel(ctx, name, l.dry) }
}

// inProcess makes the plugin at an index, which is no process.
func (c *config) inProcess(i int, l lent) (*plugin.Plugin, error) {
	pc := &c.Plugins[i]
	k := pc.kinds()[0]
	p, err := k.make(pc, l)
	if err != nil {
		return nil, c.source.Errorf(pluginPath(i)+"."+k.name, "%w", err)
	}
	named := *p
	named.Name = pc.Name
	return c.wrap(i, &named)
}

// wrap bounds a plugin as the configuration says. A process bounds its hooks itself. If the plugin cannot be
// right, it is returned as it is, to be closed.
func (c *config) wrap(i int, p *plugin.Plugin) (*plugin.Plugin, error) {
	pc := &c.Plugins[i]
	if invalid := plugin.Validate(p); invalid != nil {
		_, why, _ := strings.Cut(invalid.Error(), "): ") // it counts from the one it was given
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

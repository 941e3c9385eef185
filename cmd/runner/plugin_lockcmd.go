package main

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/plugin/remote"
)

func (p *program) pluginLockCommand() *cobra.Command {
	check := false
	cmd := &cobra.Command{
		Use: "lock [NAME…]", Short: "Pin the plugins that are processes by their digests",
		Long: `Lock writes the SHA-256 of the program of each plugin that has a command, and of its files, into the
lockfile beside the configuration: runner.lock.json for runner.yaml. With names, only these plugins
are pinned anew. No plugin is started.

Where there is a lockfile, every plugin that has a command has to be in it, and one that has changed
is not started; what was hashed is what runs. With --check nothing is written, and the exit code is 2
if something differs.`,
		Args: arguments(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, args []string) error { return p.lockPlugins(cmd.Context(), args, check) },
	}
	cmd.Flags().BoolVar(&check, "check", false, "write nothing, and fail if something differs")
	return cmd
}

// lockLine is a plugin's line in plugin lock.
type lockLine struct {
	Name    string   `json:"name"`
	State   string   `json:"state"` // same, new, changed or gone
	SHA256  string   `json:"sha256,omitzero"`
	Files   int      `json:"files"`
	Changes []string `json:"changes,omitzero"`
}

func (p *program) lockPlugins(ctx context.Context, names []string, check bool) error {
	c, err := p.loadConfig(ctx)
	if err != nil {
		return err
	}
	if c.source.name == "" {
		return exitUsage.errorf("there is no %s here; name a configuration with --config", defaultConfig)
	}
	old, err := c.lock(ctx)
	if err != nil {
		return err
	}
	now, err := c.pinned(names, old)
	if err != nil {
		return err
	}
	differ := 0
	for _, name := range slices.Sorted(maps.Keys(union(old.Plugins, now.Plugins))) {
		line := lockLineOf(old, now, name)
		if line.State != "same" {
			differ++
		}
		if err := p.printLock(line); err != nil {
			return err
		}
	}
	switch {
	case check && !old.there && len(now.Plugins) > 0:
		return exitUsage.errorf("there is no %s; %s writes it", old.name, c.lockCommand(""))
	case check && differ > 0:
		return exitUsage.errorf("%s is not up to date; if the changes are meant: %s", old.name, c.lockCommand(strings.Join(names, " ")))
	case check:
		return nil
	case len(now.Plugins) == 0 && !old.there:
		p.note("no plugin of %s has a command, so there is nothing to lock", c.source.name)
		return nil
	case differ == 0 && old.there:
		return nil
	}
	if err := now.write(); err != nil {
		return exitOther.errorf("lockfile: %w", err)
	}
	p.note("%s is written; keep it with %s", now.name, c.source.name)
	return nil
}

// pinned returns a lockfile with the named plugins as they are on the disk, all of them if none is named,
// and the others as they were.
func (c *config) pinned(names []string, old *lockfile) (*lockfile, error) {
	now := &lockfile{Version: lockVersion, Plugins: map[string]locked{}, name: old.name}
	if len(names) > 0 {
		maps.Copy(now.Plugins, old.Plugins)
	}
	var all []string
	var errs []error
	for i := range c.Plugins {
		if !c.Plugins[i].process() {
			continue
		}
		name := c.Plugins[i].Name
		if all = append(all, name); len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		r, err := c.process(i, nil)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		disk, err := remote.Pin(r)
		if err != nil {
			errs = append(errs, exitUsage.as(c.placed(i, err)))
			continue
		}
		for _, d := range contradictions(r, disk) {
			errs = append(errs, exitUsage.as(c.source.errorf(pluginPath(i), "plugin %s: %s in the configuration; take the digest out there, or change it", name, d)))
		}
		now.Plugins[name] = lockedOf(disk)
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			errs = append(errs, exitUsage.errorf("no plugin with a command is named %q%s", name, meant(name, all)))
		}
	}
	return now, errors.Join(errs...)
}

// contradictions says which digests of the configuration are not those on the disk.
func contradictions(r, disk remote.Config) []string {
	now := lockedOf(disk)
	if r.SHA256 == "" {
		now.SHA256 = ""
	}
	maps.DeleteFunc(now.Files, func(name, _ string) bool { return r.Files[name] == "" })
	return differences(lockedOf(r), now)
}

func lockLineOf(old, now *lockfile, name string) lockLine {
	was, had := old.Plugins[name]
	is, has := now.Plugins[name]
	line := lockLine{Name: name, SHA256: is.SHA256, Files: len(is.Files), State: "same"}
	switch {
	case !has:
		line.State = "gone"
	case !had:
		line.State = "new"
	default:
		if line.Changes = differences(was, is); len(line.Changes) > 0 {
			line.State = "changed"
		}
	}
	return line
}

func (p *program) printLock(line lockLine) error {
	if p.jsonl {
		return p.writeJSON(line)
	}
	text := line.Name + "  " + line.State + "  " + cmp.Or(line.SHA256, "-")
	for _, change := range line.Changes {
		text += "\n  " + change
	}
	_, err := p.out.Write([]byte(printable(text) + "\n"))
	return err
}

func union(a, b map[string]locked) map[string]locked {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

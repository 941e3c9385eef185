package main

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
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
	if c.source.Name() == "" {
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
	for i := range c.Plugins {
		for _, name := range c.looseFiles(&c.Plugins[i]) {
			p.note("%s: warning: %s is an argument of plugin %s and a file, and not pinned; if it is the plugin too, name it in files",
				c.source.Name(), name, c.Plugins[i].Name)
		}
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
		p.note("no plugin of %s has a command, so there is nothing to lock", c.source.Name())
		return nil
	case differ == 0 && old.there:
		return nil
	}
	if err := now.write(); err != nil {
		return exitOther.errorf("lockfile: %w", err)
	}
	p.note("%s is written; keep it with %s", now.name, c.source.Name())
	return nil
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

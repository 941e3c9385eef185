package plugin

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/internal/eventtext"
)

func (p *commands) lockCommand() *cobra.Command {
	check := false
	cmd := &cobra.Command{
		Use:   "lock [NAME…]",
		Short: "Pin the plugins that are processes by their digests",
		Long: `Lock writes the SHA-256 of the program of each plugin that has a command, and of its
files, into the lockfile beside the configuration: runner.lock.json for runner.yaml. With names,
only these plugins are pinned anew. No plugin is started.

Where there is a lockfile, every plugin that has a command must be in it, and one that has changed
is not started. The file that is hashed is the file that runs. With --check nothing is written,
and the exit code is 2 if something differs.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return p.lock(cmd.Context(), args, check) },
	}
	cmd.Flags().BoolVar(&check, "check", false, "write nothing, and fail if something differs")
	return cmd
}

func (p *commands) lock(ctx context.Context, names []string, check bool) error {
	c, err := p.NeedConfig(ctx)
	if err != nil {
		return err
	}
	lock, err := c.Pin(ctx, names...)
	if err != nil {
		return exit.OfConfig(err)
	}
	for _, warning := range lock.Warnings {
		p.Note("%s: warning: %s", c.Name(), warning)
	}
	for _, changed := range lock.Plugins {
		if p.JSONL {
			err = p.WriteJSON(changed)
		} else {
			line := changed.Name + "  " + changed.State + "  " + cmp.Or(changed.SHA256, "-")
			text := strings.Join(append([]string{line}, changed.Changes...), "\n  ")
			_, err = p.Out.Write([]byte(eventtext.Printable(text) + "\n"))
		}
		if err != nil {
			return err
		}
	}
	switch {
	case check && !lock.Exists && !lock.Empty():
		return exit.Usage.Errorf("there is no %s; write it with: %s", lock.Name, c.LockCommand(""))
	case check && lock.Exists && lock.Changed():
		return exit.Usage.Errorf("%s is not up to date; if the changes are meant: %s", lock.Name,
			c.LockCommand(strings.Join(names, " ")))
	case check:
		return nil
	case lock.Empty() && !lock.Exists:
		p.Note("no plugin of %s has a command, so there is nothing to lock", c.Name())
		return nil
	case !lock.Changed():
		return nil
	}
	if err := lock.Write(); err != nil {
		return exit.Other.Errorf("lockfile: %w", err)
	}
	p.Note("%s is written; keep it with %s", lock.Name, c.Name())
	return nil
}

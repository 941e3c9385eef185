package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/adk"
)

func (p *program) exportCommand() *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use:   "export [ID…]",
		Short: "Write sessions as JSON Lines",
		Long: `Write sessions to standard output as a session file: a line with the session, then a line for each
event of its whole log. With --all every session is written, in the order of creation; --app and
--user narrow that.`,
		Args: arguments(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			ctx := cmd.Context()
			if all && len(args) > 0 {
				return exitUsage.errorf("--all and ids exclude each other")
			}
			svc, _, err := p.kept(ctx, false)
			if err != nil {
				return err
			}
			defer closeStore(svc, &err)
			keys, err := p.chosen(ctx, svc, all, args)
			if err != nil {
				return err
			}
			bar := p.progress("export", len(keys))
			defer bar.end()
			for _, key := range keys {
				if err := session.Export(ctx, svc, key, p.out); err != nil {
					var out *outputError
					if errors.As(err, &out) {
						return exitOther.as(err)
					}
					return exitStore.as(err)
				}
				bar.add()
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "every session")
	return cmd
}

// chosen returns the keys that ids name, or all.
func (p *program) chosen(ctx context.Context, svc session.Service, all bool, ids []string) ([]session.Key, error) {
	if !all {
		return p.find(ctx, svc, ids)
	}
	list, err := p.all(ctx, svc)
	if err != nil {
		return nil, err
	}
	keys := make([]session.Key, len(list))
	for i, s := range list {
		keys[i] = s.Key
	}
	return keys, nil
}

func (p *program) importCommand() *cobra.Command {
	convert := false
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Create sessions from a session file",
		Long: `Create the sessions of a session file ("-" is standard input) as they are in it. A session is created
whole or not at all; the first that cannot be ends the import, and those before it stay. An import may be
made again: it leaves out what is there already, and gives a session its events that a killed import has
left without. --app, --user
and --session narrow which sessions are taken.

Compactions and rewinds of the Agent Development Kit, which name a range of time or an invocation, have
no effect unless --convert turns them into ours; those that cannot be are named.`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			f, err := p.openInput(cmd.Context(), args[0])
			if err != nil {
				return exitUsage.as(err)
			}
			defer f.close() // it was only read
			svc, _, err := p.kept(cmd.Context(), true)
			if err != nil {
				return err
			}
			defer closeStore(svc, &err)
			return p.importAll(cmd.Context(), svc, f, convert)
		},
	}
	cmd.Flags().BoolVar(&convert, "convert", false, "turn other kits' compactions and rewinds into ours")
	return cmd
}

func (p *program) importAll(ctx context.Context, svc session.Service, f *input, convert bool) error {
	sessions, events, there := 0, 0, 0
	defer func() {
		p.note("imported %d sessions, %d events", sessions, events)
		if there > 0 {
			p.note("%d sessions were there already", there)
		}
	}()
	for rec, err := range session.ReadRecordings(f.name, f) {
		if err != nil {
			return exitUsage.as(err)
		}
		if !p.names(rec.Key) {
			continue
		}
		if convert {
			for _, left := range adk.Convert(rec) {
				p.note("%s: session %s: %s", f.name, rec.Key, left)
			}
		}
		was, err := svc.Get(ctx, rec.Key)
		already := err == nil && was.Position > 0
		if err := session.Import(ctx, svc, rec); err != nil {
			if errors.Is(err, session.ErrInvalid) || errors.Is(err, session.ErrIDReused) {
				return exitUsage.errorf("%s: %w", f.name, err)
			}
			return exitStore.errorf("%s: %w", f.name, err)
		}
		if already {
			there++
			continue
		}
		sessions, events = sessions+1, events+len(rec.Events)
	}
	return nil
}

package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/internal/input"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/adk"
)

func (p *commands) importCommand() *cobra.Command {
	convert := false
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Create sessions from a session file",
		Long: `Create the sessions of a session file ("-" is standard input) as they are in it. A
session is created whole or not at all. The first session that cannot be created ends the import;
those before it stay. An import can be repeated: it skips what is there already, and completes a
session that a killed import has left without its events. --app, --user and --session narrow which
sessions are taken.

Compactions and rewinds of the Agent Development Kit, which name a range of time or an invocation,
have no effect unless --convert turns them into ours; those that cannot be are named.

State keys that begin with the name of a plugin of the configuration are taken from events that
this plugin has written or changed, and refused from others.`,
		Args: cli.Args(1, 1, "which file? Name one session file, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			f, err := p.OpenInput(cmd.Context(), args[0])
			if err != nil {
				return exit.Usage.As(err)
			}
			defer f.Close() // it was only read
			svc, c, err := p.OpenKept(cmd.Context(), true)
			if err != nil {
				return err
			}
			defer cli.CloseStore(svc, &err)
			return p.importAll(cmd.Context(), svc, f, ownersIn(c), convert)
		},
	}
	cmd.Flags().BoolVar(&convert, "convert", false,
		"turn other kits' compactions and rewinds into ours")
	return cmd
}

// ownersIn returns the owners of state keys that a configuration's plugins are.
func ownersIn(c *config.Config) plugin.StateOwners {
	var plugins []*plugin.Plugin
	for _, pc := range c.Plugins() {
		plugins = append(plugins, &plugin.Plugin{Name: pc.Name})
	}
	return plugin.OwnersOf(plugins...)
}

// checkOwners returns an error if a recording writes state keys of the configured plugins, other than by events
// that these have written or changed.
func checkOwners(owners plugin.StateOwners, rec *session.Recording) error {
	if err := owners.CheckInitial(rec.State); err != nil {
		return fmt.Errorf("session %s: %w", rec.Key, err)
	}
	for _, e := range rec.Events {
		if err := owners.CheckEvent(e); err != nil {
			return fmt.Errorf("session %s: event %d: %w", rec.Key, e.Seq, err)
		}
	}
	return nil
}

func (p *commands) importAll(ctx context.Context, svc session.Service, f *input.Input, owners plugin.StateOwners, convert bool) error {
	var sessions, events, there int
	defer func() {
		p.Note("imported %d sessions, %d events", sessions, events)
		if there > 0 {
			p.Note("%d sessions were there already", there)
		}
	}()
	for rec, err := range cli.ReadSessions(f) {
		if err != nil {
			return exit.Usage.As(err)
		}
		if !p.Selects(rec.Key) {
			continue
		}
		if convert {
			for _, left := range adk.Convert(rec) {
				p.Note("%s: session %s: %s", f.Name, rec.Key, left)
			}
		}
		if err := checkOwners(owners, rec); err != nil {
			return exit.Usage.Errorf("%s: %w", f.Name, err)
		}
		was, err := svc.Get(ctx, rec.Key)
		already := err == nil && was.Position > 0
		if err := session.Import(ctx, svc, rec); err != nil {
			if errors.Is(err, session.ErrInvalid) || errors.Is(err, session.ErrIDReused) {
				return exit.Usage.Errorf("%s: %w", f.Name, err)
			}
			return exit.Store.Errorf("%s: %w", f.Name, err)
		}
		if already {
			there++
			continue
		}
		sessions++
		events += len(rec.Events)
	}
	return nil
}

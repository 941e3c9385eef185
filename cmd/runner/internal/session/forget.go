package session

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/retention"
)

func (p *commands) forgetCommand() *cobra.Command {
	var olderThan string
	var dryRun, yes bool
	cmd := &cobra.Command{
		Use:   "forget --user USER | --older-than AGE",
		Short: "Delete all of a user's data, or sessions that nobody uses any more",
		Args:  cobra.NoArgs,
		Long: `Forget deletes what is not to be kept.

With --user it deletes all that belongs to a user: sessions, events, artifacts and state, also
artifacts and state that sessions share. With --older-than it deletes the sessions, of whatever
user, that had no event for so long, with their artifacts; what belongs to users stays.
Both work on every app, unless --app names one.

It shows what it would delete and asks. Where nobody can be asked it needs --yes. --dry-run
deletes nothing. A deletion that was cut short can be made again.`,
		Example: `  runner session forget --user ada --dry-run
  runner session forget --older-than 90d --app weather --yes`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			switch {
			case p.Session != "":
				return exit.Usage.Errorf("forget works on users and on ages; runner session delete deletes one session")
			case p.User == "" && olderThan == "":
				return exit.Usage.Errorf("what is to be forgotten? Name a user with --user, or an age with --older-than 90d")
			case p.User != "" && olderThan != "":
				return exit.Usage.Errorf("--user and --older-than exclude each other")
			}
			age, err := ageOf(olderThan)
			if olderThan != "" && err != nil {
				return exit.Usage.Errorf("--older-than: %q is no age, such as 90d or 12h", olderThan)
			}
			return p.withArtifacts(ctx, func(store retention.Store, c *config.Config) error {
				f := &forgetting{commands: p, store: store, since: time.Now().Add(-age)}

				// Look first at what there is.
				plan, err := f.forget(ctx, c, true)
				if err != nil {
					return exit.Store.As(err)
				}
				if dryRun {
					return f.show(plan)
				}
				if len(plan.Sessions)+plan.Artifacts+len(plan.State) == 0 {
					p.Note("there is nothing to delete")
					return nil
				}
				if !yes {
					if err := p.Confirm(ctx, "delete "+inWords(plan)+"?", "nothing was deleted"); err != nil {
						return err
					}
				}
				done, err := f.forget(ctx, c, false)
				p.Note("deleted %s", inWords(done))
				return exit.Store.As(err)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&olderThan, "older-than", "",
		"delete sessions without an event for this `AGE`, such as 90d or 12h")
	f.BoolVar(&dryRun, "dry-run", false, "show what would be deleted, and delete nothing")
	f.BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// forgetting deletes what the flags say.
type forgetting struct {
	*commands
	store retention.Store
	since time.Time // with --older-than
}

// forget deletes, or with dryRun looks at what there is. The report is of what was done before an error, too.
func (f *forgetting) forget(ctx context.Context, c *config.Config, dryRun bool) (*retention.Report, error) {
	store := f.store
	store.DryRun = dryRun
	if f.User == "" {
		return store.Before(ctx, f.App, f.since)
	}
	apps, err := f.apps(ctx, c)
	all := &retention.Report{}
	for _, app := range apps {
		var report *retention.Report
		report, err = store.User(ctx, app, f.User)
		if report != nil {
			all.Sessions = append(all.Sessions, report.Sessions...)
			all.Artifacts += report.Artifacts
			all.State = append(all.State, report.State...)
		}
		if err != nil {
			break
		}
	}
	return all, err
}

// apps returns the app that is named, or else every app that has sessions, and the configured one: a user whose
// sessions are deleted may still have state in it.
func (f *forgetting) apps(ctx context.Context, c *config.Config) ([]string, error) {
	if f.App != "" {
		return []string{f.App}, nil
	}
	apps := []string{f.Key(c).App}
	for s, err := range f.store.Sessions.List(ctx, "", "") {
		if err != nil {
			return nil, err
		}
		if !slices.Contains(apps, s.App) {
			apps = append(apps, s.App)
		}
	}
	return apps, nil
}

// show prints what would be deleted.
func (f *forgetting) show(plan *retention.Report) error {
	if f.JSONL {
		sessions := []cli.KeyLine{}
		for _, key := range plan.Sessions {
			sessions = append(sessions, cli.KeyLine(key))
		}
		return f.WriteJSON(struct {
			Sessions  []cli.KeyLine `json:"sessions"`
			Artifacts int           `json:"artifacts"`
			State     []string      `json:"state"`
		}{
			Sessions:  sessions,
			Artifacts: plan.Artifacts,
			State:     append([]string{}, plan.State...),
		})
	}
	for _, key := range plan.Sessions {
		fmt.Fprintln(f.Out, eventtext.Printable(key.String()))
	}
	f.Note("would delete %s", inWords(plan))
	return nil
}

// inWords returns what a report counts: "2 sessions, 1 artifact, 3 keys of state".
func inWords(r *retention.Report) string {
	return fmt.Sprintf("%s, %s, %s of state", phrase.Count(len(r.Sessions), "session"),
		phrase.Count(r.Artifacts, "artifact"), phrase.Count(len(r.State), "key"))
}

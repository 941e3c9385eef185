package evaluate

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/eval"
	"github.com/plughook/plughook/session"
)

func (e *evaluation) recordCommand() *cobra.Command {
	file := ""
	cmd := &cobra.Command{
		Use:   "record",
		Short: "Make a case of a stored session",
		Long: `Write the session that --session names as a case, in YAML: what the user said and how calls were answered, and, as
what is expected, the calls that were made and the answer. What tools have answered is in it, too, so that eval --tools recorded
runs it without them, and what models have answered, for --model recorded. Edit it then: leave out what may be otherwise.`,
		Example: `  runner eval record --store sqlite:sessions.db --session ada --file ada.yaml`,
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if e.Session == "" {
				return exit.Usage.Errorf("which session? Name it with --session")
			}
			return e.WithSession(ctx, []string{e.Session}, func(svc session.Service, _ *config.Config, key session.Key) error {
				return e.record(ctx, svc, key, file)
			})
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "write to this `file` in place of standard output")
	return cmd
}

func (e *evaluation) record(ctx context.Context, svc session.Service, key session.Key, file string) error {
	s, err := svc.Get(ctx, key)
	if err != nil {
		return exit.Store.As(err)
	}
	var log []*session.Event
	for event, err := range svc.Read(ctx, key, session.Selection{}) {
		if err != nil {
			return exit.Store.As(err)
		}
		log = append(log, event)
	}
	c, withheld := eval.Record(s, log)
	if withheld > 0 {
		e.Note("%s that a plugin has withheld: the log does not have what was said, so write it into the case by hand",
			phrase.Count(withheld, "input"))
	}
	if len(c.Turns) == 0 {
		return exit.Usage.Errorf("session %s: its log has nothing that the user has said, so there is no case", key)
	}

	text, err := c.YAML()
	if err != nil {
		return exit.Usage.Errorf("session %s: %w", key, err)
	}
	if file == "" {
		_, err = e.Out.Write(text)
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return exit.Usage.As(err)
	}
	_, err = f.Write(text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	e.Note("%s written to %s", phrase.Count(len(c.Turns), "turn"), file)
	return exit.Other.As(err)
}

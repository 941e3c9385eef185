package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/session"
)

func (p *program) showCommand() *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a session's events",
		Long: `Show the events that count: what no rewind voided and no compaction stands for. With --all the whole
log is shown, with --jsonl as it is stored.`,
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			ctx := cmd.Context()
			svc, _, err := p.kept(ctx, false)
			if err != nil {
				return err
			}
			defer closeStore(svc, &err)
			keys, err := p.find(ctx, svc, args)
			if err != nil {
				return err
			}
			return exitStore.as(p.showSession(ctx, svc, keys[0], all))
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "the whole log, not only what counts")
	return cmd
}

// showSession prints a session: what counts of it, or all.
func (p *program) showSession(ctx context.Context, svc session.Service, key session.Key, all bool) error {
	s, err := svc.Get(ctx, key)
	if err != nil {
		return err
	}
	st := styleOf(p.stdout)
	if !p.jsonl {
		fmt.Fprintf(p.out, "%s  %d events\n", st.bold(printable(s.Key.String())), s.Position)
	}
	for e, err := range svc.Read(ctx, key, session.Selection{Live: !all}) {
		switch {
		case err != nil:
			return err
		case p.jsonl:
			err = p.writeJSON(e)
		default:
			err = showEvent(p.out, st, e)
		}
		if err != nil {
			return err
		}
	}
	if p.jsonl {
		return nil
	}
	return showState(p.out, st, s.State)
}

// showEvent writes an event for people: its position, author and time, and what is in it.
func showEvent(w io.Writer, st style, e *session.Event) error {
	author := printable(e.Author)
	if e.Branch != "" {
		author += " (" + printable(e.Branch) + ")"
	}
	_, err := fmt.Fprintf(w, "\n%s %s  %s\n", st.dim(fmt.Sprintf("%4d", e.Seq)), st.bold(author), st.dim(e.Timestamp.UTC().Format(time.DateTime)))
	for _, line := range eventLines(e) {
		if err == nil {
			_, err = fmt.Fprintf(w, "     %s\n", strings.ReplaceAll(line, "\n", "\n     "))
		}
	}
	return err
}

func showState(w io.Writer, st style, state map[string]any) error {
	if len(state) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "\n%s\n", st.bold("state"))
	for _, key := range slices.Sorted(maps.Keys(state)) {
		if err == nil {
			_, err = fmt.Fprintf(w, "     %s = %s\n", printable(key), printable(compact(state[key])))
		}
	}
	return err
}

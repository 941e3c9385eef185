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
		Long: `Show the events that count: what no rewind voided and no summary stands for. With --all the whole log is
shown: what a summary stands for has a line beside it, what is void a cross, and both say which event
made them so. Tokens are estimated, as a quarter of the characters that a model is shown.

With --jsonl each line has an event as it is stored, in "event", and beside it "live": true, "behind"
with the position of the summary that stands for it, or "void" with that of the rewind that voided it;
a rewind in force has none of these. A summary has "standsFor" too: how many events it stands for, the
first and the last, and the tokens before and after.`,
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
	sum, err := surveyOf(ctx, svc, s)
	if err != nil {
		return err
	}
	d := drawing{program: p, survey: sum, style: styleOf(p.stdout), all: all}
	if !p.jsonl {
		fmt.Fprintf(p.out, "%s  %s\n", d.style.bold(printable(s.Key.String())), sum)
	}
	for e, err := range svc.Read(ctx, key, session.Selection{Live: !all}) {
		switch {
		case err != nil:
			return err
		case e.Seq > s.Position: // it was appended meanwhile
			continue
		case p.jsonl:
			err = d.line(e)
		default:
			err = d.event(e)
		}
		if err != nil {
			return err
		}
	}
	if p.jsonl {
		return nil
	}
	return showState(p.out, d.style, s.State)
}

// drawing shows a session's events, marked with what has become of them.
type drawing struct {
	*program
	*survey
	style style
	all   bool // the whole log, with a gutter
}

// line writes an event for programs.
func (d *drawing) line(e *session.Event) error {
	fate := d.fates.Of(e)
	return d.writeJSON(struct {
		Live      bool           `json:"live,omitzero"`
		Behind    int64          `json:"behind,omitzero"`
		Void      int64          `json:"void,omitzero"`
		StandsFor *standsFor     `json:"standsFor,omitzero"`
		Event     *session.Event `json:"event"`
	}{fate.Live, fate.Behind, fate.Void, d.stands[e.Seq], e})
}

// event writes an event for people: its position, author and time, and what is in it.
func (d *drawing) event(e *session.Event) error {
	author, gutter, mark := printable(e.Author), "", ""
	if e.Branch != "" {
		author += " (" + printable(e.Branch) + ")"
	}
	paint := func(text string) string { return text }
	if d.all {
		gutter = "  "
		switch fate := d.fates.Of(e); {
		case fate.Void != 0:
			gutter, mark, paint = "× ", fmt.Sprintf("  void by the rewind at %d", fate.Void), d.style.dim
		case fate.Behind != 0:
			gutter, mark, paint = "│ ", fmt.Sprintf("  behind the summary at %d", fate.Behind), d.style.dim
		}
	}
	_, err := fmt.Fprintf(d.out, "\n%s%s %s  %s\n", gutter, d.style.dim(fmt.Sprintf("%4d", e.Seq)), d.style.bold(author),
		d.style.dim(e.Timestamp.UTC().Format(time.DateTime)+mark))
	lines := eventLines(e)
	if s := d.stands[e.Seq]; s != nil {
		lines = append(lines, s.String())
	}
	lines = append(lines, counts(e)...)
	for _, line := range lines {
		for line := range strings.SplitSeq(line, "\n") {
			if err == nil {
				_, err = fmt.Fprintf(d.out, "%s     %s\n", gutter, paint(line))
			}
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

package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/terminal"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/session"
)

func (p *commands) showCommand() *cobra.Command {
	all, hooks := false, false
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a session's events",
		Long: `Show the events that count: what no rewind voided and no summary stands for. With
--all the whole log is shown: what a summary stands for has a line beside it, what is void a
cross, and both say which event made them so. Tokens are estimated, as a quarter of the characters
that a model is shown; with --all each event has the tokens that its model counted, too.

With --jsonl each line has an event as it is stored, in "event", and beside it "live": true,
"behind" with the position of the summary that stands for it, or "void" with that of the rewind
that voided it; a rewind in force has none of these. A summary has "standsFor" too: how many
events it stands for, the first and the last, and the tokens before and after.

With --hooks each event has what plugins were asked about it and answered, also those that did
nothing, and how long each took, if the store keeps that (keep_hooks: of the configuration).`,
		Args: cli.Args(0, 1, oneID),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.WithSession(cmd.Context(), args,
				func(svc session.Service, _ *config.Config, key session.Key) error {
					return exit.Store.As(show(cmd.Context(), p.Program, svc, key, all, hooks))
				})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "the whole log, not only what counts")
	cmd.Flags().BoolVar(&hooks, "hooks", false, "what each plugin was asked and answered, and how long it took")
	return cmd
}

// Show prints a session: the events that count, or all of them, and the state.
func Show(ctx context.Context, p *cli.Program, svc session.Reader, key session.Key,
	all bool) error {
	return show(ctx, p, svc, key, all, false)
}

func show(ctx context.Context, p *cli.Program, svc session.Reader, key session.Key, all, hooks bool) error {
	s, err := svc.Get(ctx, key)
	if err != nil {
		return err
	}
	sum, err := surveyOf(ctx, svc, s)
	if err != nil {
		return err
	}
	d := drawing{Program: p, survey: sum, style: p.Style(), all: all}
	if hooks {
		if err := d.readHooks(ctx, svc, key); err != nil {
			return err
		}
	}
	if !p.JSONL {
		fmt.Fprintf(p.Out, "%s  %s\n", d.style.Bold(eventtext.Printable(s.Key.String())), sum)
	}
	for e, err := range svc.Read(ctx, key, session.Selection{Live: !all}) {
		switch {
		case err != nil:
			return err
		case e.Seq > s.Position: // it was appended meanwhile
			continue
		case p.JSONL:
			err = d.line(e)
		default:
			err = d.event(e)
		}
		if err != nil {
			return err
		}
	}
	if p.JSONL {
		return nil
	}
	return ShowState(p, s.State)
}

// drawing shows a session's events, marked with what has become of them.
type drawing struct {
	*cli.Program
	*survey
	style terminal.Style
	all   bool                            // the whole log, with a gutter
	hooks map[string][]session.HookRecord // the calls about each event
}

// readHooks reads the hook calls that the store has kept.
func (d *drawing) readHooks(ctx context.Context, svc session.Reader, key session.Key) error {
	keeper, can := svc.(session.HookKeeper)
	if !can {
		return exit.Usage.Errorf("this store keeps no hook calls")
	}
	list, err := keeper.Hooks(ctx, key)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		d.Note("no hook calls are kept of this session: keep_hooks: 168h in the configuration keeps those to come for a week")
	}
	d.hooks = map[string][]session.HookRecord{}
	for _, r := range list {
		d.hooks[r.Event] = append(d.hooks[r.Event], r)
	}
	return nil
}

// hookLines says what plugins were asked about an event and answered.
func (d *drawing) hookLines(event string) (lines []string) {
	for _, r := range d.hooks[event] {
		did := "nothing"
		switch {
		case r.Error != "":
			did = "failed" + eventtext.Because(r.Error)
		case len(r.Did) > 0:
			did = strings.Join(r.Did, ", ") + eventtext.Because(r.Reason)
		}
		lines = append(lines, eventtext.Printable(fmt.Sprintf("[%s %s: %s, %v]", r.Plugin, r.Hook, did, r.Took().Round(time.Microsecond))))
	}
	return lines
}

// line writes an event for programs.
func (d *drawing) line(e *session.Event) error {
	status := d.statuses.Of(e)
	return d.WriteJSON(struct {
		Live      bool                 `json:"live,omitzero"`
		Behind    int64                `json:"behind,omitzero"`
		Void      int64                `json:"void,omitzero"`
		StandsFor *standsFor           `json:"standsFor,omitzero"`
		Hooks     []session.HookRecord `json:"hooks,omitzero"`
		Event     *session.Event       `json:"event"`
	}{
		Live:      status.Live,
		Behind:    status.Behind,
		Void:      status.Void,
		StandsFor: d.stands[e.Seq],
		Hooks:     d.hooks[e.ID],
		Event:     e,
	})
}

// event writes an event for people: its position, author and time, and what is in it.
func (d *drawing) event(e *session.Event) error {
	author := eventtext.Printable(e.Author)
	gutter := "" // a sign at the left of each line
	mark := ""   // what has become of the event
	if e.Branch != "" {
		author += " (" + eventtext.Printable(e.Branch) + ")"
	}
	paint := func(text string) string { return text }
	if d.all {
		gutter = "  "
		status := d.statuses.Of(e)
		switch {
		case status.Void != 0:
			gutter = "× "
			mark = fmt.Sprintf("  void by the rewind at %d", status.Void)
			paint = d.style.Dim
		case status.Behind != 0:
			gutter = "│ "
			mark = fmt.Sprintf("  behind the summary at %d", status.Behind)
			paint = d.style.Dim
		}
	}
	_, err := fmt.Fprintf(d.Out, "\n%s%s %s  %s\n", gutter, d.style.Dim(fmt.Sprintf("%4d", e.Seq)),
		d.style.Bold(author),
		d.style.Dim(e.Timestamp.UTC().Format(time.DateTime)+mark))
	lines := eventtext.Lines(e)
	if s := d.stands[e.Seq]; s != nil {
		lines = append(lines, s.String())
	}
	lines = append(lines, counts(e)...)
	if d.all {
		lines = append(lines, usage(e)...)
	}
	lines = append(lines, d.hookLines(e.ID)...)
	for _, line := range lines {
		for line := range strings.SplitSeq(line, "\n") {
			if err == nil {
				_, err = fmt.Fprintf(d.Out, "%s     %s\n", gutter, paint(line))
			}
		}
	}
	return err
}

// usage says what tokens the model has counted for an event.
func usage(e *session.Event) []string {
	u := e.UsageMetadata
	if u == nil {
		return nil
	}
	var counted []string
	for _, c := range []struct {
		tokens int32
		what   string
	}{
		{u.PromptTokenCount, "prompt"},
		{u.CachedContentTokenCount, "of it cached"},
		{u.ThoughtsTokenCount, "thoughts"},
		{u.CandidatesTokenCount, "answer"},
	} {
		if c.tokens != 0 {
			counted = append(counted, fmt.Sprintf("%d %s", c.tokens, c.what))
		}
	}
	if counted == nil {
		return nil
	}
	return []string{"(tokens: " + strings.Join(counted, ", ") + ")"}
}

// ShowState prints a session's state, nothing if there is none.
func ShowState(p *cli.Program, state map[string]any) error {
	if len(state) == 0 {
		return nil
	}
	if _, err := fmt.Fprintf(p.Out, "\n%s\n", p.Style().Bold("state")); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(state)) {
		if _, err := fmt.Fprintf(p.Out, "     %s = %s\n", eventtext.Printable(key),
			eventtext.Printable(eventtext.JSON(state[key]))); err != nil {
			return err
		}
	}
	return nil
}

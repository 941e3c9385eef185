package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/plugin"
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

// eventLines says what is in an event and what it does.
func eventLines(e *session.Event) []string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, printable(fmt.Sprintf(format, args...))) }
	if e.Content != nil {
		for _, p := range e.Content.Parts {
			switch {
			case p == nil:
			case p.FunctionCall != nil:
				add("calls %s %s", p.FunctionCall.Name, argsText(p.FunctionCall.Args))
			case p.FunctionResponse != nil:
				add("response of %s %s", p.FunctionResponse.Name, compact(p.FunctionResponse.Response))
			case p.Text != "" && p.Thought:
				add("(thinks) %s", p.Text)
			case p.Text != "":
				add("%s", p.Text)
			case p.InlineData != nil:
				add("(%s, %d bytes)", p.InlineData.MIMEType, len(p.InlineData.Data))
			case p.FileData != nil:
				add("(%s, %s)", p.FileData.MIMEType, p.FileData.FileURI)
			default:
				add("%s", compact(p))
			}
		}
	}
	if e.ErrorCode != "" {
		add("(error %s%s)", e.ErrorCode, because(e.ErrorMessage))
	}
	if c := e.Actions.Compaction; c != nil {
		but := ""
		if len(c.Keep) > 0 {
			but = fmt.Sprintf(", but for %v", c.Keep)
		}
		add("compaction: stands for the events up to %d%s", c.Through, but)
		if c.Content != nil {
			lines = append(lines, eventLines(&session.Event{Content: c.Content})...)
		}
	}
	if r := e.Actions.Rewind; r != nil {
		add("rewind to %d", r.To)
	}
	for _, id := range slices.Sorted(maps.Keys(e.Actions.RequestedToolConfirmations)) {
		switch c := e.Actions.RequestedToolConfirmations[id]; {
		case e.Author != session.User:
			add("asks whether call %s may go on%s", id, because(c.Hint))
		case c.Confirmed:
			add("approves call %s", id)
		default:
			add("declines call %s", id)
		}
	}
	if to := e.Actions.TransferToAgent; to != "" {
		add("hands over to %s", to)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Actions.ArtifactDelta)) {
		add("saves %s, version %d", name, e.Actions.ArtifactDelta[name])
	}
	for _, key := range slices.Sorted(maps.Keys(e.Actions.StateDelta)) {
		add("state %s = %s", key, compact(e.Actions.StateDelta[key]))
	}
	for _, key := range slices.Sorted(maps.Keys(e.Actions.StateIncrement)) {
		add("state %s + %v", key, e.Actions.StateIncrement[key])
	}
	notes := plugin.NotesOf(e)
	if notes.Reason != "" && notes.Reason != e.ErrorMessage {
		add("(reason: %s)", notes.Reason)
	}
	for _, n := range notes.Changed {
		add("(changed by %s%s)", n.Plugin, because(n.Reason))
	}
	for _, n := range notes.Unchecked {
		add("(not checked by %s%s)", n.Plugin, because(n.Reason))
	}
	return lines
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
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

// argsText returns a call's arguments; none are an empty object.
func argsText(args map[string]any) string {
	if len(args) == 0 {
		return "{}"
	}
	return compact(args)
}

// compact returns a value as JSON on one line, integers beyond 2^53 included.
func compact(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/session"
)

// compactionPlan is what a dry run says, for programs.
type compactionPlan struct {
	Session   string  `json:"session"`
	Events    int     `json:"events"`             // of the live view
	Summaries int     `json:"summaries,omitzero"` // how many the log has
	Cost      float64 `json:"cost,omitzero"`      // what they have cost
	*compaction.Plan
}

// planCompaction says what the command to compact a session would do.
func (p *program) planCompaction(ctx context.Context, svc session.Service, c *config.Config,
	key session.Key, instructions string) error {
	settings, _ := c.Compaction()
	inv, err := session.Snapshot(ctx, svc, key)
	if err != nil {
		return exit.Store.As(err)
	}
	plan, err := settings.Preview(ctx, inv, instructions)
	if err != nil {
		return exit.Usage.As(err)
	}
	said := compactionPlan{Session: key.ID, Events: len(inv.Live), Plan: plan}
	for e, err := range svc.Read(ctx, key, session.Selection{}) {
		if err != nil {
			return exit.Store.As(err)
		}
		if note, ok := e.CustomMetadata[compaction.Name].(map[string]any); ok && e.Actions.Compaction != nil {
			cost, _ := note["cost"].(float64)
			said.Summaries++
			said.Cost += cost
		}
	}
	if p.JSONL {
		return p.WriteJSON(said)
	}
	_, err = fmt.Fprintf(p.Out, "%s\n%s", p.Style().Bold(eventtext.Printable(key.String())),
		eventtext.Printable(said.String()))
	return err
}

// reasons says in words why a prompt has less of an event.
var reasons = map[string]string{
	"old":    "clear.trigger",
	"beside": "of other calls than those that stay",
	"tokens": "keep.tokens",
	"room":   "no room",
	"before": "since an earlier compaction",
}

// String says it in words.
func (p *compactionPlan) String() string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, "  "+format+"\n", args...) }
	say("%s, about %s", phrase.Count(p.Events, "live event"), phrase.Count(p.Before, "token"))
	switch {
	case p.ClearedNext > 0:
		say("trigger: clear asks for lines in place of %s at the end of the next run, without a summary",
			phrase.Count(p.ClearedNext, "old tool result"))
	case p.Trigger == "":
		say("trigger: none of the configuration asks for a compaction by now; a command does")
	default:
		say("trigger: %s asks for a compaction at the end of the next run", p.Trigger)
	}
	if p.Declined != "" {
		say("would not be compacted (%s): %s", p.Declined, p.Why)
	} else {
		say("would be covered: %s (%s)", phrase.Count(len(p.Covers), "event"), phrase.Ranges(p.Covers))
	}
	for _, why := range slices.Sorted(maps.Keys(p.Stays)) {
		say("stays, as %s: %s", why, phrase.Ranges(p.Stays[why]))
	}
	for _, list := range []struct {
		what   string
		events map[string][]int64 // by reason
	}{
		{"only the beginning is shown", p.InPart},
		{"not shown until it is answered", p.NotShown},
		{"only first lines stay", p.InFirstLine},
	} {
		for _, why := range slices.Sorted(maps.Keys(list.events)) {
			say("%s (%s): %s", list.what, cmp.Or(reasons[why], why), phrase.Ranges(list.events[why]))
		}
	}
	if p.Declined == "" {
		say("tokens: %d before, %d stay, the summary may have %d: at most %d afterwards", p.Before,
			p.Kept, p.Summary, p.Kept+p.Summary)
	}
	if p.Pinned > 0 {
		say("kept by name: %s", phrase.Count(p.Pinned, "token"))
	}
	switch {
	case p.Summaries > 0 && p.Cost > 0:
		say("summaries so far: %d, which have cost %.6g", p.Summaries, p.Cost)
	case p.Summaries > 0:
		say("summaries so far: %d", p.Summaries)
	}
	if p.Text == "" {
		return b.String()
	}
	say("the summary, as it would be without a model:")
	for line := range strings.SplitSeq(p.Text, "\n") {
		say("  %s", line)
	}
	for _, list := range []struct {
		title string
		lines []string
	}{{"it would add to the one before:", p.Added}, {"it would leave out of the one before:", p.Left}} {
		if len(list.lines) > 0 {
			say("%s", list.title)
		}
		for _, line := range list.lines {
			say("  %s", line)
		}
	}
	return b.String()
}

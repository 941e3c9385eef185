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
	Session string `json:"session"`
	Events  int    `json:"events"` // of the live view
	// Trigger is which trigger of the configuration asks for a compaction by now, "" if none does.
	Trigger string `json:"trigger,omitzero"`
	// ClearedNext is how many old results of tools are cleared at the end of the next run, in place
	// of a summary.
	ClearedNext int `json:"clearedNext,omitzero"`

	Declined  string             `json:"declined,omitzero"`
	Why       string             `json:"why,omitzero"`
	Through   int64              `json:"through,omitzero"`
	Covers    []int64            `json:"covers,omitzero"`
	Stays     map[string][]int64 `json:"stays,omitzero"`     // by reason
	Cleared   map[string][]int64 `json:"cleared,omitzero"`   // by reason, those of which results are lines in the prompt
	Hidden    map[string][]int64 `json:"hidden,omitzero"`    // by reason, those that stay and are not in the prompt
	Lines     map[string][]int64 `json:"lines,omitzero"`     // by reason, those that the summary has the first lines of
	Before    int                `json:"before"`             // tokens of the live view
	Kept      int                `json:"kept"`               // tokens of what stays
	Summary   int                `json:"summary"`            // tokens that the summary may have
	Pinned    int                `json:"pinned,omitzero"`    // tokens of what keep names
	Summaries int                `json:"summaries,omitzero"` // how many the log has
	Cost      float64            `json:"cost,omitzero"`      // what they have cost
	Text      string             `json:"text,omitzero"`      // the summary as it would be without a model
	Added     []string           `json:"added,omitzero"`     // what the summary before does not say
	Left      []string           `json:"left,omitzero"`      // what only the summary before says
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
	said := compactionPlan{
		Session:     key.ID,
		Events:      len(inv.Live),
		Trigger:     plan.Trigger,
		ClearedNext: plan.ClearedNext,
		Declined:    plan.Declined,
		Why:         plan.Why,
		Before:      plan.Before,
		Kept:        plan.Kept,
		Summary:     plan.Summary,
		Pinned:      plan.Pinned,
		Text:        plan.Draft.After,
		Stays:       plan.StaysBy(),
		Cleared:     plan.GaveWayBy("cleared"),
		Hidden:      plan.GaveWayBy("hidden"),
		Lines:       plan.GaveWayBy("lines"),
	}
	if plan.Draft.Before != "" && plan.Draft.After != "" {
		said.Added, said.Left = plan.Draft.Differences()
	}
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
	if plan.Declined == "" {
		said.Through = plan.Through
	}
	for _, e := range plan.Covered {
		said.Covers = append(said.Covers, e.Seq)
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
		{"long results become lines", p.Cleared},
		{"not shown until it is answered", p.Hidden},
		{"only first lines stay", p.Lines},
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

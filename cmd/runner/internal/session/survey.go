package session

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/session"
)

// A survey sums up a session's log. It holds a number for each event, and no events.
type survey struct {
	statuses session.EventStatuses
	stands   map[int64]*standsFor // by the position of a compaction that no rewind has voided
	events   int
	// How many are live, behind a summary and void. Rewinds in force, and summaries that a later
	// one stands for, are none of these.
	live, behind, void int
	view, raw          int // runes of the live view, and of what it would be without summaries
}

// standsFor is what a summary stands for.
type standsFor struct {
	Events int   `json:"events"`
	First  int64 `json:"first"`
	Last   int64 `json:"last"`
	Before int   `json:"before"` // tokens of the events
	After  int   `json:"after"`  // tokens of the summary

	runes int
}

// surveyOf reads a session's log once.
func surveyOf(ctx context.Context, svc session.Reader, s *session.Session) (*survey, error) {
	v := &survey{stands: map[int64]*standsFor{}}
	type entry struct {
		runes  int32          // about how many characters of the event a model is shown
		marker *session.Event // without its content
	}
	log := make([]entry, 0, s.Position)
	for e, err := range svc.Read(ctx, s.Key, session.Selection{}) {
		if err != nil {
			return nil, err
		}
		if e.Seq > s.Position {
			break
		}
		v.statuses.Add(e)
		runes := utf8.RuneCountInString(compaction.Text([]*session.Event{e}))
		kept := entry{runes: int32(runes)}
		if e.Marker() {
			kept.marker = &session.Event{Seq: e.Seq, Actions: e.Actions}
			kept.marker.Actions.StateDelta = nil
			if c := e.Actions.Compaction; c != nil {
				kept.marker.Actions.Compaction = &session.Compaction{Through: c.Through}
			}
		}
		log = append(log, kept)
	}
	for i, kept := range log {
		e := kept.marker
		if e == nil {
			e = &session.Event{Seq: int64(i) + 1}
		}
		v.add(e, int(kept.runes))
	}
	return v, nil
}

// add takes in an event, those before it having been taken in.
func (v *survey) add(e *session.Event, runes int) {
	status := v.statuses.Of(e)
	v.events++
	switch {
	case status.Void != 0:
		v.void++
		return
	case e.Actions.Rewind != nil:
		return
	case status.Live:
		v.live++
		v.view += runes
	}
	group := &standsFor{Events: 1, First: e.Seq, Last: e.Seq, runes: runes}
	if e.Marker() { // it hands on what it stands for
		group = v.stands[e.Seq]
		if group == nil {
			return
		}
		group.Before = tokens(group.runes)
		group.After = tokens(runes)
	} else {
		v.raw += runes
		if status.Behind != 0 {
			v.behind++
		}
	}
	if status.Behind == 0 {
		return
	}
	of := v.stands[status.Behind]
	if of == nil {
		of = &standsFor{First: group.First}
		v.stands[status.Behind] = of
	}
	of.Events += group.Events
	of.First = min(of.First, group.First)
	of.Last = max(of.Last, group.Last)
	of.runes += group.runes
}

// String says it on two lines.
func (v *survey) String() string {
	text := phrase.Count(v.events, "event")
	if v.live < v.events {
		text += fmt.Sprintf(": %d live", v.live)
		if v.behind > 0 {
			text += fmt.Sprintf(", %d behind a summary", v.behind)
		}
		if v.void > 0 {
			text += fmt.Sprintf(", %d void", v.void)
		}
	}
	text += fmt.Sprintf("\nabout %s", phrase.Count(tokens(v.view), "token"))
	if v.raw != v.view {
		text += fmt.Sprintf(", %d without summaries", tokens(v.raw))
	}
	return text
}

// tokens estimates how many tokens a model counts, from characters.
func tokens(runes int) int { return (runes + 3) / 4 }

// String says it on a line.
func (s *standsFor) String() string {
	return fmt.Sprintf("(in place of %s, %s: about %s, now about %d)",
		phrase.Count(s.Events, "event"), phrase.Span(s.First, s.Last), phrase.Count(s.Before, "token"), s.After)
}

// counts says what a plugin that made a summary has counted itself.
func counts(e *session.Event) []string {
	note, _ := e.CustomMetadata[compaction.Name].(map[string]any)
	before, hasBefore := note["before"]
	after, hasAfter := note["after"]
	if !hasBefore || !hasAfter {
		return nil
	}
	return []string{eventtext.Printable(fmt.Sprintf("(its author counted %v tokens before, %v after)",
		eventtext.JSON(before), eventtext.JSON(after)))}
}

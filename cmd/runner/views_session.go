package main

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/session"
)

// viewed is a session whose views are printed.
type viewed struct {
	*program
	views
	settings compaction.Config
	rec      *session.Recording
	sessions session.Service
	// positions has, for the position of each recorded event, the position here; at index 0 it is 0.
	positions []int64
	long      int // how many views have more tokens than the budget
}

func (s *viewed) play(ctx context.Context) error {
	if _, err := s.sessions.Create(ctx, s.rec.Key, s.rec.State); err != nil {
		return exit.Store.As(err)
	}
	s.positions = []int64{0}
	for i, e := range s.rec.Events {
		if s.which == "calls" && len(e.FunctionCalls()) > 0 {
			if err := s.print(ctx, e.ID); err != nil {
				return err
			}
		}
		if err := s.append(ctx, e); err != nil {
			return err
		}
		if (i+1)%between == 0 {
			if _, _, err := s.fit(ctx); err != nil {
				return err
			}
		}
	}
	if s.which == "last" {
		return s.print(ctx, "")
	}
	return nil
}

// append appends a recorded event, but for a summary.
func (s *viewed) append(ctx context.Context, e *session.Event) error {
	last := s.positions[len(s.positions)-1]
	if e.Marker() && e.Actions.Compaction != nil {
		s.positions = append(s.positions, last)
		return nil
	}
	inv, err := s.sessions.Get(ctx, s.rec.Key)
	if err != nil {
		return exit.Store.As(err)
	}
	e = e.Clone()
	e.Seq = 0
	if r := e.Actions.Rewind; r != nil && r.To < int64(len(s.positions)) { // the event has another position here
		e.Actions.Rewind = &session.Rewind{To: s.positions[r.To]}
	}
	position, err := s.sessions.Append(ctx, session.AppendTarget{Key: s.rec.Key, After: inv.Position}, e)
	s.positions = append(s.positions, position)
	if err != nil {
		return exit.Usage.Errorf("session %s: %w", s.rec.Key, err)
	}
	return nil
}

// fit compacts the session if it is beyond its budget, and returns its view.
func (s *viewed) fit(ctx context.Context) (text string, why string, err error) {
	inv, err := session.Snapshot(ctx, s.sessions, s.rec.Key)
	if err != nil {
		return "", "", exit.Store.As(err)
	}
	e, plan, err := s.settings.Compact(ctx, inv)
	switch {
	case err != nil:
		return "", "", exit.Usage.As(err)
	case e == nil && plan != nil:
		return compaction.Text(inv.Live), plan.Why, nil
	case e == nil:
		return compaction.Text(inv.Live), "", nil
	}
	e.Author = session.PluginPrefix + compaction.Name
	e.InvocationID = inv.ID
	e.Timestamp = inv.Live[len(inv.Live)-1].Timestamp
	target := session.AppendTarget{Key: s.rec.Key, After: inv.Position}
	if _, err := s.sessions.Append(ctx, target, e); err != nil {
		return "", "", exit.Store.As(fmt.Errorf("the summary cannot be appended: %w", err))
	}
	inv, err = session.Snapshot(ctx, s.sessions, s.rec.Key)
	if err != nil {
		return "", "", exit.Store.As(err)
	}
	return compaction.Text(inv.Live), "the summary left too much", nil
}

// print prints the view.
func (s *viewed) print(ctx context.Context, event string) error {
	text, why, err := s.fit(ctx)
	if err != nil {
		return err
	}
	if n := (utf8.RuneCountInString(text) + 3) / 4; n > s.budget {
		s.long++
		s.Note("session %s: a view of %d tokens is not printed: %s", s.rec.Key, n, why)
		return nil
	}
	return s.WriteJSON(view{Session: s.rec.Key.ID, Event: event, Text: text})
}

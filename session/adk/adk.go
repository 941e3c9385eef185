// Package adk turns what other kits of the Agent Development Kit's family write into this project's
// form. Reading their events needs no call: session.Event reads every spelling of their keys.
//
// A new mark of another kit: a case in Convert.
package adk

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/internal/codec"
	"github.com/plughook/plughook/session/store"
)

// Convert turns another kit's marks in a recording into ours: compactions that cover a range of time,
// and rewinds that name an invocation. Both are inert otherwise. It returns, in words, which of them it
// had to leave as they are, and why. Events that are converted are replaced in rec.Events, not changed.
func Convert(rec *session.Recording) (left []string) {
	frontier := int64(0)
	for i, e := range rec.Events {
		c := *e
		var err error
		switch {
		case e.Marker():
			frontier = e.Seq
			continue
		case e.Actions.Compaction != nil:
			live := session.Live(rec.Events[:i])
			if c.Actions.Compaction, err = fromRange(e.Actions.Compaction, live, frontier); err == nil {
				err = store.CheckCompaction(live, frontier, e.Seq, &c)
			}
		case e.Actions.Extra[rewindKey] != nil:
			c.Actions, err = fromRewind(e, rec.Events[:i])
			c.Extra = nil
			if err == nil {
				err = store.CheckRewind(e.Seq, &c)
			}
		default:
			continue
		}
		if err != nil {
			left = append(left, fmt.Sprintf("event %q at %d stays inert: %v", e.ID, e.Seq, err))
			continue
		}
		rec.Events[i], frontier = &c, e.Seq
	}
	return left
}

const rewindKey = "rewindBeforeInvocationId"

// fromRange finds the positions of what a compaction covers by time.
func fromRange(c *session.Compaction, live []*session.Event, frontier int64) (*session.Compaction, error) {
	var start, end time.Time
	if err := json.Unmarshal(c.Extra["startTimestamp"], &start, codec.Lenient); err != nil {
		return nil, fmt.Errorf("startTimestamp: %w", err)
	}
	if err := json.Unmarshal(c.Extra["endTimestamp"], &end, codec.Lenient); err != nil {
		return nil, fmt.Errorf("endTimestamp: %w", err)
	}
	n := &session.Compaction{Frontier: frontier, Content: c.Content}
	for _, e := range live {
		if !e.Marker() && !e.Timestamp.After(end) {
			n.Through = max(n.Through, e.Seq)
		}
	}
	for _, e := range live {
		if !e.Marker() && e.Seq <= n.Through && (e.Timestamp.Before(start) || e.Timestamp.After(end)) {
			n.Keep = append(n.Keep, e.Seq)
		}
	}
	if n.Through == 0 {
		return nil, errors.New("no live event is in its range of time")
	}
	return n, nil
}

// fromRewind finds the position before an invocation. The state delta that such an event has, to undo
// others, is what a rewind does by itself.
func fromRewind(e *session.Event, log []*session.Event) (session.Actions, error) {
	var id string
	if err := json.Unmarshal(e.Actions.Extra[rewindKey], &id); err != nil {
		return session.Actions{}, fmt.Errorf("%s: %w", rewindKey, err)
	}
	first := slices.IndexFunc(log, func(e *session.Event) bool { return e.InvocationID == id })
	if first < 0 {
		return session.Actions{}, fmt.Errorf("it names the invocation %q, which is not in the log", id)
	}
	return session.Actions{Rewind: &session.Rewind{To: log[first].Seq - 1}}, nil
}

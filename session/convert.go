package session

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
)

// Convert turns another kit's marks in a recording into ours: compactions that cover a range of time,
// and rewinds that name an invocation. Both are inert otherwise. It returns, in words, which of them it
// had to leave as they are, and why. Events that are converted are replaced in rec.Events, not changed.
func Convert(rec *Recording) (left []string) {
	frontier := int64(0)
	for i, e := range rec.Events {
		c := *e
		var err error
		switch {
		case e.Marker():
			frontier = e.Seq
			continue
		case e.Actions.Compaction != nil:
			live := Live(rec.Events[:i])
			if c.Actions.Compaction, err = fromRange(e.Actions.Compaction, live, frontier); err == nil {
				err = CheckCompaction(live, frontier, e.Seq, &c)
			}
		case e.Actions.Extra[rewindKey] != nil:
			c.Actions, err = fromRewind(e, rec.Events[:i])
			c.Extra = nil
			if err == nil {
				err = CheckRewind(e.Seq, &c)
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
func fromRange(c *Compaction, live []*Event, frontier int64) (*Compaction, error) {
	var start, end time.Time
	if err := json.Unmarshal(c.Extra["startTimestamp"], &start, lenient); err != nil {
		return nil, fmt.Errorf("startTimestamp: %w", err)
	}
	if err := json.Unmarshal(c.Extra["endTimestamp"], &end, lenient); err != nil {
		return nil, fmt.Errorf("endTimestamp: %w", err)
	}
	n := &Compaction{Frontier: frontier, Content: c.Content}
	for _, e := range live {
		if e.compaction() == nil && !e.Timestamp.After(end) {
			n.Through = max(n.Through, e.Seq)
		}
	}
	for _, e := range live {
		if e.compaction() == nil && e.Seq <= n.Through && (e.Timestamp.Before(start) || e.Timestamp.After(end)) {
			n.Keep = append(n.Keep, e.Seq)
		}
	}
	if n.Through == 0 {
		return nil, invalid("no live event is in its range of time")
	}
	return n, nil
}

// fromRewind finds the position before an invocation. The state delta that such an event has, to undo
// others, is what a rewind does by itself.
func fromRewind(e *Event, log []*Event) (Actions, error) {
	var id string
	if err := json.Unmarshal(e.Actions.Extra[rewindKey], &id); err != nil {
		return Actions{}, fmt.Errorf("%s: %w", rewindKey, err)
	}
	first := slices.IndexFunc(log, func(e *Event) bool { return e.InvocationID == id })
	if first < 0 {
		return Actions{}, invalid("it names the invocation %q, which is not in the log", id)
	}
	return Actions{Rewind: &Rewind{To: log[first].Seq - 1}}, nil
}

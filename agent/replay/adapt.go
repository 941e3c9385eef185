package replay

import (
	"fmt"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// adapt returns the recorded event as it is to be yielded now, nil if there is nothing left of it.
func (a *Agent) adapt(p *recording, e *session.Event, now *session.Invocation) *session.Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case e.Actions.Rewind != nil:
		c := *e
		c.Actions.Rewind = &session.Rewind{To: p.upTo(e.Actions.Rewind.To)}
		return &c
	case e.Marker():
		c := *e
		cut := *e.Actions.Compaction
		cut.Through = p.upTo(cut.Through)
		cut.Keep = nil
		cut.Frontier = now.Frontier
		for _, k := range e.Actions.Compaction.Keep {
			if seq := p.positions[k]; seq != 0 {
				cut.Keep = append(cut.Keep, seq)
			}
		}
		c.Actions.Compaction = &cut
		return &c
	}
	return p.withoutAnswered(e, now)
}

// upTo translates a recorded position: it returns the position in the log of the last event that
// was recorded at or before it.
func (p *recording) upTo(recorded int64) int64 {
	for ; recorded > 0; recorded-- {
		if seq := p.positions[recorded]; seq != 0 {
			return seq
		}
	}
	return 0
}

// withoutAnswered leaves out the responses to calls that do not wait for a recorded response:
// something else has answered them, or they were withheld.
func (p *recording) withoutAnswered(e *session.Event, now *session.Invocation) *session.Event {
	if e.Content == nil {
		return e
	}
	var parts []*genai.Part
	for _, part := range e.Content.Parts {
		if part == nil || part.FunctionResponse == nil || !p.foreign(part.FunctionResponse, now) {
			parts = append(parts, part)
		}
	}
	switch len(parts) {
	case len(e.Content.Parts):
		return e
	case 0:
		return nil
	}
	c := *e
	content := *e.Content
	content.Parts = parts
	c.Content = &content
	return &c
}

// foreign reports whether a recorded response's call was answered by an event that is not recorded,
// or was never appended.
func (p *recording) foreign(r *genai.FunctionResponse, now *session.Invocation) bool {
	for i := len(now.Live) - 1; i >= 0; i-- {
		e := now.Live[i]
		if e.Content == nil {
			continue
		}
		for _, part := range e.Content.Parts {
			switch {
			case part == nil:
			case part.FunctionResponse != nil && part.FunctionResponse.ID == r.ID &&
				part.FunctionResponse.Name == r.Name:
				return p.seqs[e.ID] == 0
			case part.FunctionCall != nil && part.FunctionCall.ID == r.ID &&
				part.FunctionCall.Name == r.Name:
				return false
			}
		}
	}
	return p.called(r) // the live view does not have the call: it was withheld, or is behind a compaction
}

// called reports whether the record has a call that this response could answer.
func (p *recording) called(r *genai.FunctionResponse) bool {
	for _, s := range p.segments {
		for _, c := range session.Calls(s.events) {
			if c.ID == r.ID && c.Name == r.Name {
				return p.positions[p.seqs[c.Event.ID]] == 0
			}
		}
	}
	return false
}

// check returns an error if a compaction or a rewind of the recording is not valid at its place.
func check(rec *session.Recording) error {
	frontier := int64(0)
	for i, e := range rec.Events {
		if !e.Marker() {
			continue
		}
		var err error
		if e.Actions.Rewind != nil {
			err = store.CheckRewind(e.Seq, e)
		} else {
			err = store.CheckCompaction(session.Live(rec.Events[:i]), frontier, e.Seq, e)
		}
		if err != nil {
			return fmt.Errorf("replay: session %s: event %q: %w", rec.Key, e.ID, err)
		}
		frontier = e.Seq
	}
	return nil
}

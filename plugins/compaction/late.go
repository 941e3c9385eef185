package compaction

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugins/compaction/internal/meter"
	"github.com/plughook/plughook/plugins/compaction/internal/plan"
	"github.com/plughook/plughook/session"
)

// While a Summarizer writes in the background, a prompt may reach its budget. It cannot wait, so a summary is
// written offline. The one of the Summarizer comes too late for the log, but it is better and was paid. So it takes
// the place of the other one before the next call of a model: a compaction that covers the same. What the other one
// covers beyond it is added offline, as if it had come in time.

// triggerLate is the trigger of a compaction that covers the same as the one before it.
const triggerLate = "late"

// A draft is a summary that is made in the background.
type draft struct {
	number   int64 // of the session
	frontier int64 // of the session when the summary was begun
	known    int64 // the last frontier that a compaction of these was made for
	covers   []int64
	event    *session.Event // the compaction, nil until it is made

	// What was written offline meanwhile.
	head string // the ID of the last compaction of these, "" if there is none
	rest Plan   // what they cover beyond the draft
}

// drafting notes that a Summarizer writes in the background.
func (k *compactor) drafting(inv *session.Invocation, p *Plan) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key := range k.drafts {
		if len(k.drafts) < maxPending {
			break
		}
		delete(k.drafts, key)
	}
	k.drafts[inv.Key] = &draft{number: inv.Number, frontier: inv.Frontier, known: inv.Frontier, covers: p.Covers}
}

// drafted notes the compaction that was made in the background, nil if there is none. It reports whether that came
// too late.
func (k *compactor) drafted(inv *session.Invocation, e *session.Event) (late bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	d := k.drafts[inv.Key]
	if d == nil || d.number != inv.Number || d.frontier != inv.Frontier {
		return false
	}
	if e == nil || meter.ReadNote(e).By == offline {
		delete(k.drafts, inv.Key)
		return false
	}
	d.event = e
	return d.head != ""
}

// overtake notes a compaction that is made while a Summarizer writes, or has written, in the background.
func (k *compactor) overtake(inv *session.Invocation, p *Plan, e *session.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	d := k.drafts[inv.Key]
	if d == nil || !d.isOf(inv) {
		return
	}

	// It is written offline, and covers all that the draft does; or the draft is of no use.
	isPart := d.head != "" || !slices.ContainsFunc(d.covers, func(seq int64) bool { return !slices.Contains(p.Covers, seq) })
	if meter.ReadNote(e).By != offline || !isPart {
		delete(k.drafts, inv.Key)
		return
	}
	d.head = e.ID
	d.known = inv.Frontier
	d.rest.Summary = p.Summary
	d.rest.Fates = p.Fates
	d.rest.Cut = append(d.rest.Cut, p.Cut...)
	d.rest.FirstLines = p.FirstLines
	for _, c := range p.Covered {
		if !slices.Contains(d.covers, c.Seq) {
			d.rest.Covered = append(d.rest.Covered, c)
		}
	}
}

// isOf reports whether the draft is of the live view of an invocation: nothing but what has overtaken it has moved
// the head.
func (d *draft) isOf(inv *session.Invocation) bool {
	switch {
	case d.number != inv.Number:
		return false
	case d.head == "":
		return d.frontier == inv.Frontier
	}
	return len(inv.Live) > 0 && inv.Live[0].Marker() && inv.Live[0].ID == d.head
}

// finished returns the draft of the live view of an invocation, nil if there is none or it is not made yet. The mutex
// is locked.
func (k *compactor) finished(inv *session.Invocation) *draft {
	d := k.drafts[inv.Key]
	switch {
	case d == nil:
		return nil
	case !d.isOf(inv):
		if inv.Number != d.number || inv.Frontier > d.known { // it is in the log, or of no use any more
			delete(k.drafts, inv.Key)
		}
		return nil // else it is work in the background that looks at an older view
	case d.event == nil:
		return nil
	}
	return d
}

// isLate reports whether a draft is about to take the place of the head of the live view.
func (k *compactor) isLate(inv *session.Invocation) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	d := k.finished(inv)
	return d != nil && d.head != ""
}

// takeDraft returns a draft that is late, or, if the prompt does not fit, one that is made and not appended yet. It is
// the caller's then.
func (k *compactor) takeDraft(inv *session.Invocation, fits bool) *draft {
	k.mu.Lock()
	defer k.mu.Unlock()
	d := k.finished(inv)
	if d == nil || d.head == "" && fits { // the runner appends it after this invocation
		return nil
	}
	delete(k.drafts, inv.Key)
	return d
}

// late returns the event with which a draft takes the place of the head of the live view, or with which it comes just
// in time, if the prompt does not fit; nil if there is none. Its summary has at most so many tokens, unless the prompt
// does not fit.
func (k *compactor) late(ctx context.Context, inv *session.Invocation, m meter.Meter, fits bool, room int) *session.Event {
	d := k.takeDraft(inv, fits)
	switch {
	case d == nil:
		return nil
	case d.head == "":
		return d.event.Clone()
	}
	n := meter.HeadNote(inv.Live)
	if n == nil {
		return nil
	}

	// It says what the draft says, and then what was covered since.
	head := inv.Live[0]
	over := head.Actions.Compaction
	e := &session.Event{
		ID:            fmt.Sprintf("%s:%s:%d", Name, triggerLate, inv.Frontier),
		UsageMetadata: d.event.UsageMetadata,
		ModelVersion:  d.event.ModelVersion,
		Actions: session.Actions{
			TransferToAgent: head.Actions.TransferToAgent,
			Compaction: &session.Compaction{
				Through:  over.Through,
				Keep:     over.Keep,
				Frontier: inv.Frontier,
				Content:  &genai.Content{Role: genai.RoleUser},
			},
		},
	}
	note := meter.ReadNote(d.event)
	n.Trigger = triggerLate
	n.By = note.By
	n.Cost = note.Cost
	n.Sections = nil
	n.Before = m.View(inv.Live, "")
	p := d.rest
	p.Trigger = triggerLate
	p.Through = over.Through
	if fits {
		p.Summary = min(p.Summary, room)
	}
	before := &session.Invocation{Key: inv.Key, Live: []*session.Event{d.event}}
	err := k.writeSections(ctx, m, before, plan.Task{Trigger: triggerLate, Offline: true}, &p, e, n)
	summary := m.Content(e.Actions.Compaction.Content)
	n.After = n.Before - m.Heading(inv.Live) + m.Head + summary
	if err != nil || fits && summary > room {
		p.Decline(plan.DeclineGain, "the late summary has %d tokens, and there is room for %d", summary, room)
		k.report(ctx, inv, &p, nil)
		return nil
	}
	e.CustomMetadata = n.Metadata()
	k.report(ctx, inv, &p, e)
	return e
}

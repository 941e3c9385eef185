package policy

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/session"
)

// explainEvent says what a policy makes of an event of a stored session, and what was made of it then. The session is
// played up to the event, under the policy in shadow.
func (p *commands) explainEvent(ctx context.Context, r *policyReplay, seq int64) error {
	pol, err := policyOf(ctx, r.policy)
	if err != nil {
		return err
	}
	key, err := keyOf(r.keyEnv)
	if err != nil {
		return err
	}
	return p.WithSession(ctx, nil, func(svc session.Service, _ *config.Config, of session.Key) error {
		var exported bytes.Buffer
		if err := session.Export(ctx, svc, of, &exported); err != nil {
			return exit.Store.As(err)
		}
		var rec *session.Recording
		for read, err := range session.ReadRecordings(of.ID, &exported) {
			if err != nil {
				return exit.Store.As(err)
			}
			rec = read
		}
		events := rec.Events
		i := slices.IndexFunc(events, func(e *session.Event) bool { return e.Seq == seq })
		if i < 0 {
			return exit.Usage.Errorf("the session %s has no event %d; \"session show %s --all\" has the numbers", of.ID, seq, of.ID)
		}
		then, _ := guardrail.NoteOf(events[i])
		rec.Events = unjudged(events[:i+1])
		judged, err := p.judged(ctx, p.local(pol), key, []*session.Recording{rec})
		if err != nil {
			return err
		}

		// Leave what is about the event.
		id := rec.Events[i].ID
		for at := range judged.findings {
			if at.id != id {
				delete(judged.findings, at)
			}
		}
		report := &replayReport{Policy: pol.Name(), Revision: pol.Revision(), Sessions: 1, Events: 1, Rules: []*ruleLine{}, Outcomes: []outcomeLine{}}
		report.all(judged)
		report.addExamples([]*session.Recording{rec}, r.examples, r.texts, judged)
		if r.json || p.JSONL {
			return p.WriteJSON(report)
		}
		if err := p.writeReplay(report); err != nil {
			return err
		}
		return p.writeThen(then)
	})
}

// writeThen says what a guardrail has made of the event when it came.
func (p *commands) writeThen(n guardrail.Note) error {
	if len(n.Records) == 0 {
		_, err := fmt.Fprintln(p.Out, "when it came, no rule had anything to say of it")
		return err
	}
	for _, r := range n.Records {
		what := fmt.Sprintf("when it came (revision %s): rule %s at %s: %s %s", n.Revision, r.Rule, r.Stage, r.Action, r.Type)
		switch {
		case r.Would != "":
			what += fmt.Sprintf(" (out of shadow: %s)", r.Would)
		case r.Exception != "":
			what += fmt.Sprintf(" (exception: %s)", r.Exception)
		}
		if r.From != "" {
			what += ", from event " + r.From
		}
		fmt.Fprintln(p.Out, eventtext.Printable(what))
	}
	return nil
}

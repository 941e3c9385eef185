package guardrail

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/plughook/plughook/plugins/guardrail/internal/judge"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

// askJudges lets the evaluation ask judges, if the policy has any.
func (g *guard) askJudges(ctx context.Context, ev *evaluation) {
	if len(ev.policy.judges) > 0 {
		ev.judges = newPendingJudges(ctx, ev.endsRun)
		ev.shadowJudges = newPendingJudges(g.judges.Context(), nil)
	}
}

// ask asks the judges about a text, or about an item as a whole, and reports whether its verdict
// has to wait for their answers.
func (ev *evaluation) ask(t *evaluatedText) bool {
	if ev.judges == nil || t.text == "" || len(t.text) > ev.policy.MaxBytes() {
		return false
	}
	// What judges of rules in shadow say is concluded apart from the event.
	shadow := &evaluatedText{
		item:   &evaluatedItem{Item: t.item.Item},
		number: whole,
		text:   t.text,
	}
	parts := t.number != whole
	for _, spec := range ev.active.Judges(&t.verdict, t.text, parts) {
		q := &question{
			Question: judge.Question{Stage: t.item.Stage, Text: t.text, User: ev.inv.Key.App + "/" + ev.inv.Key.User},
			text:     t.text,
			spec:     spec,
			judge:    ev.policy.judges[spec.Rule],
		}

		// A judge of grounding is sent what tools have answered. Without that, it is not asked.
		if spec.Grounding {
			g := ev.grounds()
			q.Grounds = g.text
			q.Cut = g.cut
			if q.Grounds == "" || !t.item.Said || t.item.Thought {
				continue
			}
		}

		// The judge is sent what the other rules leave of the text.
		switch {
		case spec.Original:
		case parts:
			left := ev.policy.Left(&t.verdict, t.text)
			q.left = &left
			q.Text = left.Text
		default:
			q.Text = t.left
		}
		if spec.Shadow {
			shadow.open = append(shadow.open, q)
		} else {
			t.open = append(t.open, q)
		}
	}
	if len(shadow.open) > 0 {
		ev.shadowJudges.ask(shadow)
	}
	if len(t.open) > 0 {
		ev.judges.ask(t)
	}
	return len(t.open) > 0
}

// awaitJudges waits for the judges, and takes their answers into the evaluation. What other rules
// block does not wait. It returns the context's cause if the context is done first.
func (ev *evaluation) awaitJudges(ctx context.Context) error {
	pending := ev.judges
	if pending == nil {
		return nil
	}
	defer pending.end()
	if !pending.dropBlocked(ev.items) {
		if err := pending.wait(ctx); err != nil {
			return err
		}
	}
	pending.end()
	ev.takeAnswers(pending)
	return nil
}

// endsRun reports whether the answer to a question ends the run, whatever the other answers are.
func (ev *evaluation) endsRun(t *evaluatedText, q *question) bool {
	var v policy.Verdict
	q.decide(ev.policy.Policy, &v)
	return v.Action == policy.Block && t.item.mayEndRun()
}

// takeAnswers concludes the texts that have waited for answers. Nobody waits for more of them.
func (ev *evaluation) takeAnswers(pending *pendingJudges) {
	for _, t := range pending.texts {
		for _, q := range t.open {
			if q.answered && !q.dropped {
				ev.answers = append(ev.answers, q)
				q.decide(ev.policy.Policy, &t.verdict)
			}
		}
		ev.conclude(t)
	}
	pending.texts = nil
}

// decide adds to a verdict what the answer means.
func (q *question) decide(p *policy.Policy, v *policy.Verdict) {
	spans := slices.Clone(q.answer.Spans) // others may have asked the same
	for i := range spans {
		if q.left != nil {
			spans[i].Start, spans[i].End = q.left.Original(spans[i].Start, spans[i].End)
		}
	}
	p.AddAnswer(v, &q.spec, q.text, spans, q.err)
}

// reportShadow waits for the judges of rules in shadow, on a goroutine that Close waits for, and
// reports what they would have done. No event waits for them.
func (g *guard) reportShadow(ev *evaluation, e *session.Event) {
	pending := ev.shadowJudges
	if pending == nil || len(pending.texts) == 0 {
		pending.end()
		return
	}
	mine := &evaluation{
		guard:  g,
		policy: ev.policy,
		scope:  ev.scope,
		inv:    ev.inv,
		event:  e,
		edits:  map[int][]string{},
		began:  ev.began,
	}
	g.judges.Go(func() {
		life := g.judges.Context()
		err := pending.wait(life)
		pending.end()
		if err == nil {
			mine.takeAnswers(pending)
			g.reportAll(life, mine, e.ID)
		}
	})
}

// reportAll reports what judges have answered, and what the policy has made of an event. It returns
// why the event is to pass though something in it was not judged, "" if all of it was.
func (g *guard) reportAll(ctx context.Context, ev *evaluation, event string) (unchecked string) {
	for _, q := range ev.answers {
		attrs := append(ev.attrs(event),
			slog.String("rule", q.spec.Rule),
			slog.String("stage", string(q.Stage)),
			slog.Duration("took", q.took),
		)
		if q.err == nil {
			attrs = append(attrs, slog.Bool("flagged", q.answer.Flagged),
				slog.Float64("score", q.answer.Score), slog.Int("tokens", q.answer.Tokens))
			if q.Cut {
				attrs = append(attrs, slog.Bool("grounds_cut", true))
			}
			g.Log.LogAttrs(ctx, slog.LevelDebug, "guardrail: a judge has answered", attrs...)
			continue
		}
		g.metrics.errors.Add(ctx, 1)
		attrs = append(attrs, slog.String("error", q.err.Error()),
			slog.String("on_error", q.spec.OnError))
		g.Log.LogAttrs(ctx, slog.LevelError, "guardrail: a text could not be judged", attrs...)
		if policy.Action(q.spec.OnError) == policy.Allow && unchecked == "" {
			unchecked = fmt.Sprintf("rule %s: %v", q.spec.Rule, q.err)
		}
	}
	if len(ev.records) > 0 || ev.err != nil {
		g.report(ctx, ev, event)
	} else if len(ev.answers) > 0 {
		g.decisions.write(ev, event) // a judge may have failed, and its rule lets the text pass
	}
	if ev.err != nil && ev.policy.OnError() == policy.Allow {
		unchecked = ev.err.Error()
	}
	return unchecked
}

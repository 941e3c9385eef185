package agenthost

import (
	"cmp"
	"context"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agenthooks"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

func (b *bridge) onEvent(ctx context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
	s, out, err := b.subject(ctx, inv, e.Branch)
	if err != nil || out != nil {
		return orZero(out), err
	}
	j := &judged{subject: s, given: e, now: e}
	switch {
	case e.Actions.Rewind != nil:
		return plugin.Outcome{}, nil
	case e.Marker():
		j.labels = labelsOf(inv.Live) // they stand for what had them
	case e.Partial:
		return s.partial(e)
	case e.Author == session.User:
		err = j.steps(j.input, j.released, j.responses)
	default:
		err = j.steps(j.answer, j.responses, j.calls, j.output)
	}
	if err != nil {
		return plugin.Outcome{}, err
	}
	return j.outcome(), nil
}

// judged is an event that is being judged: one step after the other looks at what those before it left.
type judged struct {
	*subject
	given, now *session.Event
	reason     string
	emits      []*session.Event
	stop       bool
	end        *plugin.Outcome // the run ends with it, and nothing else happens
}

// change returns the event that the outcome has in the given one's place.
func (j *judged) change(reason string) *session.Event {
	if j.now == j.given {
		j.now = j.given.Clone()
	}
	j.reason = cmp.Or(j.reason, reason)
	return j.now
}

func (j *judged) steps(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil || j.end != nil {
			return err
		}
	}
	return nil
}

func (j *judged) outcome() plugin.Outcome {
	if j.end != nil {
		return *j.end
	}
	if len(j.labels) > 0 {
		e := j.change("")
		if e.CustomMetadata == nil {
			e.CustomMetadata = map[string]any{}
		}
		list := []any{}
		for _, l := range union(labelsOf([]*session.Event{e}), j.labels) {
			list = append(list, l)
		}
		e.CustomMetadata[labelKey] = list
	}
	out := plugin.Outcome{Emit: j.emits, Stop: j.stop, Reason: j.reason}
	if j.now != j.given {
		out.Replace = j.now
	}
	return out
}

// input judges what the user says.
func (j *judged) input() error {
	parts := visible(j.now)
	if len(parts) == 0 {
		return nil
	}
	r, err := j.emit(agenthooks.Ask{
		Point:  agenthooks.Input,
		Fields: agenthooks.Fields{"input": encode(map[string]any{"content": contentOf(parts), "role": "user"})},
		Usable: func(target jsontext.Value) error { _, err := partsOf(target, genai.RoleUser); return err },
	})
	switch {
	case err != nil:
		return err
	case !r.Proceed:
		j.end = j.block(r)
	case r.Changed:
		return j.setVisible(r, genai.RoleUser)
	}
	return nil
}

// output judges what is shown of the event.
func (j *judged) output() error {
	parts := visible(j.now)
	if len(parts) == 0 || j.now.Content.Role == genai.RoleUser || j.passed() {
		return nil
	}
	shown := ""
	if s := j.streams[j.given.ID]; s != nil {
		shown = s.released
	}
	r, err := j.emit(agenthooks.Ask{
		Point:  agenthooks.Output,
		Fields: agenthooks.Fields{"output": encode(map[string]any{"content": contentOf(parts)})},
		Usable: func(target jsontext.Value) error { return beginsWith(target, genai.RoleModel, shown) },
	})
	switch {
	case err != nil:
		return err
	case !r.Proceed && len(j.now.FunctionCalls()) > 0:
		e := j.change(r.Verdict.Reason)
		e.Content.Parts = slices.DeleteFunc(e.Content.Parts, isVisible)
	case !r.Proceed:
		j.end = j.block(r)
	case r.Changed:
		return j.setVisible(r, genai.RoleModel)
	}
	return nil
}

// setVisible puts the content of a target in the place of what the event shows.
func (j *judged) setVisible(r agenthooks.Result, role string) error {
	parts, err := partsOf(r.Target, role)
	if err != nil {
		return err
	}
	e := j.change(r.Verdict.Reason)
	rest := slices.DeleteFunc(e.Content.Parts, isVisible)
	e.Content.Parts = append(parts, rest...)
	e.GroundingMetadata, e.CitationMetadata = nil, nil
	return nil
}

const labelKey = "agent_hooks.labels"

// labelsOf returns the labels of events.
func labelsOf(events []*session.Event) (labels []string) {
	for _, e := range events {
		list, _ := e.CustomMetadata[labelKey].([]any)
		for _, l := range list {
			if text, ok := l.(string); ok && !slices.Contains(labels, text) {
				labels = append(labels, text)
			}
		}
	}
	return labels
}

func union(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(a, s)
		}
	}
	return a
}

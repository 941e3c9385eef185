package guardrail

import (
	"slices"

	"github.com/plughook/plughook/plugins/guardrail/internal/walk"
	"github.com/plughook/plughook/plugins/guardrail/internal/window"
	"github.com/plughook/plughook/session"
)

// nothing is the context of a text without a name and without a window: there is no text before it.
var nothing = []string{""}

// heads returns what the text at hand, which stands under a name in an object, is read after. In a
// window are the texts of earlier events at its stage and by its author, and those of its own
// event. What is thought is not in the window of what is said. The text may also go on from other
// texts of its event.
func (ev *evaluation) heads(window, name string) []string {
	if name != "" {
		name += ": "
	}
	return append(ev.headsIn(window, name), ev.current.After...)
}

// headsWithoutName is heads for a text that stands under no name.
func (ev *evaluation) headsWithoutName(window string) []string { return ev.heads(window, "") }

// headsIn returns what is in a window before the text at hand, with the text's name.
func (ev *evaluation) headsIn(rules, name string) []string {
	if rules != "part" && !ev.current.Label {
		limit := window.Size
		if ev.texts > window.Texts {
			limit = window.Short
		}
		before := ev.windowBefore(rules)
		if !before.Empty() {
			return before.Heads(name, limit)
		}
	}
	if name == "" {
		return nothing
	}
	return []string{name}
}

// remember notes a text for the windows of those after it.
func (ev *evaluation) remember(l walk.Leaf) {
	if !l.Spoken() || !ev.policy.LooksBack() {
		return
	}
	said := saidText{stage: l.Item.Stage, thought: l.Item.Thought, text: l.Text}
	ev.earlierTexts = append(ev.earlierTexts, said)
	for of, before := range ev.before {
		if of.stage == said.stage && of.thought == said.thought {
			before.Add(said.text)
		}
	}
}

// windowBefore returns what was said in a window before the text at hand.
func (ev *evaluation) windowBefore(rules string) *window.Before {
	of := windowOf{window: rules, stage: ev.current.Stage, thought: ev.current.Thought}
	before := ev.before[of]
	if before != nil {
		return before
	}
	before = &window.Before{}
	for _, text := range slices.Backward(ev.earlier(of)) {
		before.Add(text)
	}
	if ev.before == nil {
		ev.before = map[windowOf]*window.Before{}
	}
	ev.before[of] = before
	return before
}

// earlier returns the texts in a window, the last one first: as many as may be looked at.
func (ev *evaluation) earlier(of windowOf) (texts []string) {
	size := 0

	// The texts of this event.
	for _, said := range slices.Backward(ev.earlierTexts) {
		if said.stage == of.stage && said.thought == of.thought {
			texts = append(texts, said.text)
			size += len(said.text)
		}
	}

	// The texts of earlier events by the same author.
	for _, e := range slices.Backward(ev.inv.Live) {
		if size > window.Size {
			break
		}
		otherTurn := of.window == "turn" && e.InvocationID != ev.inv.ID
		if e.Author != ev.event.Author || otherTurn {
			continue
		}
		for _, text := range slices.Backward(spokenIn(e, of)) {
			texts = append(texts, text)
			size += len(text)
		}
	}
	return texts
}

// spokenIn returns what an event says, or thinks, at a stage.
func spokenIn(e *session.Event, of windowOf) (texts []string) {
	w := walk.Walker{Edit: func(l walk.Leaf) ([]string, bool) {
		if l.Item.Stage == of.stage && l.Item.Thought == of.thought && l.Spoken() {
			texts = append(texts, l.Text)
		}
		return nil, false
	}}
	w.Content(e.Content, stageOf(e))
	return texts
}

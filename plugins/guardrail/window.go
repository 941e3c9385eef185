package guardrail

import (
	"slices"
	"strings"

	"github.com/plughook/plughook/session"
)

// maxWindow is how much is looked at before a text, in bytes.
const maxWindow = 16 << 10

// before returns what stands before the text at hand in a window, and the name that it has in an object. In a window
// are the texts of earlier events at its stage and by its author, and those of its own event: with spaces between them,
// and with nothing, for a value may be spread over them.
func (j *judgment) before(window, name string) []string {
	if name != "" {
		name += ": "
	}
	texts := j.earlier(window)
	switch {
	case len(texts) == 0 && name == "":
		return nothing
	case len(texts) == 0:
		return []string{name}
	}
	slices.Reverse(texts)
	return []string{tail(strings.Join(texts, " ") + " " + name), tail(strings.Join(texts, ""))}
}

// nameless is before for a text that has no name.
func (j *judgment) nameless(window string) []string { return j.before(window, "") }

// tail returns the end of a text that is in a window.
func tail(text string) string {
	return strings.ToValidUTF8(text[max(0, len(text)-maxWindow):], "")
}

// says notes a text for those after it.
func (j *judgment) says(l leaf) {
	if l.spoken() && j.policy.windows() {
		j.said = append(j.said, saidText{l.item.stage, l.jsonLeaf.text})
	}
}

// spoken reports whether the text is what somebody says, a call's or an answer's.
func (l leaf) spoken() bool {
	return !l.key && (l.item.said || l.item.call != nil || l.item.response != nil)
}

// windows reports whether a rule looks further than at a text.
func (p *Policy) windows() bool {
	return slices.ContainsFunc(p.rules, func(r *rule) bool { return r.window != "part" })
}

// earlier returns the texts in a window, from the last to the first.
func (j *judgment) earlier(window string) (texts []string) {
	if window == "part" || j.event == nil {
		return nil
	}
	stage, author := j.current.stage, j.event.Author
	size := 0
	for _, said := range slices.Backward(j.said) {
		if said.stage == stage {
			texts = append(texts, said.text)
			size += len(said.text) + 1
		}
	}
	for _, e := range slices.Backward(j.inv.Live) {
		if e.Author != author || window == "turn" && e.InvocationID != j.inv.ID {
			continue
		}
		var mine []string
		w := walker{edit: func(l leaf) (string, bool) {
			if l.item.stage == stage && l.spoken() {
				mine = append(mine, l.text)
			}
			return "", false
		}}
		w.content(e.Content, stageOf(e))
		slices.Reverse(mine)
		for _, text := range mine {
			texts = append(texts, text)
			size += len(text) + 1
		}
		if size > maxWindow {
			break
		}
	}
	return texts
}

// taintKey is the key in the session's state that lists the tools that are not trusted whose answers it has. It is in
// the state, so that a compaction does not take it away, and a rewind does.
const taintKey = "guardrail:taint"

func taintOf(state map[string]any) (names []string) {
	list, _ := state[taintKey].([]any)
	for _, item := range list {
		if name, ok := item.(string); ok {
			names = append(names, name)
		}
	}
	return names
}

// answering returns the names of the tools whose answers an event has: of the program's, and of those that a model's
// provider runs.
func answering(e *session.Event) (names []string) {
	if e.GroundingMetadata != nil && len(e.GroundingMetadata.GroundingChunks) > 0 {
		names = append(names, searchTool)
	}
	if e.Content == nil {
		return names
	}
	for _, p := range e.Content.Parts {
		switch {
		case p == nil:
		case p.FunctionResponse != nil:
			names = append(names, p.FunctionResponse.Name)
		case p.ToolResponse != nil:
			names = append(names, string(p.ToolResponse.ToolType))
		case p.CodeExecutionResult != nil:
			names = append(names, codeTool)
		}
	}
	return names
}

// taint returns the list with the tools whose answers an event has, and whether it is longer for them.
func (p *Policy) taint(was []string, e *session.Event) ([]any, bool) {
	names := slices.Clone(was)
	if p.taints {
		for _, name := range answering(e) {
			if !p.trusts(name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	list := make([]any, len(names))
	for i, name := range names {
		list[i] = name
	}
	return list, len(names) > len(was)
}

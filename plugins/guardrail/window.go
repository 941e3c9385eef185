package guardrail

import (
	"slices"
	"strings"

	"github.com/plughook/plughook/session"
)

// maxWindow is how much is looked at before a text, in bytes.
const maxWindow = 16 << 10

// before returns what was there before the text at hand, in a window: the texts of earlier events at its stage and by
// its author, with spaces between them.
func (j *judgment) before(window string) string {
	if window == "part" || j.event == nil {
		return ""
	}
	stage, author := j.current.stage, j.event.Author
	var texts []string
	size := 0
	for _, e := range slices.Backward(j.inv.Live) {
		if e.Author != author || window == "turn" && e.InvocationID != j.inv.ID {
			continue
		}
		var mine []string
		w := walker{edit: func(l leaf) (string, bool) {
			if l.item.stage == stage && !l.key {
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
	if len(texts) == 0 {
		return ""
	}
	slices.Reverse(texts)
	all := strings.Join(texts, " ") + " "
	return strings.ToValidUTF8(all[max(0, len(all)-maxWindow):], "")
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

// taint returns the list with the tools whose answers an event has, and whether it is longer for them.
func (p *Policy) taint(was []string, e *session.Event) ([]any, bool) {
	names := slices.Clone(was)
	if p.taints {
		for _, r := range e.FunctionResponses() {
			if !p.trusts(r.Name) && !slices.Contains(names, r.Name) {
				names = append(names, r.Name)
			}
		}
	}
	list := make([]any, len(names))
	for i, name := range names {
		list[i] = name
	}
	return list, len(names) > len(was)
}

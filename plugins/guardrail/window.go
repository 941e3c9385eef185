package guardrail

import (
	"slices"
	"strings"
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

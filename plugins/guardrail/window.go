package guardrail

import (
	"slices"
	"strings"
)

// maxWindow is how much is looked at before a text, in bytes; of an event with more than manyTexts, shortWindow before
// each of the rest, so that the work stays in proportion.
const (
	maxWindow   = 16 << 10
	manyTexts   = 32
	shortWindow = 512
)

// saidText is a text at a stage, said or thought.
type saidText struct {
	stage   Stage
	thought bool
	text    string
}

// windowOf names what is in a window: texts at a stage, said or thought.
type windowOf struct {
	window  string
	stage   Stage
	thought bool
}

// head is the end of what stands in a window, each text with a space after it, and without.
type head struct{ spaced, plain []byte }

func (h *head) add(text string) {
	h.spaced = append(append(h.spaced, text...), ' ')
	h.plain = append(h.plain, text...)
	for _, all := range []*[]byte{&h.spaced, &h.plain} {
		if n := len(*all); n > 4*maxWindow {
			*all = append((*all)[:0], (*all)[n-2*maxWindow:]...)
		}
	}
}

// before returns what stands before the text at hand in a window, and the name that it has in an object. In a window
// are the texts of earlier events at its stage and by its author, and those of its own event: with spaces between them,
// and with nothing, for a value may be spread over them. What is thought is not in the window of what is said.
func (j *judgment) before(window, name string) []string {
	if name != "" {
		name += ": "
	}
	return append(j.window(window, name), j.current.after...)
}

// window is before, without what the text may go on from.
func (j *judgment) window(window, name string) []string {
	if window != "part" && !j.current.label {
		limit := maxWindow
		if j.texts > manyTexts {
			limit = shortWindow
		}
		if h := j.head(window); len(h.plain) > 0 {
			return []string{tail(h.spaced, limit-len(name)) + name, tail(h.plain, limit)}
		}
	}
	if name == "" {
		return nothing
	}
	return []string{name}
}

// nameless is before for a text that has no name.
func (j *judgment) nameless(window string) []string { return j.before(window, "") }

// tail returns the end of a text that is in a window.
func tail(text []byte, limit int) string {
	return strings.ToValidUTF8(string(text[max(0, len(text)-max(0, limit)):]), "")
}

// says notes a text for those after it.
func (j *judgment) says(l leaf) {
	if !l.spoken() || !j.policy.windows() {
		return
	}
	said := saidText{l.item.stage, l.item.thought, l.jsonLeaf.text}
	j.said = append(j.said, said)
	for of, h := range j.heads {
		if of.stage == said.stage && of.thought == said.thought {
			h.add(said.text)
		}
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

// head returns what stands in a window before the text at hand.
func (j *judgment) head(window string) *head {
	of := windowOf{window, j.current.stage, j.current.thought}
	h := j.heads[of]
	if h == nil {
		h = &head{}
		for _, text := range slices.Backward(j.earlier(of)) {
			h.add(text)
		}
		if j.heads == nil {
			j.heads = map[windowOf]*head{}
		}
		j.heads[of] = h
	}
	return h
}

// earlier returns the texts in a window, from the last to the first.
func (j *judgment) earlier(of windowOf) (texts []string) {
	size := 0
	for _, said := range slices.Backward(j.said) {
		if said.stage == of.stage && said.thought == of.thought {
			texts = append(texts, said.text)
			size += len(said.text)
		}
	}
	for _, e := range slices.Backward(j.inv.Live) {
		if size > maxWindow {
			break
		}
		if e.Author != j.event.Author || of.window == "turn" && e.InvocationID != j.inv.ID {
			continue
		}
		var mine []string
		w := walker{edit: func(l leaf) ([]string, bool) {
			if l.item.stage == of.stage && l.item.thought == of.thought && l.spoken() {
				mine = append(mine, l.text)
			}
			return nil, false
		}}
		w.content(e.Content, stageOf(e))
		for _, text := range slices.Backward(mine) {
			texts = append(texts, text)
			size += len(text)
		}
	}
	return texts
}

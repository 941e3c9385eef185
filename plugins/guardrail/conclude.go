package guardrail

import (
	"encoding/json"
	"slices"
	"strings"
)

// conclude takes the verdict on a text into the judgment.
func (j *judgment) conclude(t *judgedText) {
	v := &t.verdict
	if v.Action == "" && v.Err == nil && !t.unfinished {
		return
	}
	j.policy.finish(v, t.text)
	list := cuts(nil, v.Findings)
	if t.unfinished {
		t.settled = decided(list, t.settled, t.text)
	}
	parts := []string{v.Text}
	switch {
	case v.Text != t.text && t.json && isJSON(t.text):
		parts[0] = j.policy.editedJSON(t.text, list)
	case len(t.ends) > 1 || t.unfinished:
		parts = j.policy.parted(t.text, list, t.ends, t.settled)
	}
	if v.Text = strings.Join(parts, ""); t.number >= 0 && v.Text != t.text {
		j.edits[t.number] = parts
		t.item.edited, t.item.key = true, t.item.key || t.key
	}
	t.item.verdict.join(v)
	if j.err == nil {
		j.err = v.Err
	}
	for i := range v.Findings {
		j.record(t.item.stage, &v.Findings[i], t.text)
	}
}

// rewrites returns what a walk of the same thing writes in the place of its texts.
func (j *judgment) rewrites() func(leaf) ([]string, bool) {
	texts := 0
	return func(leaf) ([]string, bool) {
		text, edited := j.edits[texts]
		texts++
		return text, edited
	}
}

// end judges the item as a whole.
func (j *judgment) end(it *item) {
	if !j.at.hasWholes() {
		return
	}
	text := strings.TrimSuffix(j.joined.String(), "\n")
	var value any
	switch {
	case it.call != nil:
		value = it.call.Args
	case it.response != nil:
		value = it.response.Response
	}
	if value != nil {
		data, err := json.Marshal(value)
		if err != nil {
			data = []byte(text)
		}
		text = string(data)
	}
	t := &judgedText{item: j.current, number: -1, text: text}
	if j.at.whole(&t.verdict, text); value != nil && slices.ContainsFunc(j.at.rules, func(r *rule) bool { return r.ask != nil && !r.ask.each }) {
		j.at.tooLong(&t.verdict, text) // its texts may be short enough, each
	}
	if !j.ask(t) {
		j.conclude(t)
	}
}

func (j *judging) hasWholes() bool { return slices.ContainsFunc(j.rules, (*rule).whole) }

// strictest returns the item that asks for the strictest action, by those that count here; nil if none does.
func (j *judgment) strictest(counts func(*judgedItem) bool) *judgedItem {
	var most *judgedItem
	for _, it := range j.items {
		if counts(it) && (most == nil || it.verdict.Action.strictness() > most.verdict.Action.strictness()) {
			most = it
		}
	}
	return most
}

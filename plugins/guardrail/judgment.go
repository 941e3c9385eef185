package guardrail

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// judgment is what a policy makes of an event, or of a request.
type judgment struct {
	policy  *Policy
	scope   Scope
	inv     *session.Invocation
	event   *session.Event // of a request, one with its agent and branch
	items   []*judgedItem
	edits   map[int][]string // of texts, by their number: of each part of the text
	texts   int
	records []Record
	err     error
	tainted bool // the event has answers that the session had not
	began   time.Time

	current *judgedItem
	at      *judging
	joined  strings.Builder // the texts of the item, for rules about wholes
	said    []saidText      // the texts that were judged, for windows
	heads   map[windowOf]*head

	// Questions to judges, and those of rules in shadow; nil where nobody is asked. With ahead, rules that say parallel
	// are not asked here.
	hearing, aside *hearing
	ahead          bool
	answers        []*open
}

// judgedItem is what becomes of an item.
type judgedItem struct {
	item
	of      *session.Event
	verdict Verdict
	edited  bool // something of it was hidden
	key     bool // in a key
}

// judge judges what is walked of an event, or of a request.
func (g *guard) judge(p *Policy, inv *session.Invocation, e *session.Event, walk func(*walker, *judgment)) (*judgment, *walker) {
	j := &judgment{policy: p, inv: inv, event: e, edits: map[int][]string{}, began: time.Now()}
	j.scope = Scope{App: inv.Key.App, User: inv.Key.User, Session: inv.Key.ID, State: inv.State, Taint: taintOf(inv.State)}
	j.sees(j.ran(e))
	j.scope.Branch = e.Branch
	if e.Author != session.User {
		j.scope.Agent = e.Author
	}
	w := &walker{edit: j.text, begin: j.begin, end: j.end, answered: j.answered, unasked: j.unasked}
	walked := false
	defer func() {
		if !walked { // it panics, and nobody will wait for what was asked
			j.hearing.end()
			j.aside.end()
		}
	}()
	walk(w, j)
	walked = true
	return j, w
}

// stageOf is the stage of what an event's author says.
func stageOf(e *session.Event) Stage {
	if e.Author == session.User {
		return Input
	}
	return Output
}

func (j *judgment) begin(it *item) {
	scope := j.scope
	scope.Tool, scope.Args = it.tool, it.args
	j.current = &judgedItem{item: *it, of: j.event}
	j.items = append(j.items, j.current)
	j.at = j.policy.at(it.stage, &scope)
	also := it.also
	if j.event.Author == session.User && it.stage != Input {
		also = Input // whatever a caller gives it out for
	}
	if also != "" {
		for _, r := range j.policy.about(nil, also, &scope) {
			if !slices.Contains(j.at.rules, r) {
				j.at.rules = append(j.at.rules, r)
			}
		}
	}
	if it.label {
		j.at.rules = slices.DeleteFunc(j.at.rules, (*rule).whole)
	}
	j.joined.Reset()
}

// text judges one text of the item; nothing is changed yet.
func (j *judgment) text(l leaf) ([]string, bool) {
	number := j.texts
	j.texts++
	if j.at.hasWholes() && !l.key {
		j.joined.WriteString(l.jsonLeaf.text)
		j.joined.WriteByte('\n')
	}
	var v Verdict
	j.at.text(&v, func(window string) []string { return j.before(window, l.name) }, l.jsonLeaf.text, l.gaps)
	unfinished, settled := j.unfinished(l), len(l.jsonLeaf.text)
	if unfinished {
		settled = j.at.kept(&v, j.nameless, l.jsonLeaf.text, l.gaps)
	}
	j.says(l) // to those after it, and not to itself
	if j.hearing == nil && v.Action == "" && v.Err == nil && !unfinished {
		return nil, false
	}
	t := &judgedText{item: j.current, number: number, key: l.key, json: l.value, text: l.jsonLeaf.text, ends: l.ends, settled: settled, verdict: v, unfinished: unfinished}
	if !j.ask(t) {
		j.conclude(t)
	}
	return nil, false
}

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

// unasked reports whether a user answers a call that nobody made: its name is then the user's, and not a tool's.
func (j *judgment) unasked(r *genai.FunctionResponse) bool {
	return j.event.Author == session.User && !slices.ContainsFunc(j.inv.Live, func(e *session.Event) bool {
		return slices.ContainsFunc(e.FunctionCalls(), func(c *genai.FunctionCall) bool { return c.Name == r.Name })
	})
}

// answered returns the arguments of the call that a response answers, nil if they are not known.
func (j *judgment) answered(r *genai.FunctionResponse) map[string]any {
	for _, e := range slices.Backward(j.inv.Live) {
		for _, c := range e.FunctionCalls() {
			if c.Name == r.Name && c.ID == r.ID {
				return c.Args
			}
		}
	}
	return nil
}

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

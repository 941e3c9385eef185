package guardrail

import (
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

	// Questions to judges, and those of rules in shadow; nil where nobody is asked.
	hearing, aside *hearing
	answers        []*open
}

// judgedItem is what becomes of an item.
type judgedItem struct {
	item
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
	j.current = &judgedItem{item: *it}
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

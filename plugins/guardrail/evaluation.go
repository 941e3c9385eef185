package guardrail

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugins/guardrail/internal/jsonvalue"
	"github.com/plughook/plughook/plugins/guardrail/internal/walk"
	"github.com/plughook/plughook/plugins/guardrail/internal/window"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

// evaluation is what a policy makes of an event, or of a request to a model.
type evaluation struct {
	guard  *guard
	policy *enforced
	scope  policy.Scope
	inv    *session.Invocation
	event  *session.Event // of a request: an event with the request's agent and branch
	began  time.Time

	// What came of it.
	items   []*evaluatedItem
	edits   map[int][]string // of texts, by their number: the new text, in the text's parts
	records []Record
	err     error // why a text could not be judged
	tainted bool  // the event has answers of tools that the session did not have
	// unpinned returns how a tool differs from its pin, nil if it does not. It is nil where nobody can be
	// asked about calls.
	unpinned func(name string) (*policy.Unpinned, error)
	pinErr   error // why a declaration could not be compared with its pin

	// The item at hand.
	current *evaluatedItem
	active  *policy.Active
	joined  strings.Builder // its texts, for rules about whole texts
	left    []leftText      // what the other rules leave of its texts, if judges see it whole
	texts   int             // texts of the event so far

	// What was said before the text at hand, for rules that look back.
	said   []saidText
	before map[windowOf]*window.Before

	// Questions to the judges of rules, and of rules in shadow; nil if no rule has one.
	judges, shadowJudges *pendingJudges
	answers              []*question
	answered             *grounds // what tools have answered in the run, once it was asked for
}

// leftText is what the rules without a judge leave of a text.
type leftText struct {
	text string
	key  bool // it is a key
}

// evaluatedItem is an item of an event, and what becomes of it.
type evaluatedItem struct {
	walk.Item
	verdict   policy.Verdict
	edited    bool // something in it was hidden
	keyEdited bool // something in one of its keys was hidden

	unpinned *policy.Unpinned // of a call: how its tool differs from its pin, nil if it does not
}

// asks reports whether a human is asked about the item, a call, unless it is blocked.
func (it *evaluatedItem) asks() bool {
	return it.verdict.Action == policy.Ask || it.unpinned != nil
}

// takesOut reports whether a finding takes a part out of the item's texts.
func (it *evaluatedItem) takesOut() bool {
	for i := range it.verdict.Findings {
		f := &it.verdict.Findings[i]
		if f.Action.Hides() && !f.Whole() {
			return true
		}
	}
	return false
}

// evaluatedText is a text of an item, or an item as a whole.
type evaluatedText struct {
	item    *evaluatedItem
	number  int  // of the text in its event, whole for an item as a whole
	key     bool // it is a key
	value   bool // it is a value: if it is JSON, it stays JSON
	text    string
	left    string // of an item as a whole: what the rules without a judge leave of it
	ends    []int  // where the parts end of a text that stands in several
	verdict policy.Verdict
	open    []*question // to judges, without an answer yet

	unfinished bool // its author failed while saying it
	settled    int  // how many bytes of such a text the rules have decided about
}

// whole is the number of an item as a whole.
const whole = -1

// evaluate judges what visit walks of an event, or of a request.
func (g *guard) evaluate(
	p *enforced, inv *session.Invocation, e *session.Event, visit func(*walk.Walker, *evaluation),
) (*evaluation, *walk.Walker) {
	ev := &evaluation{
		guard:  g,
		policy: p,
		inv:    inv,
		event:  e,
		edits:  map[int][]string{},
		began:  time.Now(),
		scope: policy.Scope{
			App:     inv.Key.App,
			User:    inv.Key.User,
			Session: inv.Key.ID,
			Branch:  e.Branch,
			State:   inv.State,
			Taint:   g.taintOf(inv.State),
		},
	}
	if e.Author != session.User {
		ev.scope.Agent = e.Author
	}
	ev.taint(ev.toolsThatRan(e))
	w := &walk.Walker{
		Edit:     ev.text,
		Begin:    ev.begin,
		End:      ev.end,
		Answered: ev.argsOf,
		Unasked:  ev.unasked,
	}

	// If the walk panics, nobody waits for the judges that were asked.
	walked := false
	defer func() {
		if !walked {
			ev.judges.end()
			ev.shadowJudges.end()
		}
	}()
	visit(w, ev)
	walked = true
	return ev, w
}

// stageOf returns the stage of what an event's author says.
func stageOf(e *session.Event) policy.Stage {
	if e.Author == session.User {
		return policy.Input
	}
	return policy.Output
}

// stage is the stage of what the event's author says.
func (ev *evaluation) stage() policy.Stage { return stageOf(ev.event) }

// begin finds the rules that are about an item.
func (ev *evaluation) begin(it *walk.Item) {
	ev.current = &evaluatedItem{Item: *it}
	ev.items = append(ev.items, ev.current)
	if it.Call != nil && ev.unpinned != nil {
		ev.askIfUnpinned(it.Call.Name)
	}
	scope := ev.scope
	scope.Tool = it.Tool
	scope.Args = it.Args
	scope.Files = it.Files
	also := it.Also
	if ev.event.Author == session.User && it.Stage != policy.Input {
		also = policy.Input // what a caller says is input, whatever it is given out for
	}
	if also == "" {
		ev.active = ev.policy.At(&scope, it.Stage)
	} else {
		ev.active = ev.policy.At(&scope, it.Stage, also)
	}
	if it.Label {
		ev.active.DropWhole()
	}
	ev.joined.Reset()
	ev.left = ev.left[:0]
}

// text judges one text of the item. It changes nothing yet.
func (ev *evaluation) text(l walk.Leaf) ([]string, bool) {
	number := ev.texts
	ev.texts++
	text := l.Text
	if ev.active.HasWhole() && !l.Key {
		ev.joined.WriteString(text)
		ev.joined.WriteByte('\n')
	}

	// Look for what the detectors find.
	var v policy.Verdict
	name := l.Name
	before := func(window string) []string { return ev.heads(window, name) }
	ev.active.Find(&v, before, text, l.Gaps)
	if ev.judges != nil && ev.active.JudgesWhole() {
		left := ev.policy.Left(&v, text)
		ev.left = append(ev.left, leftText{text: left.Text, key: l.Key})
	}
	unfinished := ev.unfinished(l)
	settled := len(text)
	if unfinished {
		var begun policy.Verdict
		settled = ev.active.FindSettled(&begun, &policy.Progress{}, ev.headsWithoutName, text, l.Gaps)
		if begun.Err != nil {
			v.Join(&begun)
		}
	}
	ev.remember(l) // for the texts after it
	if ev.judges == nil && v.Action == "" && v.Err == nil && !unfinished {
		return nil, false
	}

	// Conclude now, or once its judges have answered.
	t := &evaluatedText{
		item:       ev.current,
		number:     number,
		key:        l.Key,
		value:      l.Value,
		text:       text,
		ends:       l.Ends,
		verdict:    v,
		unfinished: unfinished,
		settled:    settled,
	}
	if !ev.ask(t) {
		ev.conclude(t)
	}
	return nil, false
}

// end judges the item as a whole.
func (ev *evaluation) end(it *walk.Item) {
	if !ev.active.HasWhole() {
		return
	}
	text := strings.TrimSuffix(ev.joined.String(), "\n")
	left := ev.leftJoined()
	var object any
	switch {
	case it.Files != nil: // they have no text
	case it.Call != nil:
		object = it.Call.Args
	case it.Response != nil:
		object = it.Response.Response
	}
	if object != nil {
		text = inJSON(object, text)
		left = inJSON(ev.leftOf(object), left)
	}
	t := &evaluatedText{item: ev.current, number: whole, text: text, left: left}
	ev.active.Whole(&t.verdict, text)
	if object != nil && ev.active.JudgesWhole() {
		ev.active.TooLong(&t.verdict, text) // each of its texts may be short enough
	}
	if !ev.ask(t) {
		ev.conclude(t)
	}
}

// leftJoined returns what the rules without a judge leave of the item's texts, joined.
func (ev *evaluation) leftJoined() string {
	var texts []string
	for _, l := range ev.left {
		if !l.key {
			texts = append(texts, l.text)
		}
	}
	return strings.Join(texts, "\n")
}

// leftOf returns what the rules without a judge leave of an object, whose texts are the first ones of
// the item.
func (ev *evaluation) leftOf(object any) any {
	texts := ev.left
	left, _ := jsonvalue.Each(object, "", func(l jsonvalue.Leaf) (string, bool) {
		if len(texts) == 0 {
			return l.Text, false // no judge sees it
		}
		text := texts[0].text
		texts = texts[1:]
		return text, text != l.Text
	})
	return left
}

// inJSON returns a value as JSON; a text in its place if it cannot be written as JSON.
func inJSON(value any, otherwise string) string {
	data, err := json.Marshal(value)
	if err != nil {
		return otherwise
	}
	return string(data)
}

// conclude takes the verdict on a text into the evaluation.
func (ev *evaluation) conclude(t *evaluatedText) {
	v := &t.verdict
	if v.Action == "" && v.Err == nil && !t.unfinished {
		return
	}
	ev.policy.Finish(v, t.text)
	edit := ev.policy.Edit(v, t.text)

	// Of an unfinished text, what may be the beginning of a finding is not kept for want of its end.
	if t.unfinished {
		t.settled = edit.Whole(t.settled)
	}

	// Put the text into its parts. What is JSON stays JSON.
	parts := []string{v.Text}
	switch {
	case v.Text != t.text && t.value && jsonvalue.Is(t.text):
		parts[0] = edit.JSON()
	case len(t.ends) > 1 || t.unfinished:
		parts = edit.Parts(t.ends, t.settled)
	}
	v.Text = strings.Join(parts, "")
	if t.number != whole && v.Text != t.text {
		ev.edits[t.number] = parts
		t.item.edited = true
		t.item.keyEdited = t.item.keyEdited || t.key
	}

	t.item.verdict.Join(v)
	if ev.err == nil {
		ev.err = v.Err
	}
	for i := range v.Findings {
		ev.record(t.item.Stage, &v.Findings[i], t.text)
	}
}

// rewrite returns the Edit of a walk that writes what the evaluation makes of the texts.
func (ev *evaluation) rewrite() func(walk.Leaf) ([]string, bool) {
	texts := 0
	return func(walk.Leaf) ([]string, bool) {
		parts, edited := ev.edits[texts]
		texts++
		return parts, edited
	}
}

// strictest returns the item with the strictest action, of those that count; nil if none does.
func (ev *evaluation) strictest(counts func(*evaluatedItem) bool) *evaluatedItem {
	var most *evaluatedItem
	for _, it := range ev.items {
		if counts(it) && (most == nil || it.verdict.Action.StricterThan(most.verdict.Action)) {
			most = it
		}
	}
	return most
}

// unfinished reports whether a text is what an agent had said when it failed.
func (ev *evaluation) unfinished(l walk.Leaf) bool {
	e := ev.event
	failed := e.Interrupted || e.ErrorCode != "" && e.ErrorCode != session.Denied
	return l.Item.Said && failed && e.FromAgent()
}

// madeUp returns a function that reports whether the event's author has made up the name of a
// function.
func (ev *evaluation) madeUp(r *runState) func(*genai.FunctionCall) bool {
	return func(c *genai.FunctionCall) bool { return r.madeUp(ev.event.Author, c.Name) }
}

// unasked reports whether a user answers a call that nobody made: its name is then the user's, and
// not a tool's.
func (ev *evaluation) unasked(r *genai.FunctionResponse) bool {
	if ev.event.Author != session.User {
		return false
	}
	for _, e := range ev.inv.Live {
		for _, c := range e.FunctionCalls() {
			if c.Name == r.Name {
				return false
			}
		}
	}
	return true
}

// argsOf returns the arguments of the call that a response answers, nil if they are not known.
func (ev *evaluation) argsOf(r *genai.FunctionResponse) map[string]any {
	for _, e := range slices.Backward(ev.inv.Live) {
		for _, c := range e.FunctionCalls() {
			if c.Name == r.Name && c.ID == r.ID {
				return c.Args
			}
		}
	}
	return nil
}

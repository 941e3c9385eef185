package guardrail

import (
	"slices"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugins/guardrail/internal/jsonvalue"
	"github.com/plughook/plughook/plugins/guardrail/internal/walk"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

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
			Turn:    inv.ID,
		},
	}
	if p.flows {
		ev.scope.Seen = g.seenIn(inv.State)
	}
	if e.Author != session.User {
		ev.scope.Agent = e.Author
	}
	ran := ev.toolsThatRan(e)
	ev.taint(ran)
	ev.sawAnswers(ran)
	w := ev.walker()

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

// walker returns what walks through the texts that are judged.
func (ev *evaluation) walker() *walk.Walker {
	return &walk.Walker{Edit: ev.text, Begin: ev.begin, End: ev.end, Answered: ev.argsOf, Unasked: ev.unasked}
}

// begin selects the rules that judge an item, before the item's texts are judged.
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

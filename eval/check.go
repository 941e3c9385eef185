package eval

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
	"github.com/plughook/plughook/trajectory"
)

// check compares a turn with what is expected of it: a Score for each expectation, 1 if it is met.
func (e *Evaluator) check(t *turnRun) []Score {
	var scores []Score
	note := func(name, why string) {
		s := Score{Turn: t.number, Name: name, Threshold: 1, Passed: why == "", Why: why}
		if s.Passed {
			s.Score = 1
		}
		scores = append(scores, s)
	}
	x := &t.Expect
	if x.NoCalls || x.Calls != nil {
		note("calls", compareCalls(x.Calls, t.made(), x.Order))
	}
	if x.Text != nil {
		note("text", x.Text.compare(t.answer))
	}
	if x.Denied != nil {
		note("denied", compareDenied(*x.Denied, t.events))
	}
	for _, p := range x.Plugins {
		note("plugin "+p.Plugin, p.compare(t))
	}
	if len(x.Nodes) > 0 {
		note("nodes", compareNames("node", x.Nodes, nodesOf(t.events)))
	}
	if len(x.Waits) > 0 {
		note("waits", compareWaits(x.Waits, t.waits))
	}
	for _, key := range sortedKeys(x.State) {
		why := ""
		if got := t.state[key]; !same(x.State[key], got) {
			why = fmt.Sprintf("want %s, got %s", jsonOf(x.State[key]), jsonOf(got))
		}
		note("state "+key, why)
	}
	if x.Cost != nil {
		note("cost", compareCost(*x.Cost, t.usage))
	}
	if x.Tokens != nil {
		why := ""
		if t.usage.tokens > *x.Tokens {
			why = fmt.Sprintf("at most %d tokens, got %d", *x.Tokens, t.usage.tokens)
		}
		note("tokens", why)
	}
	if x.Latency > 0 {
		why := ""
		if t.took > x.Latency {
			why = fmt.Sprintf("at most %v, took %v", x.Latency, t.took)
		}
		note("latency", why)
	}
	if n := len(t.events); n > 0 {
		if last := t.events[n-1]; last.ErrorCode != "" && last.ErrorCode != session.Denied {
			note("run", "the turn ended with a failure: "+eventtext.Error(last))
		}
	}
	if len(t.missing) > 0 {
		note("recorded tools", strings.Join(t.missing, "; "))
	}
	return scores
}

// made returns the tool calls of the turn. A workflow's question to a person is none.
func (t *turnRun) made() []*genai.FunctionCall {
	var list []*genai.FunctionCall
	for _, c := range t.calls {
		if c.Name != session.AskTool {
			list = append(list, c.FunctionCall)
		}
	}
	return list
}

// answerOf returns the last answer of a turn.
func answerOf(events []*session.Event) string { return trajectory.FinalOutput(events) }

// How the arguments of a call compare.
const (
	matchExact   = "exact"
	matchSubset  = "subset"
	matchPattern = "pattern"
)

// fits reports whether a call is as it is expected.
func (c *ExpectedCall) fits(got *genai.FunctionCall) bool {
	switch {
	case c.Name != got.Name:
		return false
	case c.Args == nil:
		return true
	case c.Match == "" || c.Match == matchExact:
		return same(c.Args, notNil(got.Args))
	}
	for key, want := range c.Args {
		value, has := got.Args[key]
		if !has {
			return false
		}
		pattern, isText := want.(string)
		if c.Match == matchPattern && isText {
			text, ok := value.(string)
			if !ok {
				text = jsonOf(value)
			}
			if whole, err := regexp.Compile(`^(?:` + pattern + `)$`); err != nil || !whole.MatchString(text) {
				return false
			}
			continue
		}
		if !same(want, value) {
			return false
		}
	}
	return true
}

func (c *ExpectedCall) String() string {
	if c.Args == nil {
		return c.Name
	}
	return written(c.Name, c.Args)
}

// compareCalls returns where the calls of a turn are not those that were expected, "" if they are.
func compareCalls(want []ExpectedCall, got []*genai.FunctionCall, order string) string {
	list := func() string {
		var made []string
		for _, c := range got {
			made = append(made, written(c.Name, c.Args))
		}
		if made == nil {
			return "no call was made"
		}
		return "made were: " + strings.Join(made, ", ")
	}
	switch order {
	case orderIn:
		next := 0
		for _, c := range got {
			if next < len(want) && want[next].fits(c) {
				next++
			}
		}
		if next < len(want) {
			return fmt.Sprintf("call %d, %s, was not made in this order; %s", next+1, &want[next], list())
		}
	case orderAny:
		left := slices.Clone(got)
		for i := range want {
			n := slices.IndexFunc(left, want[i].fits)
			if n < 0 {
				return fmt.Sprintf("%s was not made; %s", &want[i], list())
			}
			left = slices.Delete(left, n, n+1)
		}
	default:
		for i := range want {
			if i >= len(got) {
				return fmt.Sprintf("call %d: want %s; %s", i+1, &want[i], list())
			}
			if !want[i].fits(got[i]) {
				return fmt.Sprintf("call %d: want %s, got %s", i+1, &want[i], written(got[i].Name, got[i].Args))
			}
		}
		if len(got) > len(want) {
			more := got[len(want)]
			return fmt.Sprintf("call %d: want none, got %s", len(want)+1, written(more.Name, more.Args))
		}
	}
	return ""
}

// compare returns in what the answer is not as it is expected, "" if it is.
func (x *ExpectedText) compare(answer string) string {
	got := "the answer is " + quoted(answer)
	if x.Equals != nil && *x.Equals != answer {
		return fmt.Sprintf("want %s; %s", quoted(*x.Equals), got)
	}
	for _, part := range x.Contains {
		if !strings.Contains(answer, part) {
			return fmt.Sprintf("%s is not in it; %s", quoted(part), got)
		}
	}
	for _, part := range x.Without {
		if strings.Contains(answer, part) {
			return fmt.Sprintf("%s is in it; %s", quoted(part), got)
		}
	}
	if x.Pattern != "" && !regexp.MustCompile(x.Pattern).MatchString(answer) { // Read has checked it
		return fmt.Sprintf("the pattern %s does not match; %s", x.Pattern, got)
	}
	if x.Schema == nil {
		return ""
	}
	fits, err := tool.Schema(x.Schema)
	if err != nil {
		return err.Error()
	}
	value, err := session.DecodeValue([]byte(answer))
	if err != nil {
		return "it is no JSON; " + got
	}
	if err := fits(context.Background(), value); err != nil {
		return err.Error()
	}
	return ""
}

// quoted returns a text as a message shows it.
func quoted(text string) string { return fmt.Sprintf("%q", eventtext.OneLine(text, 300)) }

func compareDenied(want bool, events []*session.Event) string {
	i := slices.IndexFunc(events, func(e *session.Event) bool { return e.ErrorCode == session.Denied })
	switch {
	case want && i < 0:
		return "nothing was denied"
	case !want && i >= 0:
		return fmt.Sprintf("event %d was denied: %s", events[i].Seq, eventtext.Error(events[i]))
	}
	return ""
}

// compare returns "" if the plugin has done it.
func (p *PluginAction) compare(t *turnRun) string {
	reason := regexp.MustCompile(p.Reason) // Read has checked it
	var did []string
	for _, c := range t.hooks {
		if c.Plugin != p.Plugin {
			continue
		}
		fits := p.Did == "" || slices.Contains(c.Did(), p.Did)
		why := c.Outcome.Reason
		if fits && reason.MatchString(why) {
			return ""
		}
		did = append(did, strings.Join(c.Did(), " and ")+eventtext.Because(why))
	}
	if did == nil {
		return "it did nothing"
	}
	return "it " + strings.Join(did, "; it ")
}

// nodesOf returns the names of the nodes whose runs have events.
func nodesOf(events []*session.Event) []string {
	var names []string
	for _, e := range events {
		if e.NodeInfo == nil {
			continue
		}
		for _, element := range strings.Split(e.NodeInfo.Path, "/") {
			name, _, _ := strings.Cut(element, "@")
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

func compareNames(what string, want, got []string) string {
	for _, name := range want {
		if !slices.Contains(got, name) {
			return fmt.Sprintf("the %s %s did not run; those that did: %s", what, name, cmp.Or(strings.Join(got, ", "), "none"))
		}
	}
	return ""
}

func compareWaits(want []string, waits []session.Call) string {
	for _, name := range want {
		if !slices.ContainsFunc(waits, func(c session.Call) bool { return slices.Contains(callNames(&c), name) }) {
			var others []string
			for i := range waits {
				others = append(others, callNames(&waits[i])[0])
			}
			return fmt.Sprintf("%s does not wait; those that do: %s", name, cmp.Or(strings.Join(others, ", "), "none"))
		}
	}
	return ""
}

func compareCost(most float64, u usage) string {
	switch {
	case len(u.unpriced) > 0:
		return fmt.Sprintf("the price of %q is not known; set it under prices: in the configuration", u.unpriced)
	case u.cost > most:
		return fmt.Sprintf("at most %g, got %g", most, u.cost)
	}
	return ""
}

// same reports whether two values are the same JSON, with all digits of whole numbers.
func same(a, b any) bool {
	plain := func(v any) (value any, err error) {
		data, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		return session.DecodeValue(data)
	}
	one, err := plain(a)
	other, err2 := plain(b)
	return err == nil && err2 == nil && reflect.DeepEqual(one, other)
}

func jsonOf(v any) string { return eventtext.OneLine(eventtext.JSON(v), 200) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

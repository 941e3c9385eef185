package budget

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// Key is the key in the CustomMetadata of the plugin's warnings and denials. It holds an object
// with limit (its name), used, max, and free: the time at which something is free again, in RFC
// 3339, left out if that is never. A warning also has "warning": true.
const Key = "budget"

// New returns the plugin, or an error for each thing that is wrong with the configuration. Put it
// after plugins that rewind, block inputs or answer for the model, so that it counts what is left.
func New(c Config) (*plugin.Plugin, error) {
	limits, err := check(c)
	if err != nil {
		return nil, err
	}
	b := &budget{Config: c, limits: limits}
	b.Name = cmp.Or(c.Name, "budget")
	return &plugin.Plugin{
		Name:        b.Name,
		StateName:   b.Name,
		Doc:         "Limits how many runs, model calls, tool calls and tokens are used.",
		Partials:    true, // it takes nothing out of what agents say
		ReadsState:  func() []string { return []string{c.TenantKey} },
		SharedState: true, // other sessions of the user and the app use the same budget
		BeforeRun:   b.beforeRun,
		BeforeModel: b.beforeModel,
		OnEvent:     b.onEvent,
		About:       func() plugin.About { return plugin.About{Uses: b.uses} },
	}, nil
}

type budget struct {
	Config
	limits []*limit
}

// onEvent counts what the event uses, on the event itself: what is not appended is not counted.
func (b *budget) onEvent(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
	switch {
	case e.Partial:
		return plugin.Outcome{}, nil
	case e.Actions.Rewind != nil:
		return b.restore(inv), nil
	case e.Author != session.User:
		return b.step(inv, e), nil
	case begins(inv, e):
		return b.begin(inv, e), nil
	}
	return plugin.Outcome{}, nil
}

// beforeRun counts a run that has no input.
func (b *budget) beforeRun(_ context.Context, inv *session.Invocation) (plugin.Outcome, error) {
	if inv.Input != nil {
		return plugin.Outcome{}, nil
	}
	out := b.begin(inv, &session.Event{})
	if out.Replace != nil {
		out.Emit = append([]*session.Event{out.Replace}, out.Emit...)
		out.Replace = nil
	}
	return out, nil
}

// beforeModel denies a model call for which nothing is left. What it uses is counted when the model
// has answered.
func (b *budget) beforeModel(_ context.Context, inv *session.Invocation, _ *model.Request) (plugin.Outcome, error) {
	t := b.open(inv)
	if u := t.full(countModelCalls, countTokens); u != nil {
		return t.deny(u), nil
	}
	return plugin.Outcome{}, nil
}

// begins reports whether an input begins a run that counts. A command runs no agent. An answer to
// calls that wait (a yes or no, the result of a long-running call) goes on with a run that was
// counted.
func begins(inv *session.Invocation, input *session.Event) bool {
	if _, command := input.Command(); command && input.Content == nil {
		return false
	}
	answers := len(input.Actions.RequestedToolConfirmations)
	if input.Content != nil {
		for _, p := range input.Content.Parts {
			if p == nil || p.FunctionResponse == nil {
				return true
			}
			rest := *p
			rest.FunctionResponse = nil
			if !reflect.ValueOf(rest).IsZero() {
				return true
			}
			answers++
		}
	}
	if answers == 0 {
		return true
	}
	for _, c := range session.Calls(append(slices.Clip(inv.Live), input)) {
		if slices.Contains(c.Decisions, input) || c.Response == input && c.Deferred != nil {
			answers--
		}
	}
	return answers > 0 // something in it answers nothing
}

// begin counts a run, or denies it.
func (b *budget) begin(inv *session.Invocation, input *session.Event) plugin.Outcome {
	t := b.open(inv)
	if u := t.full(countRuns, countModelCalls, countTokens, countNodeRuns); u != nil {
		return t.deny(u)
	}
	t.add(countRuns, 1)
	return t.outcome(input)
}

// step counts the model call that an agent's or a plugin's event answers, and the tool calls that
// it makes.
func (b *budget) step(inv *session.Invocation, e *session.Event) plugin.Outcome {
	calls := e.FunctionCalls()
	if e.FromWorkflow() { // what it asks a person is no call of a tool
		calls = slices.DeleteFunc(calls, func(c *genai.FunctionCall) bool { return c.Name == session.AskTool })
	}
	answer := answersModel(e)
	ended := endsNodeRun(e)
	if len(calls) == 0 && !answer && !ended {
		return plugin.Outcome{}
	}
	t := b.open(inv)
	var over *use // of node runs: the node has run, so its end stays, and the invocation stops behind it
	if ended {
		over = t.full(countNodeRuns)
		t.add(countNodeRuns, 1)
	}
	if answer {
		t.add(countModelCalls, 1)
		t.add(countTokens, tokens(e.UsageMetadata))
	}

	// Each call takes one of every limit that is about it. A call that is denied takes nothing. A
	// call that is held takes nothing of the limit that holds it, since nothing is left there.
	var beyond []*session.Event
	var reached []string // the limits of which nothing is left
	asks := map[string]session.Confirmation{}
	for _, call := range calls {
		var about []*use
		var deny, ask *use
		var whose []session.Approver // of all limits that ask
		for _, u := range t.uses {
			switch {
			case u.limit.Count != countToolCalls || !u.limit.about(call.Name):
			case !u.full():
				about = append(about, u)
			case u.limit.Beyond == beyondAsk && call.ID != "": // without an id nobody could answer
				ask = cmp.Or(ask, u)
				whose = append(whose, session.Approver{By: cmp.Or(u.limit.Ask.By, session.UserRole), Names: u.limit.Ask.Names})
			default:
				deny = cmp.Or(deny, u)
			}
		}
		if deny != nil {
			reached = append(reached, deny.limit.Name)
			beyond = append(beyond, t.denyCall(deny, call))
			continue
		}
		for _, u := range about {
			u.adds++
		}
		if ask != nil {
			reached = append(reached, ask.limit.Name)
			asks[call.ID] = session.Confirmation{Hint: t.question(ask, call), Ask: whose}
		}
	}
	if len(asks) > 0 {
		actions := session.Actions{RequestedToolConfirmations: asks}
		beyond = append(beyond, &session.Event{Actions: actions})
	}
	out := t.outcome(e)
	out.Emit = append(beyond, out.Emit...)
	if len(beyond) > 0 {
		out.Reason = "limit " + strings.Join(slices.Compact(reached), ", ") + " is used up"
	}
	if over != nil {
		denial := t.deny(over)
		out.Emit = append(out.Emit, denial.Emit...)
		out.Reason = denial.Reason
		out.Stop = true
	}
	return out
}

// endsNodeRun reports whether an event ends a run of a workflow's node. A workflow's own run is none.
func endsNodeRun(e *session.Event) bool {
	return e.FromWorkflow() && e.NodeInfo.Ended && strings.Contains(e.NodeInfo.Path, "/")
}

// answersModel reports whether an event is a model's answer, or its failure. A plugin's event, and what
// a workflow says of its nodes, is one if it says how many tokens it took.
func answersModel(e *session.Event) bool {
	_, emitted := e.Plugin()
	switch {
	case len(e.FunctionResponses()) > 0:
		return false
	case tokens(e.UsageMetadata) > 0:
		return true
	case emitted, e.FromWorkflow():
		return false
	}
	return e.ErrorCode != "" || e.Content != nil && e.Content.Role == genai.RoleModel
}

// tokens returns how many tokens a model reports, 0 if it reports none.
func tokens(u *genai.GenerateContentResponseUsageMetadata) float64 {
	if u == nil {
		return 0
	}
	if u.TotalTokenCount > 0 {
		return float64(u.TotalTokenCount)
	}
	parts := int64(u.PromptTokenCount) + int64(u.CandidatesTokenCount) +
		int64(u.ThoughtsTokenCount) + int64(u.ToolUsePromptTokenCount)
	return float64(max(0, parts))
}

// restore sets the session's counts again behind a rewind, which sets them back.
func (b *budget) restore(inv *session.Invocation) plugin.Outcome {
	counts := map[string]any{}
	for key, value := range inv.State {
		if strings.HasPrefix(key, b.Name+":") {
			counts[key] = value
		}
	}
	if len(counts) == 0 {
		return plugin.Outcome{}
	}
	return plugin.Outcome{
		Emit:   []*session.Event{{Actions: session.Actions{StateDelta: counts}}},
		Reason: "a rewind gives nothing back",
	}
}

// A tally is the uses of all limits for a session at one moment, and what is added to them.
type tally struct {
	*budget
	now     time.Time
	numbers map[string]float64 // of the plugin, by their keys in the state
	uses    []*use             // of each limit
}

// open reads the limits' uses from the state.
func (b *budget) open(inv *session.Invocation) *tally {
	t := &tally{budget: b, now: inv.Now(), numbers: map[string]float64{}}
	if b.Now != nil {
		t.now = b.Now()
	}
	for key, value := range inv.State {
		n, ok := value.(float64)
		if ok && b.owned(key) {
			t.numbers[key] = n
		}
	}
	for _, l := range b.limits {
		t.uses = append(t.uses, read(l, b.prefix(l, inv.State), t.numbers, t.now))
	}
	return t
}

// uses tells how much of each limit is used.
func (b *budget) uses(state map[string]any) (list []plugin.Use) {
	for _, u := range b.open(&session.Invocation{State: state}).uses {
		told := plugin.Use{Limit: u.limit.Name, Words: u.limit.String(), Used: u.used, Max: u.limit.Max}
		if u.used > 0 {
			told.Frees = u.frees()
		}
		list = append(list, told)
	}
	return list
}

// full returns the first limit of these counts of which nothing is left, nil if there is none.
func (t *tally) full(counts ...string) *use {
	for _, u := range t.uses {
		if slices.Contains(counts, u.limit.Count) && u.full() {
			return u
		}
	}
	return nil
}

// add adds to all limits of a count.
func (t *tally) add(count string, n float64) {
	for _, u := range t.uses {
		if u.limit.Count == count {
			u.adds += n
		}
	}
}

// outcome returns the event with what it adds to the counts, and the warnings that follow from
// that.
func (t *tally) outcome(e *session.Event) (out plugin.Outcome) {
	adding := slices.Clone(t.uses)
	adding = slices.DeleteFunc(adding, func(u *use) bool { return u.adds == 0 })
	if len(adding) == 0 {
		return plugin.Outcome{}
	}

	out.Replace = e.Clone()
	a := &changes{Actions: &out.Replace.Actions, numbers: t.numbers}
	var names, warnings []string
	for _, u := range adding {
		names = append(names, u.limit.Name)
		if u.warns() {
			out.Emit = append(out.Emit, t.warning(u))
			warnings = append(warnings, fmt.Sprintf("%.0f are used of the limit %s (%s)",
				u.used+u.adds, u.limit.Name, u.limit))
		}
		u.charge(a, t.now)
	}
	t.sweep(a)
	out.Reason = "counts for " + strings.Join(names, ", ")
	if len(warnings) > 0 {
		out.Reason = strings.Join(warnings, "; ")
	}
	return out
}

package eval

import (
	"cmp"
	"slices"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// Record makes a case of a session's log: what the user said, and how calls were answered; the calls that agents made,
// with their results; what waited; and the last answer of each turn. What a rewind has voided is left out, and so are
// inputs that a plugin has withheld, since the log does not have them: withheld says how many.
func Record(s *session.Session, log []*session.Event) (c *Case, withheld int) {
	c = &Case{ID: s.ID, State: s.Initial}
	var statuses session.EventStatuses
	for _, e := range log {
		statuses.Add(e)
	}
	var standing []*session.Event
	for _, e := range log {
		if statuses.Of(e).Void == 0 && !e.Marker() {
			standing = append(standing, e)
		}
		if statuses.Of(e).Void == 0 && plugin.NotesOf(e).Input != nil {
			withheld++
		}
	}
	calls := session.Calls(standing)
	named := map[string]string{} // the tools of calls, by their ids
	for _, call := range calls {
		named[call.ID] = callNames(&call)[0]
	}
	turnEnd := func(n int) int { // where the turn ends that event n begins
		end := n + 1
		for end < len(standing) && standing[end].Author != session.User {
			end++
		}
		return end
	}
	for n, e := range standing {
		if e.Author != session.User || e.Branch != "" {
			continue
		}
		t := &Turn{User: e.Text()}
		for _, id := range sortedKeys(e.Actions.RequestedToolConfirmations) {
			if e.Actions.RequestedToolConfirmations[id].Confirmed {
				t.Approve = append(t.Approve, named[id])
			} else {
				t.Decline = append(t.Decline, named[id])
			}
		}
		for _, r := range e.FunctionResponses() {
			if t.Respond == nil {
				t.Respond = map[string]any{}
			}
			t.Respond[cmp.Or(named[r.ID], r.Name)] = r.Response
		}
		if t.User == "" && len(t.Approve)+len(t.Decline)+len(t.Respond) == 0 {
			continue // a change of state, or a file alone
		}
		end := turnEnd(n)
		events := standing[n:end]
		for _, said := range events[1:] {
			if a, says := answerIn(said.Content); says && said.FromAgent() && said.Content.Role == genai.RoleModel {
				a.Agent = said.Author
				t.Answers = append(t.Answers, a)
			}
		}
		for _, call := range session.Calls(standing[:end]) {
			if call.Waits() {
				t.Expect.Waits = append(t.Expect.Waits, callNames(&call)[0])
			}
		}
		for i := range calls {
			call := &calls[i]
			if !slices.Contains(events, call.Event) || call.Name == session.AskTool {
				continue
			}
			t.Expect.Calls = append(t.Expect.Calls, ExpectedCall{Name: call.Name, Args: call.Args})
			if call.Response != nil && call.Response.Author != session.User {
				t.Results = append(t.Results, RecordedResult{Name: call.Name, Args: call.Args, Result: call.Result.Response})
			}
		}
		t.Expect.NoCalls = len(t.Expect.Calls) == 0
		if answer := answerOf(events[1:]); answer != "" {
			t.Expect.Text = &ExpectedText{Equals: &answer}
		}
		c.Turns = append(c.Turns, t)
	}
	return c, withheld
}

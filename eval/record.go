package eval

import (
	"cmp"
	"fmt"
	"slices"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/yamlfile"
)

// Record makes a case of a session's log: what the user said, and how calls were answered; the calls that
// agents made, with their results; what waited; and the last answer of each turn. What a rewind has voided is
// left out, and so are inputs that a plugin has withheld, since the log does not have them: withheld says how
// many have a refusal there.
func Record(s *session.Session, log []*session.Event) (c *Case, withheld int) {
	c = &Case{ID: s.ID, State: s.Initial}
	var statuses session.EventStatuses
	for _, e := range log {
		statuses.Add(e)
	}
	var standing []*session.Event
	begun := map[string]bool{} // invocations
	for _, e := range log {
		if statuses.Of(e).Void != 0 {
			continue
		}
		if !e.Marker() {
			standing = append(standing, e)
		}
		// An invocation that begins with a plugin's refusal has no input of the user's.
		if _, _, denied := plugin.Denial(e); !begun[e.InvocationID] && e.InvocationID != "" && denied && !e.FromAgent() {
			withheld++
		}
		begun[e.InvocationID] = true
	}

	// Join the calls with what becomes of them, and note which ones wait when the user says the next thing.
	var tracker session.CallTracker
	var open []*session.Call
	made := map[*session.Event][]*session.Call{}
	named := map[string]string{} // the tools of calls, by their ids
	waits := map[int][]string{}  // the calls that wait before an event
	noteWaits := func(n int) {
		for _, call := range open {
			if call.Waits() {
				waits[n] = append(waits[n], callNames(call)[0])
			}
		}
	}
	for n, e := range standing {
		if e.Author == session.User {
			noteWaits(n)
		}
		calls, answered := tracker.Add(e)
		made[e] = calls
		for _, call := range calls {
			named[call.ID] = callNames(call)[0]
		}
		open = append(open, calls...)
		if len(answered) > 0 {
			open = slices.DeleteFunc(open, func(call *session.Call) bool { return slices.Contains(answered, call) })
		}
	}
	noteWaits(len(standing))

	// Make a turn of each thing that the user has said.
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
		end := n + 1 // of the turn
		for end < len(standing) && standing[end].Author != session.User {
			end++
		}
		events := standing[n+1 : end]
		for _, said := range events {
			if a, says := answerIn(said.Content); says && said.FromAgent() && said.Content.Role == genai.RoleModel {
				a.Agent = said.Author
				t.Answers = append(t.Answers, a)
			}
			for _, call := range made[said] {
				if call.Name == session.AskTool {
					continue
				}
				t.Expect.Calls = append(t.Expect.Calls, ExpectedCall{Name: call.Name, Args: call.Args})
				if call.Response != nil && call.Response.Author != session.User {
					t.Results = append(t.Results, RecordedResult{Name: call.Name, Args: call.Args, Result: call.Result.Response})
				}
			}
		}
		t.Expect.Waits = waits[end]
		t.Expect.NoCalls = len(t.Expect.Calls) == 0
		if answer := answerOf(events); answer != "" {
			t.Expect.Text = &ExpectedText{Equals: &answer}
		}
		c.Turns = append(c.Turns, t)
	}
	return c, withheld
}

// YAML returns the case as a file that Read reads to the same case. The error says that it cannot be written
// so.
func (c *Case) YAML() ([]byte, error) {
	file := map[string]any{"cases": []*Case{c}}
	text, err := yamlfile.Write(file)
	if err != nil {
		return nil, err
	}
	cases, err := Read("case.yaml", text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the case cannot be written in YAML: %w", err)
	case !same(file, map[string]any{"cases": cases}):
		return nil, fmt.Errorf("the case cannot be written in YAML: it would be read as another one")
	}
	return text, nil
}

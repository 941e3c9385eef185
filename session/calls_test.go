package session_test

import (
	"cmp"
	"fmt"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/logtest"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// became tells what became of a call: the positions of the events that are about it.
func became(c session.Call) string {
	text := fmt.Sprintf("%s@%d", cmp.Or(c.ID, c.Name), c.Event.Seq)
	for _, about := range []struct {
		what  string
		event *session.Event
	}{
		{"deferred", c.Deferred},
		{"held", c.Held},
		{"decided", c.Decision},
		{"answered", c.Response},
	} {
		if about.event != nil {
			text += fmt.Sprintf(" %s@%d", about.what, about.event.Seq)
		}
	}
	for _, i := range c.Interim {
		text += fmt.Sprintf(" interim@%d", i.Event.Seq)
	}
	if c.Approved() {
		text += " approved"
	}
	if c.Waits() {
		text += " waits"
	}
	return text
}

// The rule of what became of a call; see Calls.
func TestCalls(t *testing.T) {
	call, response := logtest.Call, logtest.Answer
	from := func(author, branch string, e *session.Event) *session.Event {
		e.Author, e.Branch = author, branch
		return e
	}
	in := func(branch string, e *session.Event) *session.Event { return from("agent", branch, e) }
	about := func(author, id string, confirmed bool) *session.Event {
		e := session.Decision(confirmed, id)
		e.Author = author
		return e
	}
	asks := func(id string) *session.Event { return about("plugin/p", id, false) }
	later := func(e *session.Event, ids ...string) *session.Event {
		e.LongRunningToolIDs = ids
		return e
	}
	byName := func(e *session.Event, name string) *session.Event {
		for _, p := range e.Parts() {
			if p.FunctionCall != nil {
				p.FunctionCall.ID, p.FunctionCall.Name = "", name
			} else {
				p.FunctionResponse.ID, p.FunctionResponse.Name = "", name
			}
		}
		return e
	}
	joined := func(events ...*session.Event) *session.Event {
		for _, e := range events[1:] {
			events[0].Content.Parts = append(events[0].Content.Parts, e.Content.Parts...)
		}
		return events[0]
	}
	byUser := func(e *session.Event) *session.Event { return from(session.User, "", e) }
	of := func(invocation string, e *session.Event) *session.Event {
		e.InvocationID = invocation
		return e
	}
	failing := func(e *session.Event) *session.Event {
		e.FunctionResponses()[0].Response = map[string]any{"error": "no"}
		return e
	}
	holding := func(e *session.Event, id string) *session.Event {
		e.Actions.Confirm(id, session.Confirmation{})
		return e
	}
	logIn := func(e *session.Event, id string) *session.Event {
		e.Actions.Extra = map[string]jsontext.Value{"requestedAuthConfigs": jsontext.Value(`{"` + id + `":{"authScheme":{}}}`)}
		return e
	}
	type log []*session.Event
	for _, c := range []struct {
		rule string
		log  log
		want []string
	}{
		// Responses.
		{"an empty log has no call", nil, nil},
		{"texts, and parts that are null, are no calls",
			log{session.Message("x"), {}, {Content: &genai.Content{Parts: []*genai.Part{nil}}}}, nil},
		{"a response answers the call before it", log{call("1"), response("1")}, []string{"1@1 answered@2"}},
		{"a call without a response is open", log{call("1"), session.Message("x")}, []string{"1@1"}},
		{"a response before the call answers nothing", log{response("1"), call("1")}, []string{"1@2"}},
		{"in one event, too", log{joined(response("1"), call("1"))}, []string{"1@1"}},
		{"the first response counts", log{call("1"), response("1"), response("1")}, []string{"1@1 answered@2"}},
		{"calls of one event are answered one by one", log{call("1", "2", "3"), response("3"), response("1", "2")},
			[]string{"1@1 answered@3", "2@1 answered@3", "3@1 answered@2"}},
		{"an id that repeats names another call", log{call("1"), response("1"), call("1"), response("1")},
			[]string{"1@1 answered@2", "1@3 answered@4"}},
		{"the latest open call with the id is answered first", log{call("1"), call("1"), response("1"), response("1")},
			[]string{"1@1 answered@4", "1@2 answered@3"}},
		{"an earlier one may stay open", log{call("1"), session.Message("x"), call("1"), response("1")},
			[]string{"1@1", "1@3 answered@4"}},
		{"an id may repeat in one event", log{call("1", "1"), response("1"), response("1")},
			[]string{"1@1 answered@3", "1@1 answered@2"}},
		{"a call without an id goes by its name",
			log{byName(call(""), "f"), byName(call(""), "g"), byName(response(""), "f"), byName(response(""), "g")},
			[]string{"f@1 answered@3", "g@2 answered@4"}},
		{"a name is no id", log{byName(call(""), "1"), response("1"), call("1"), byName(response(""), "1")},
			[]string{"1@1 answered@4", "1@3"}},

		// Branches.
		{"the call in the response's own branch is answered", log{in("a", call("1")), in("b", call("1")), in("a", response("1"))},
			[]string{"1@1 answered@3", "1@2"}},
		{"if there is none there, the latest in any branch", log{in("a", call("1")), in("c", call("1")), in("", response("1"))},
			[]string{"1@1", "1@2 answered@3"}},
		{"a user without a branch answers the latest in any branch",
			log{in("", call("1")), in("a", call("1")), from(session.User, "", response("1"))},
			[]string{"1@1", "1@2 answered@3"}},
		{"a user in a branch answers there", log{in("b", call("1")), in("a", call("1")), from(session.User, "b", response("1"))},
			[]string{"1@1 answered@3", "1@2"}},

		// Calls that are answered later.
		{"a call waits that its own event lists", log{later(call("1", "2"), "2")}, []string{"1@1", "2@1 deferred@1 waits"}},
		{"an empty id lists no call", log{later(call(""), "")}, []string{"f@1"}},
		{"the first event that lists it counts", log{call("1"), later(in("", &session.Event{}), "1"), later(in("", &session.Event{}), "1")},
			[]string{"1@1 deferred@2 waits"}},
		{"after the response nothing waits", log{later(call("1"), "1"), byUser(response("1")), later(in("", &session.Event{}), "1")},
			[]string{"1@1 deferred@1 answered@2"}},

		// Interim responses: another one comes.
		{"an agent's response that lists its call leaves the call waiting", log{call("1", "2"), later(response("1", "2"), "1")},
			[]string{"1@1 deferred@2 interim@2 waits", "2@1 answered@2"}},
		{"the next one that does not is the response", log{call("1"), later(response("1"), "1"), response("1"), response("1")},
			[]string{"1@1 deferred@2 answered@3 interim@2"}},
		{"there may be several", log{call("1"), later(response("1"), "1"), later(response("1"), "1"), byUser(response("1"))},
			[]string{"1@1 deferred@2 answered@4 interim@2 interim@3"}},
		{"in another kit the call's own event lists it", log{later(call("1"), "1"), response("1"), byUser(response("1"))},
			[]string{"1@1 deferred@1 answered@3 interim@2"}},
		{"but an error ends the call", log{later(call("1"), "1"), failing(response("1"))}, []string{"1@1 deferred@1 answered@2"}},
		{"unless its event lists the call", log{call("1"), later(failing(response("1")), "1")},
			[]string{"1@1 deferred@2 interim@2 waits"}},
		{"and so does a response in a later invocation", log{later(call("1"), "1"), of("later", response("1"))},
			[]string{"1@1 deferred@1 answered@2"}},
		{"and one after the user has said more", log{later(call("1"), "1"), session.Message("x"), response("1")},
			[]string{"1@1 deferred@1 answered@3"}},
		{"a user's response is never interim", log{call("1"), later(byUser(response("1")), "1")}, []string{"1@1 answered@2"}},
		{"nor is a plugin's", log{later(call("1"), "1"), from("plugin/cache", "", response("1"))},
			[]string{"1@1 deferred@1 answered@2"}},
		{"nor is one to a call without an id", log{later(byName(call(""), "f"), ""), later(byName(response(""), "f"), "")},
			[]string{"f@1 answered@2"}},
		{"another kit answers a call that it holds", log{call("1"), holding(response("1"), "1"), response("1")},
			[]string{"1@1 held@2 answered@3 interim@2"}},
		{"which waits for a yes or no", log{call("1"), holding(response("1"), "1")}, []string{"1@1 held@2 interim@2 waits"}},
		{"and one for which a human has to log in", log{call("1"), logIn(response("1"), "1")}, []string{"1@1 interim@2 waits"}},
		{"but not a login for another one", log{call("1"), logIn(response("1"), "2")}, []string{"1@1 answered@2"}},

		// Calls that a human is asked about.
		{"a call is held that somebody asks about", log{call("1"), asks("1")}, []string{"1@1 held@2 waits"}},
		{"its own event may ask", log{{Author: "agent", Content: call("1").Content, Actions: asks("1").Actions}},
			[]string{"1@1 held@1 waits"}},
		{"the user approves it", log{call("1"), asks("1"), about(session.User, "1", true)},
			[]string{"1@1 held@2 decided@3 approved"}},
		{"or declines it", log{call("1"), asks("1"), about(session.User, "1", false)}, []string{"1@1 held@2 decided@3"}},
		{"the first decision counts", log{call("1"), asks("1"), about(session.User, "1", false), about(session.User, "1", true)},
			[]string{"1@1 held@2 decided@3"}},
		{"a new question needs a new decision", log{call("1"), asks("1"), about(session.User, "1", true), asks("1")},
			[]string{"1@1 held@4 waits"}},
		{"nobody decides what nobody asked", log{call("1"), about(session.User, "1", true)}, []string{"1@1"}},
		{"a question about another id holds nothing", log{call("1"), asks("2"), about(session.User, "2", true)}, []string{"1@1"}},
		{"nor does one after the response", log{call("1"), response("1"), asks("1"), about(session.User, "1", true)},
			[]string{"1@1 answered@2"}},
		{"a decision is about the latest call that is held", log{call("1"), asks("1"), call("1"), about(session.User, "1", true)},
			[]string{"1@1 held@2 decided@4 approved", "1@3"}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			var got []string
			for _, call := range session.Calls(logtest.Numbered(c.log...)) {
				got = append(got, became(call))
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestRespond(t *testing.T) {
	e := session.Respond(&genai.FunctionCall{ID: "1", Name: "f"}, map[string]any{"result": 3})
	calls := session.Calls([]*session.Event{logtest.Call("1"), e})
	require.Equal(t, e, calls[0].Response)
	require.Equal(t,
		&genai.FunctionResponse{ID: "1", Name: "f", Response: map[string]any{"result": 3}},
		e.Content.Parts[0].FunctionResponse)
}

// A compaction covers neither a call that is held nor what was asked and said about it.
func TestCompactionOfHeldCalls(t *testing.T) {
	ask := &session.Event{
		Author: "plugin/p",
		Actions: session.Actions{
			RequestedToolConfirmations: map[string]session.Confirmation{"1": {}},
		},
	}
	say := &session.Event{
		Author: session.User,
		Actions: session.Actions{
			RequestedToolConfirmations: map[string]session.Confirmation{"1": {Confirmed: true}},
		},
	}
	log := logtest.Numbered(session.Message("x"), logtest.Call("1"), ask, say, logtest.Answer("1"))
	for _, keep := range [][]int64{nil, {2}, {2, 3}, {2, 4}, {3, 4}} {
		require.ErrorIs(t, store.CheckCompaction(log[:4], 0, 5, logtest.Compaction(4, 0, keep...)),
			session.ErrInvalid, "keep %v", keep)
	}
	require.NoError(t, store.CheckCompaction(log[:4], 0, 5, logtest.Compaction(4, 0, 2, 3, 4)))
	require.NoError(t, store.CheckCompaction(log, 0, 6, logtest.Compaction(5, 0)),
		"once it has its response")
}

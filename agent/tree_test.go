package agent_test

import (
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
)

// group is an agent that runs others.
type group struct {
	agent.Agent
	agents []agent.Agent
}

func (g group) Agents() []agent.Agent { return g.agents }

// tree returns an agent of a name, with these below it.
func tree(name string, below ...agent.Agent) agent.Agent {
	leaf := agent.New(
		name,
		"",
		func(context.Context, *agent.Host) iter.Seq2[*session.Event, error] {
			return func(func(*session.Event, error) bool) {}
		},
	)
	if len(below) == 0 {
		return leaf
	}
	return group{leaf, below}
}

func TestFind(t *testing.T) {
	deep := tree("deep")
	root := tree("root", tree("left"), tree("right", tree("middle", deep)))
	require.Equal(t, deep, agent.Find(root, "deep"))
	require.Equal(t, "root", agent.Find(root, "root").Name())
	for _, name := range []string{"", "nobody", "dee", "user"} {
		require.Nil(t, agent.Find(root, name), name)
	}
}

func TestCheck(t *testing.T) {
	require.NoError(t, agent.Check(
		tree("root", tree("a", tree("b")), tree("plugin"), tree("user2"), tree("äöü 1/2"))))
	for wrong, root := range map[string]agent.Agent{
		`named ""`:                      tree(""),
		`named "user"`:                  tree("root", tree("user")),
		`named "plugin/x"`:              tree("root", tree("a", tree("plugin/x"))),
		`named "a.b"`:                   tree("a.b"),
		`named "a@b"`:                   tree("a@b"),
		"an agent is nil":               tree("root", nil),
		`two agents are named "twin"`:   tree("root", tree("twin"), tree("a", tree("twin"))),
		`two agents are named "root"`:   tree("root", tree("root")),
		`two agents are named "nephew"`: tree("root", tree("a", tree("nephew")), tree("nephew")),
	} {
		require.ErrorContains(t, agent.Check(root), wrong)
	}
	require.ErrorContains(t, agent.Check(nil), "an agent is nil")
}

func TestSees(t *testing.T) {
	for _, c := range []struct {
		a, b string
		sees bool
	}{
		{"", "", true}, {"a", "a", true}, {"", "a.b", true}, {"a", "a.b.c", true},
		{"a", "b", false}, {"a.b", "a.c", false}, {"a", "ab", false}, {"a.b", "a.bc", false}, {"a.b.c", "a.c", false},
		{"", "a@1", false}, {"a@1", "a@1", true}, {"a@1", "a@1.b", true}, {"a@1", "a@1.b@2", false}, {"a@1", "a@2", false}, {"a", "a@1", false}, {"b", "b.a@1.c", false},
	} {
		require.Equal(t, c.sees, agent.Sees(c.a, c.b), "%q and %q", c.a, c.b)
		require.Equal(t, c.sees, agent.Sees(c.b, c.a), "%q and %q", c.b, c.a)
	}
}

// An agent sees a branch if one of the two leads to the other, element by element, and no element
// in between is an isolated one.
func TestSeesProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		element := rapid.SampledFrom([]string{"a", "ab", "b", "a@1", "a@12", "ab@1"})
		path := rapid.SliceOfN(element, 0, 4)
		trunk := path.Draw(t, "trunk")
		a, b := append(
			trunk[:len(trunk):len(trunk)],
			path.Draw(t, "a")...), append(
			trunk[:len(trunk):len(trunk)],
			path.Draw(t, "b")...)
		short, long := a, b
		if len(short) > len(long) {
			short, long = long, short
		}
		rest := long[len(short):]
		want := strings.Join(long[:len(short)], ".") == strings.Join(short, ".") &&
			!strings.Contains(strings.Join(rest, "."), "@")
		one, other := strings.Join(a, "."), strings.Join(b, ".")
		require.Equal(t, want, agent.Sees(one, other), "%q and %q", one, other)
		require.Equal(t, want, agent.Sees(other, one), "symmetric: %q and %q", one, other)
		require.True(t, agent.Sees(one, one))

		x, y := element.Draw(t, "x"), element.Draw(t, "y")
		if x != y {
			host := agent.Host{Branch: strings.Join(trunk, ".")}
			left, right := host.At(x), host.At(y)
			for _, e := range path.Draw(t, "below x") {
				left = left.At(e)
			}
			for _, e := range path.Draw(t, "below y") {
				right = right.At(e)
			}
			require.False(t, agent.Sees(left.Branch, right.Branch), "siblings: %q and %q",
				left.Branch, right.Branch)
		}
	})
}

// happened is a log: each event has a position and, where it names none, the invocation "now".
func happened(events ...*session.Event) []*session.Event {
	for i, e := range events {
		e.Seq, e.ID = int64(i+1), string(rune('a'+i))
		if e.InvocationID == "" {
			e.InvocationID = "now"
		}
	}
	return events
}

func calling(author, id string) *session.Event {
	return &session.Event{
		Author: author,
		Content: &genai.Content{
			Role:  genai.RoleModel,
			Parts: []*genai.Part{{FunctionCall: &genai.FunctionCall{ID: id, Name: "f"}}},
		},
	}
}

func earlier(e *session.Event) *session.Event {
	e.InvocationID = "before"
	return e
}

// confirmation is a question, or the user's verdict, about a call.
func confirmation(author, id string) *session.Event {
	return &session.Event{
		Author: author,
		Actions: session.Actions{
			RequestedToolConfirmations: map[string]session.Confirmation{id: {}},
		},
	}
}

func response(author, id string) *session.Event {
	e := session.Respond(&genai.FunctionCall{ID: id, Name: "f"}, map[string]any{"x": 1.0})
	e.Author = author
	return e
}

func later(author, id string) *session.Event {
	return &session.Event{Author: author, LongRunningToolIDs: []string{id}}
}

func TestWaitsAndResumes(t *testing.T) {
	root := tree("root", tree("bot"))
	stoodIn := func(agent string) *session.Event {
		e := calling("plugin/p", "1")
		e.CustomMetadata = map[string]any{session.NotesKey: map[string]any{"agent": agent}}
		return e
	}
	for name, c := range map[string]struct {
		log            []*session.Event
		waits, resumes bool
		answered       string
	}{
		"nothing":                       {nil, false, false, ""},
		"open, but nobody is asked":     {happened(calling("bot", "1")), false, false, ""},
		"a human is asked":              {happened(calling("bot", "1"), confirmation("plugin/p", "1")), true, false, ""},
		"it comes later":                {happened(calling("bot", "1"), later("bot", "1")), true, false, ""},
		"another agent's":               {happened(calling("else", "1"), confirmation("plugin/p", "1")), false, false, ""},
		"a plugin stands in":            {happened(stoodIn("bot"), confirmation("plugin/p", "1")), true, false, ""},
		"a plugin stands in elsewhere":  {happened(stoodIn("else"), confirmation("plugin/p", "1")), false, false, ""},
		"a stand-in is answered":        {happened(earlier(stoodIn("bot")), earlier(confirmation("plugin/p", "1")), confirmation("user", "1")), false, true, "1"},
		"of an earlier run":             {happened(earlier(calling("bot", "1")), earlier(confirmation("bot", "1")), session.Message("what?")), false, false, ""},
		"answered":                      {happened(earlier(calling("bot", "1")), earlier(confirmation("bot", "1")), confirmation("user", "1")), false, true, "1"},
		"one of two is answered":        {happened(earlier(both()), earlier(confirmation("bot", "1")), earlier(confirmation("bot", "2")), confirmation("user", "1")), true, true, "1"},
		"one of two events is answered": {happened(earlier(calling("else", "1")), earlier(confirmation("else", "1")), earlier(calling("bot", "2")), earlier(later("bot", "2")), confirmation("user", "1")), true, false, "1"},
		"a long-running one":            {happened(earlier(calling("bot", "1")), earlier(later("bot", "1")), response("user", "1")), false, true, "1"},
		"another agent's is answered":   {happened(earlier(calling("else", "1")), earlier(confirmation("else", "1")), confirmation("user", "1")), false, false, "1"},
		"an earlier input answered it":  {happened(earlier(calling("bot", "1")), earlier(confirmation("bot", "1")), earlier(confirmation("user", "1")), session.Message("and?")), false, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			host := &agent.Host{
				Now: func() *session.Invocation { return &session.Invocation{ID: "now", Live: c.log} },
			}
			for _, e := range c.log {
				if e.InvocationID == "before" {
					host.Began = e.Seq
				}
			}
			require.Equal(t, c.waits, host.Waits(root), "Waits")
			require.Equal(t, c.resumes, host.Resumes(root), "Resumes")
			var ids []string
			for _, call := range host.Answered() {
				ids = append(ids, call.ID)
			}
			require.Equal(t, c.answered, strings.Join(ids, " "), "Answered")
		})
	}
}

// However many calls wait, the log is read a few times only.
func TestWaitsReadsTheLogAFewTimes(t *testing.T) {
	var log []*session.Event
	for range 200 {
		log = append(log, earlier(calling("bot", "1")), earlier(confirmation("plugin/p", "1")))
	}
	log = happened(append(log, session.Message("go on"))...)
	reads := 0
	host := &agent.Host{
		Began: int64(len(log)) - 1,
		Now: func() *session.Invocation {
			reads++
			return &session.Invocation{ID: "now", Live: log}
		},
	}
	require.False(t, host.Waits(tree("bot")))
	require.LessOrEqual(t, reads, 3)
}

// both is one event of bot's with the calls 1 and 2.
func both() *session.Event {
	e := calling("bot", "1")
	e.Content.Parts = append(e.Content.Parts, calling("bot", "2").Content.Parts...)
	return e
}

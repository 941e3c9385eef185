package compaction_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
	"github.com/plughook/plughook/tool"
)

// What another agent does in a branch of its own counts as the reader's, so that a model is not asked
// for want of room that it has. So each of two agents that work at once has the whole budget.
func TestASiblingsWorkTakesNoRoom(t *testing.T) {
	c := small()
	c.Foreground = false // a prompt is compacted at its budget, no sooner
	s, m := siblings(t, c, 10, 15)
	for _, e := range s.events(session.Selection{}) {
		require.Empty(t, e.ErrorCode, "at %d: %s", e.Seq, e.ErrorMessage)
	}
	for _, req := range m.asked {
		require.LessOrEqual(t, total(req), 500)
	}
	require.Len(t, m.asked, 11+16)
}

// siblings runs two agents at once: ann reads so many pages, all but one of them before bob begins and
// that one after bob has read all of his.
func siblings(t *testing.T, c compaction.Config, anns, bobs int) (*scene, *speaker) {
	begun, done := make(chan struct{}), make(chan struct{})
	var mu sync.Mutex
	turns := map[string]int{}
	m := &speaker{}
	m.answer = func(_ int, req *model.Request) (*model.Response, error) {
		mu.Lock()
		turns[req.Agent]++
		n := turns[req.Agent]
		mu.Unlock()
		switch {
		case req.Agent == "ann" && n == anns:
			close(begun)
			<-done
		case req.Agent == "bob" && n == 1:
			<-begun
		case req.Agent == "bob" && n == bobs+1:
			close(done)
		}
		if req.Agent == "ann" && n <= anns || req.Agent == "bob" && n <= bobs {
			return called("", "read", map[string]any{"page": n}), nil
		}
		return said("%s is done", req.Agent), nil
	}
	one := func(name string) agent.Agent {
		a, err := llm.New(llm.Config{
			Name:    name,
			Model:   m,
			Tools:   []*tool.Tool{reader(t, 30)},
			Timeout: time.Minute,
		})
		require.NoError(t, err)
		return a
	}
	s := stageAgent(t, c, workflow.Parallel("both", "", one("ann"), one("bob")))
	s.say("read it all, each of you")
	return s, m
}

// What an agent is at is summarized by another one, whose prompt has become too long, under its hands.
// So what was said in this run in a branch beside its own stays as it is.
func TestASiblingsWorkIsLeftAlone(t *testing.T) {
	s, m := siblings(t, small(), 2, 15)
	require.NotEmpty(t, s.compactions())
	var last *model.Request
	for _, req := range m.asked {
		if req.Agent == "ann" {
			last = req
		}
	}
	require.Contains(t, texts(last), "<summary>", "bob's pages are behind a summary")
	pages := 0
	for _, c := range last.Contents {
		for _, p := range c.Parts {
			if p.FunctionResponse != nil {
				pages++
			}
		}
	}
	require.Equal(t, 2, pages, "ann's own pages are all in her last prompt")
}

// What agents have done side by side is kept for ever from who comes after them and sees it all. So
// their work counts as done by then, and a summary may stand for it.
func TestWorkThatIsDoneIsCovered(t *testing.T) {
	for _, nested := range []bool{false, true} {
		t.Run(fmt.Sprint("nested: ", nested), func(t *testing.T) { doneIsCovered(t, nested) })
	}
}

func doneIsCovered(t *testing.T, nested bool) {
	var mu sync.Mutex
	turns := map[string]int{}
	m := &speaker{}
	m.answer = func(_ int, req *model.Request) (*model.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		if turns[req.Agent]++; req.Agent != "cid" && turns[req.Agent] <= 6 {
			return called("", "read", map[string]any{"page": turns[req.Agent]}), nil
		}
		return said("%s is done", req.Agent), nil
	}
	one := func(name string) agent.Agent {
		a, err := llm.New(llm.Config{Name: name, Model: m, Tools: []*tool.Tool{reader(t, 30)}})
		require.NoError(t, err)
		return a
	}
	c := small()
	c.Foreground = false
	all := workflow.Sequential("all", "", workflow.Parallel("both", "", one("ann"), one("bob")),
		one("cid"))
	if nested {
		all = workflow.Parallel("top", "", all)
	}
	s := stageAgent(t, c, all)
	s.say("read it all, each of you")
	require.Equal(t, "cid", m.last().Agent)
	require.LessOrEqual(t, total(m.last()), 500)
	require.Contains(t, texts(m.last()), "<summary>")
}

// Events that a summary keeps are counted again after each, until it is made in every turn. So what
// counts is what came after it.
func TestWhatASummaryKeepsDoesNotCount(t *testing.T) {
	c := compaction.Config{
		Window:     100_000,
		Tail:       20,
		MinGain:    20,
		Summary:    40,
		Events:     8,
		Foreground: true,
		Count:      words,
	}
	s := stage(t, c, echo(20))
	for range 24 {
		s.say("question %s", filler(20))
	}
	made := s.compactions()
	require.Greater(t, len(made), 2)
	for i, e := range made[1:] {
		require.GreaterOrEqual(t, e.Seq-made[i].Seq, int64(6),
			"8 events after the last summary's tail")
	}
}

// Tokens that no prompt of the session's own has set off its trigger. So what an agent says to itself in
// answer to a call does not count for who has called it.
func TestATriggerCountsWhatItsReaderSees(t *testing.T) {
	m := &speaker{}
	m.answer = func(_ int, req *model.Request) (*model.Response, error) {
		switch {
		case strings.Contains(req.Branch, "@") && len(req.Contents) < 6:
			return called("", "read", map[string]any{"page": 1}), nil
		case strings.Contains(req.Branch, "@") || len(req.Contents) > 1:
			return said("that was it"), nil
		}
		return called("", "helper", map[string]any{"request": "read three pages"}), nil
	}
	helper, err := llm.New(
		llm.Config{Name: "helper", Model: m, Tools: []*tool.Tool{reader(t, 100)}})
	require.NoError(t, err)
	boss, err := llm.New(llm.Config{Name: "boss", Model: m, AgentTools: []agent.Agent{helper}})
	require.NoError(t, err)
	s := stageAgent(t, small(), boss)
	s.say("go on")
	all := 0
	for _, e := range s.live() {
		all += words(e.Content)
	}
	require.Greater(t, all, 250)
	require.Less(t, viewTokens(t, small(), s.live()), 100)
	require.Empty(t, s.compactions())
}

// A session that begins with many small summaries is as valid as one that begins with large ones. So the
// least summary that may be configured is made.
func TestASmallSummaryIsMade(t *testing.T) {
	c := small()
	c.Summary = 5
	s := stage(t, c, echo(20))
	for i := range 40 {
		s.say("question %d %s", i, filler(20))
	}
	triggered := 0
	for _, e := range s.compactions() {
		require.LessOrEqual(t, words(e.Actions.Compaction.Content), 5)
		if noteOn(e)["trigger"] == "tokens" {
			triggered++
		}
	}
	require.Greater(t, triggered, 2)
}

// A trigger that is configured and does nothing is found out by a bill. So each is by itself what a
// summary says that it was made for, and is not there before its time.
func TestEachTriggerByItself(t *testing.T) {
	for name, set := range map[string]func(*compaction.Config){
		"events":      func(c *compaction.Config) { c.Events = 8 },
		"invocations": func(c *compaction.Config) { c.Invocations = 4 },
		"idle":        func(c *compaction.Config) { c.Idle = time.Hour },
		"tokens":      func(c *compaction.Config) { c.Trigger, c.Summary, c.Tail, c.MinGain = 160, 40, 20, 20 },
	} {
		t.Run(name, func(t *testing.T) {
			c := compaction.Config{
				Window:     100_000,
				Tail:       20,
				MinGain:    20,
				Summary:    40,
				Foreground: true,
				Count:      words,
			}
			set(&c)
			s := stage(t, c, echo(20))
			begun := time.Now()
			for i := range 4 {
				input := session.Message(filler(20))
				input.Timestamp = begun.Add(time.Duration(i) * time.Minute)
				if i == 3 {
					input.Timestamp = begun.Add(2 * time.Hour)
				}
				_, err := s.run(input)
				require.NoError(t, err)
				if i == 2 {
					require.Empty(t, s.compactions())
				}
			}
			made := s.compactions()
			require.Len(t, made, 1)
			require.Equal(t, name, noteOn(made[0])["trigger"])
		})
	}
}

// A summary that another plugin has written says nothing, or reaches further than what is left to cover.
// So the next one reaches as far, and covers what that one kept.
func TestASummaryReachesAsFarAsTheOneBefore(t *testing.T) {
	s := stage(t, small(), echo(20))
	for i := range 6 {
		s.say("question %d %s", i, filler(20))
	}
	var keep []int64
	for _, e := range s.live() {
		keep = append(keep, e.Seq)
	}
	last := keep[len(keep)-1]
	covers := append(append([]int64{}, keep[:3]...), keep[4:]...)
	_, err := s.sessions.Append(
		ctx,
		session.AppendTarget{Key: key, After: last},
		&session.Event{Author: "plugin/other", Actions: session.Actions{
			Compaction: &session.Compaction{Through: last, Keep: covers, Frontier: frontierOf(s)}}},
	)
	require.NoError(t, err)
	_, err = s.run(compaction.Now("").Event())
	require.NoError(t, err)
	made := s.compactions()
	require.Equal(t, "plugin/compaction", made[len(made)-1].Author)
	require.GreaterOrEqual(t, made[len(made)-1].Actions.Compaction.Through, last)
}

func frontierOf(s *scene) int64 {
	got, err := s.sessions.Get(ctx, key)
	require.NoError(s.t, err)
	return got.Frontier
}

// Waiting for an answer makes of a call one that was interrupted, once the note that it is answered
// later is covered. So a call and all that says what is to become of it go together, whatever they are
// told in.
func TestWhatIsSaidOfACallGoesWithIt(t *testing.T) {
	long := func(seq int64, author string) *session.Event {
		return &session.Event{
			Seq:     seq,
			Author:  author,
			Content: genai.NewContentFromText(filler(200), genai.RoleUser),
		}
	}
	calls := func(seq int64, ids ...string) *session.Event {
		e := &session.Event{
			Seq:     seq,
			Author:  "agent",
			Content: &genai.Content{Role: genai.RoleModel},
		}
		for _, id := range ids {
			e.Content.Parts = append(e.Content.Parts, called(id, "later", nil).Content.Parts...)
		}
		return e
	}
	answers := func(seq int64, ids ...string) *session.Event {
		e := &session.Event{
			Seq:     seq,
			Author:  session.User,
			Content: &genai.Content{Role: genai.RoleUser},
		}
		for _, id := range ids {
			e.Content.Parts = append(e.Content.Parts,
				&genai.Part{FunctionResponse: &genai.FunctionResponse{ID: id, Name: "later"}})
		}
		return e
	}
	for _, c := range []struct {
		name   string
		events []*session.Event // after a long one, and before two long ones
		keep   []int64
	}{
		{"that it is answered later", []*session.Event{calls(2, "1"), {Seq: 3, Author: "agent", LongRunningToolIDs: []string{"1"}}}, []int64{2, 3}},
		{"whether it may be made", []*session.Event{calls(2, "1"), {Seq: 3, Author: "agent", Actions: session.Actions{RequestedToolConfirmations: map[string]session.Confirmation{"1": {}}}}}, []int64{2, 3}},
		{"yes", []*session.Event{calls(2, "1"), {Seq: 3, Author: "agent", Actions: session.Actions{RequestedToolConfirmations: map[string]session.Confirmation{"1": {}}}}, {Seq: 4, Author: session.User, Actions: session.Decision(true, "1").Actions}}, []int64{2, 3, 4}},
		{"one of two is answered", []*session.Event{calls(2, "1", "2"), answers(3, "1")}, []int64{2, 3}},
		{"one answer to calls of two events, and one of these waits", []*session.Event{calls(2, "1", "2"), calls(3, "3"), answers(4, "1", "3")}, []int64{2, 3, 4}},
		{"all is answered", []*session.Event{calls(2, "1", "2"), answers(3, "1"), answers(4, "2")}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			events := append([]*session.Event{long(1, session.User)}, c.events...)
			events = append(events, long(8, session.User), long(9, "agent"))
			plan, err := small().Preview(ctx, &session.Invocation{Live: events, Position: 9}, "")
			require.NoError(t, err)
			require.Empty(t, plan.Declined)
			require.Equal(t, c.keep, plan.Keep)
			e := &session.Event{
				Actions: session.Actions{
					Compaction: &session.Compaction{Through: plan.Through, Keep: plan.Keep},
				},
			}
			require.NoError(t, store.CheckCompaction(events, 0, 10, e), "the store takes it")
		})
	}
}

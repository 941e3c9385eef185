package compaction_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// What another agent does in a branch of its own counts as the reader's, so that a model is not asked for want of room
// that it has. So each of two agents that work at once has the whole budget.
func TestASiblingsWorkTakesNoRoom(t *testing.T) {
	var mu sync.Mutex
	turns := map[string]int{}
	m := &speaker{}
	m.answer = func(_ int, req *model.Request) (*model.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		if turns[req.Agent]++; turns[req.Agent] <= 15 {
			return called("", "read", map[string]any{"page": turns[req.Agent]}), nil
		}
		return said("%s is done", req.Agent), nil
	}
	one := func(name string) agent.Agent {
		a, err := llm.New(llm.Config{Name: name, Model: m, Tools: []*tool.Tool{reader(t, 30)}})
		require.NoError(t, err)
		return a
	}
	s := stageAgent(t, small(), workflow.Sequential("all", "", workflow.Parallel("both", "", one("ann"), one("bob"), one("cid")), one("dan")))
	s.say("read it all, each of you")
	for _, req := range m.asked {
		require.LessOrEqual(t, total(req), 500)
	}
	for _, e := range s.events(session.Selection{}) {
		require.Empty(t, e.ErrorCode, "at %d: %s", e.Seq, e.ErrorMessage)
	}
	require.Len(t, m.asked, 4*16)
}

// What an agent is at is summarized by another one, whose prompt has become too long, under its hands. So what was said
// in this run in a branch beside its own stays as it is.
func TestASiblingsWorkIsLeftAlone(t *testing.T) {
	begun, done := make(chan struct{}), make(chan struct{}) // ann has a page; bob has read all
	var mu sync.Mutex
	turns := map[string]int{}
	m := &speaker{}
	m.answer = func(_ int, req *model.Request) (*model.Response, error) {
		mu.Lock()
		turns[req.Agent]++
		n := turns[req.Agent]
		mu.Unlock()
		switch {
		case req.Agent == "ann" && n == 2:
			close(begun)
			<-done
		case req.Agent == "bob" && n == 1:
			<-begun
		case req.Agent == "bob" && n == 16:
			close(done)
		}
		if req.Agent == "ann" && n <= 2 || req.Agent == "bob" && n <= 15 {
			return called("", "read", map[string]any{"page": n}), nil
		}
		return said("%s is done", req.Agent), nil
	}
	one := func(name string) agent.Agent {
		a, err := llm.New(llm.Config{Name: name, Model: m, Tools: []*tool.Tool{reader(t, 30)}})
		require.NoError(t, err)
		return a
	}
	s := stageAgent(t, small(), workflow.Parallel("both", "", one("ann"), one("bob")))
	s.say("read it all, each of you")
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

// Tokens that no prompt of the session's own has set off its trigger. So what an agent says to itself in answer to a call
// does not count for who has called it.
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
	helper, err := llm.New(llm.Config{Name: "helper", Model: m, Tools: []*tool.Tool{reader(t, 100)}})
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
	require.Less(t, compaction.Measure(small(), s.live()), 100)
	require.Empty(t, s.compactions())
}

// A session that begins with many small summaries is as valid as one that begins with large ones. So the least summary
// that may be configured is made.
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

// A summary that another plugin has written says nothing, or reaches further than what is left to cover. So the next one
// reaches as far, and covers what that one kept.
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
	_, err := s.sessions.Append(ctx, session.At{Key: key, After: last}, &session.Event{Author: "plugin/other", Actions: session.Actions{
		Compaction: &session.Compaction{Through: last, Keep: covers, Frontier: frontierOf(s)}}})
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

// Waiting for an answer makes of a call one that was interrupted, once the note that it is answered later is covered. So
// a call and all that says what is to become of it go together, whatever they are told in.
func TestWhatIsSaidOfACallGoesWithIt(t *testing.T) {
	events := []*session.Event{
		{Seq: 1, Author: "user", Content: genai.NewContentFromText(filler(200), genai.RoleUser)},
		{Seq: 2, Author: "agent", Content: called("1", "later", nil).Content},
		{Seq: 3, Author: "agent", LongRunningToolIDs: []string{"1"}},
		{Seq: 4, Author: "agent", Content: called("2", "ask", nil).Content},
		{Seq: 5, Author: "agent", Actions: session.Actions{RequestedToolConfirmations: map[string]session.Confirmation{"2": {}}}},
		{Seq: 6, Author: "user", Content: genai.NewContentFromText(filler(200), genai.RoleUser)},
		{Seq: 7, Author: "agent", Content: genai.NewContentFromText(filler(200), genai.RoleModel)},
	}
	inv := &session.Invocation{Live: events, Position: 7}
	plan, err := compaction.Look(small(), inv, true)
	require.NoError(t, err)
	require.Empty(t, plan.Declined)
	require.Subset(t, plan.Keep, []int64{2, 3, 4, 5})
	require.Equal(t, "[1 6 7]", fmt.Sprint(seqs(plan.Covered)))
}

package compaction_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/plugins/compaction/internal/meter"
	"github.com/plughook/plughook/plugins/compaction/internal/plan"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/session/store"
)

// A summary fills the budget; what came since is a question alone. Then the tail, and at last the first
// message, make room for a shorter summary: what is being answered stays.
func TestTheTailAndTheGoalGiveWay(t *testing.T) {
	c := compaction.Config{
		Window:  300,
		Budget:  300,
		Trigger: 300,
		Summary: 230,
		Tail:    60,
		MinGain: 1,
		Count:   words,
		Log:     slog.New(slog.DiscardHandler),
	}
	svc := memory.New()
	_, err := svc.Create(ctx, key, nil)
	require.NoError(t, err)
	at := session.AppendTarget{Key: key}
	put := func(e *session.Event) {
		at.After, err = svc.Append(ctx, at, e)
		require.NoError(t, err)
	}
	text := func(n, words int) string {
		return strings.Repeat(fmt.Sprintf("thing%d ", n), words)
	}
	size := func(live []*session.Event) int { return len(strings.Fields(compaction.Text(live))) }
	put(session.Message("The goal is " + text(0, 20)))
	var stays []map[int64]string
	for i := range 30 {
		if i%2 == 0 {
			put(&session.Event{
				Author:       "agent",
				InvocationID: "i",
				Content:      session.Reply(text(i, 35)).Content,
			})
		} else {
			put(session.Message(text(i, 60)))
		}
		inv := &session.Invocation{Key: key, ID: fmt.Sprint("i", i)}
		for e, err := range svc.Read(ctx, key, session.Selection{Live: true}) {
			require.NoError(t, err)
			inv.Live = append(inv.Live, e)
		}
		s, err := svc.Get(ctx, key)
		require.NoError(t, err)
		inv.Position, inv.Frontier = s.Position, s.Frontier
		e, planned, err := c.Compact(ctx, inv)
		require.NoError(t, err)
		if e == nil {
			require.Nil(t, planned, "%v", planned)
			require.LessOrEqual(t, size(inv.Live), c.Budget)
			continue
		}
		e.Author, e.InvocationID = session.PluginPrefix+compaction.Name, inv.ID
		put(e)
		stays = append(stays, reasons(planned))
		var live []*session.Event
		for e, err := range svc.Read(ctx, key, session.Selection{Live: true}) {
			require.NoError(t, err)
			live = append(live, e)
		}
		require.LessOrEqual(t, size(live), c.Budget)
	}
	require.Greater(t, len(stays), 3)
	for _, s := range stays {
		found := map[string]int{}
		for _, why := range s {
			found[why]++
		}
		require.Equal(t, 1, found["question"], "%v", s)
	}
}

// reasons returns by position why the events of a plan stay.
func reasons(p *compaction.Plan) map[int64]string {
	why := map[int64]string{}
	for seq, f := range p.Fates {
		if f.Stays != "" {
			why[seq] = f.Stays
		}
	}
	return why
}

// A plan says for each event why it stays.
func TestStays(t *testing.T) {
	c := small()
	c.Keep = compaction.Keep{Authors: []string{"pinned"}}
	live := []*session.Event{
		session.Message("The goal"),
		{Author: "pinned", Content: session.Reply("a note").Content},
	}
	for i := range 40 {
		live = append(live, &session.Event{
			Author:  "agent",
			Content: session.Reply(fmt.Sprint("word ", i, strings.Repeat(" more", 18))).Content,
		})
	}
	for i, e := range live {
		e.Seq = int64(i) + 1
	}
	planned, err := c.Preview(ctx,
		&session.Invocation{Key: key, Live: live, Position: int64(len(live))}, "")
	require.NoError(t, err)
	require.Empty(t, planned.Declined, planned.Why)
	require.Equal(t, map[int64]string{1: "goal", 2: "pinned", 40: "tail", 41: "tail", 42: "tail"},
		reasons(planned))
	require.Len(t, planned.Covered, 37)
}

// The first message stays, too, if Config.Keep names it and more than Keep.Tokens.
func TestTheGoalDoesNotGiveWayAsAPin(t *testing.T) {
	c := small()
	c.Keep = compaction.Keep{Authors: []string{session.User}, Tokens: 10}
	inv := &session.Invocation{Key: key}
	for i := range 20 {
		inv.Position++
		e := says([]string{session.User, "agent"}[i%2], "", filler(6))
		e.Seq = inv.Position
		inv.Live = append(inv.Live, e)
	}
	planned, err := c.Preview(ctx, inv, "")
	require.NoError(t, err)
	require.Empty(t, planned.Declined, planned.Why)
	require.Equal(t, plan.Fate{Form: meter.Whole, Stays: "goal"}, planned.Fates[1])
	require.Equal(t, plan.Fate{Form: meter.FirstLines, GaveWay: "tokens"}, planned.Fates[3])
}

// A plan says of each event what becomes of it, and the compaction covers just those that do not stay,
// whatever is in the view and however much room there is.
func TestAPlanSaysOfEachEventWhatBecomesOfIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		inv := &session.Invocation{Key: key, ID: "now"}
		add := func(invocation int, e *session.Event) {
			inv.Position++
			e.Seq = inv.Position
			e.InvocationID = fmt.Sprint(invocation)
			inv.Live = append(inv.Live, e)
		}
		words := func() string { return filler(rapid.SampledFrom([]int{3, 12, 90}).Draw(t, "words")) }
		open := map[int64]bool{}
		for i := range rapid.IntRange(1, 40).Draw(t, "invocations") {
			add(i, says(session.User, "", words()))
			calls := &genai.Content{Role: genai.RoleModel}
			answers := &genai.Content{Role: genai.RoleUser}
			for j := range rapid.IntRange(0, 3).Draw(t, "calls") {
				name := rapid.SampledFrom([]string{"read", "pin"}).Draw(t, "tool")
				id := fmt.Sprint("c", i, "-", j)
				calls.Parts = append(calls.Parts, &genai.Part{
					FunctionCall: &genai.FunctionCall{
						ID:   id,
						Name: name,
						Args: map[string]any{"page": words()},
					},
				})
				if rapid.IntRange(0, 5).Draw(t, "waits") > 0 {
					answers.Parts = append(answers.Parts, &genai.Part{
						FunctionResponse: &genai.FunctionResponse{
							ID:       id,
							Name:     name,
							Response: map[string]any{"text": words()},
						},
					})
				}
			}
			if len(calls.Parts) > 0 {
				add(i, &session.Event{Author: "desk", Content: calls})
				open[inv.Position] = len(answers.Parts) < len(calls.Parts)
			}
			if len(answers.Parts) > 0 {
				add(i, &session.Event{Author: "desk", Content: answers})
			}
			add(i,
				says(rapid.SampledFrom([]string{"desk", "notes"}).Draw(t, "author"), "", words()))
		}
		c := compaction.Config{
			Window: 4000,
			Budget: rapid.IntRange(300, 3000).Draw(t, "budget"),
			Keep:   compaction.Keep{Tools: []string{"pin"}, Authors: []string{"notes"}},
			Clear: compaction.Clear{
				Trigger: rapid.SampledFrom([]int{0, 100}).Draw(t, "clear"),
				Keep:    1,
				Min:     1,
			},
			MinGain: 1,
			Log:     slog.New(slog.DiscardHandler),
			Count:   tokens,
		}
		planned, err := c.Preview(ctx, inv, "")
		require.NoError(t, err)
		if rapid.Bool().Draw(t, "limit") {
			_, limited, err := c.Compact(ctx, inv)
			require.NoError(t, err)
			if limited != nil {
				planned = limited
			}
		}
		require.Len(t, planned.Fates, len(inv.Live))
		var covered, kept []int64
		for _, e := range inv.Live {
			f := planned.Fates[e.Seq]
			switch f.Form {
			case meter.Whole:
				require.NotEmpty(t, f.Stays)
				require.Empty(t, f.GaveWay)
			case meter.InPart, meter.Hidden:
				require.NotEmpty(t, f.Stays)
				require.NotEmpty(t, f.GaveWay)
			case meter.FirstLines:
				require.Empty(t, f.Stays)
				require.NotEmpty(t, f.GaveWay)
			default:
				require.Equal(t, plan.Fate{Form: meter.Summarized, GaveWay: f.GaveWay}, f)
			}
			switch {
			case f.Stays == "":
				require.False(t, open[e.Seq], "a call of event %d waits", e.Seq)
				covered = append(covered, e.Seq)
			case e.Seq <= planned.Through:
				kept = append(kept, e.Seq)
			}
		}
		require.Equal(t, covered, seqs(planned.Covered))
		require.Equal(t, kept, planned.Keep)
	})
}

// A workflow's run that has not ended keeps its events and its input, and a run that has ended keeps
// nothing. The store takes what is planned.
func TestAWorkflowThatHasNotEndedStays(t *testing.T) {
	node := func(path string, ended bool) *session.Event {
		return &session.Event{
			Author:   "desk",
			Content:  session.Reply("a node's word").Content,
			NodeInfo: &session.NodeInfo{Path: path, Ended: ended},
		}
	}
	asks := node("desk@i2/ask@1", false)
	call := &genai.FunctionCall{ID: "desk@i2/ask@1#ok", Name: session.AskTool}
	asks.Content = &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{{FunctionCall: call}}}
	answer := &session.Event{
		Author:  session.User,
		Content: session.Respond(call, map[string]any{"result": "yes"}).Content,
	}
	live := []*session.Event{
		session.Message("The goal"), node("desk@i1/sort@1", true), node("desk@i1", true), // ended
		session.Message(
			"Another"), node("desk@i2/sort@1", true), asks, answer, node("desk@1/sort@1", false),
	}
	for i := range 40 {
		live = append(live, &session.Event{
			Author:  "agent",
			Content: session.Reply(fmt.Sprint("word ", i, strings.Repeat(" more", 18))).Content,
		})
	}
	for i, e := range live {
		e.Seq = int64(i) + 1
	}
	last := int64(len(live))
	planned, err := small().Preview(ctx, &session.Invocation{Key: key, Live: live, Position: last}, "")
	require.NoError(t, err)
	require.Empty(t, planned.Declined, planned.Why)
	require.Equal(
		t,
		map[int64]string{1: "goal", 4: "workflow", 5: "workflow", 6: "workflow", 7: "workflow",
			last - 2: "tail", last - 1: "tail", last: "tail"},
		reasons(planned),
	)
	compacted := &session.Event{Actions: session.Actions{Compaction: &session.Compaction{
		Through: planned.Through,
		Keep:    planned.Keep,
		Content: session.Message("so far").Content,
	}}}
	require.NoError(t, store.CheckCompaction(live, 0, last+1, compacted))
}

// The difference of two summaries names sentences and values, and not the rows that they are in.
func TestDifferencesNameWhatIsNew(t *testing.T) {
	added, left := plan.Differences(
		"[4 May 2026]\nuser: I like tea.  I have a cat.\n\nValues:\npay(): id 3, amount 5\nsaid: A-1, B-2",
		"Kept in part; recall reads the whole, from the first position to the last:\n1–2 note: a, b\n\n[5 May 2026]\nu: I have a cat.  It is old.\n\nValues:\npay(): id 4, amount 5\nsaid: B-2, C-3",
	)
	require.Equal(t, []string{"1–2 note: a, b", "u: It is old.", "pay(): id 4, amount 5", "C-3"},
		added)
	require.Equal(t, []string{"u: I like tea.", "pay(): id 3, amount 5", "A-1"}, left)
}

// A preview says how many old results the end of the next invocation clears in place of a summary.
func TestAPreviewNamesTheNextClearing(t *testing.T) {
	live := []*session.Event{session.Message("Read")}
	for i := range 3 {
		call := &genai.FunctionCall{ID: fmt.Sprint("c", i), Name: "read"}
		asked := &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{{FunctionCall: call}}}
		answer := session.Respond(call, map[string]any{"result": strings.Repeat("word ", 1000)})
		live = append(live,
			&session.Event{Author: "agent", Content: asked},
			&session.Event{Author: "agent", Content: answer.Content})
	}
	for i, e := range live {
		e.Seq = int64(i) + 1
	}
	inv := &session.Invocation{Key: key, Live: live, Position: int64(len(live))}
	for _, c := range []struct {
		name           string
		trigger, clear int // tokens from which on the plugin makes a summary, and clears results
		events         int // from which on the plugin makes a summary, too
		gain           int // tokens that a summary must save
		want           int
	}{
		{name: "none is due", trigger: 50_000, clear: 40_000, want: 0},
		{name: "two are cleared", trigger: 50_000, clear: 2000, want: 2},
		{name: "they are enough for the trigger", trigger: 3500, clear: 2000, want: 2},
		{name: "a summary is made, since they are not enough", trigger: 1300, clear: 1200, want: 0},
		{name: "a summary is made, since there would be as many events", trigger: 50_000, clear: 2000, events: 7, want: 0},
		{name: "no summary can be made", trigger: 50_000, clear: 2000, events: 7, gain: 20_000, want: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			planned, err := compaction.Config{
				Window:  100_000,
				Trigger: c.trigger,
				Events:  c.events,
				MinGain: c.gain,
				Clear:   compaction.Clear{Trigger: c.clear, Keep: 1},
			}.Preview(ctx, inv, "")
			require.NoError(t, err)
			require.Equal(t, c.want, planned.ClearedNext)
		})
	}
}

// A summary that is made again after a few short messages does not lose most of what it says.
func TestAShortViewLeavesTheSummaryItsSize(t *testing.T) {
	const before = 300 // tokens
	head := summary(40, 0)
	head.Seq = 41
	head.Actions.Compaction.Content = genai.NewContentFromText(strings.Repeat("lamp ", before),
		genai.RoleUser)
	inv := &session.Invocation{Key: key, Live: []*session.Event{head}, Position: 41}
	for range 40 {
		inv.Position++
		e := says(session.User, "", "It is here, behind the lamp.")
		e.Seq = inv.Position
		inv.Live = append(inv.Live, e)
	}
	c := compaction.Config{Window: 100_000, Log: slog.New(slog.DiscardHandler), Count: tokens}
	planned, err := c.Preview(ctx, inv, "")
	require.NoError(t, err)
	require.Equal(t, before, planned.Summary, "in a view of %d", planned.Before)

	c.Summary = 100
	planned, err = c.Preview(ctx, inv, "")
	require.NoError(t, err)
	require.Equal(t, c.Summary, planned.Summary)
}

package compaction_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/plugins/compaction/internal/meter"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// Each test here begins with what goes wrong where it does not hold.

// Strategies that are each bounded grow a prompt without bound together; a threshold is disarmed by
// another. So every configuration that New takes is held to its budget, whatever it is.
func TestTheBoundHoldsInEveryConfiguration(t *testing.T) {
	check(t, histories(t, 12), func(rt *rapid.T) {
		sized := func(what string, least, most int) int { // or not set
			return rapid.OneOf(rapid.Just(0), rapid.IntRange(least, max(least, most))).
				Draw(rt, what)
		}
		c := compaction.Config{
			Window:       rapid.IntRange(80, 1000).Draw(rt, "window"),
			Fraction:     rapid.SampledFrom([]float64{0, 0.3, 0.7}).Draw(rt, "fraction"),
			Events:       sized("events", 1, 20),
			Invocations:  sized("invocations", 1, 9),
			Foreground:   rapid.Bool().Draw(rt, "foreground"),
			Instructions: "the words",
		}
		c.Budget = sized("budget", 90, c.Window)
		budget := cmp.Or(c.Budget, c.Window*4/5)
		c.Trigger = sized("trigger", 64, budget)
		trigger := cmp.Or(c.Trigger, budget*3/4)
		if share := int(c.Fraction * float64(c.Window)); share > 0 {
			trigger = min(trigger, share)
		}
		c.Summary, c.Tail, c.MinGain = sized("summary", 1, trigger/2), sized("tail", 1, trigger/2), sized("min gain", 1, trigger/2)
		if rapid.Bool().Draw(rt, "exact") {
			c.Count = tokens
		}
		if rapid.Bool().Draw(rt, "pins") {
			c.Keep = compaction.Keep{
				Tools:   []string{"read"},
				Authors: []string{"agent"},
				Tokens:  sized("pinned", 1, trigger/4),
			}
		}
		if rapid.Bool().Draw(rt, "model") {
			c.Summarizer = &teller{free: true}
		}
		if _, err := compaction.New(c); err != nil {
			rt.Skip("the configuration is refused")
		}
		count := c.Count
		if count == nil {
			count = meter.Tokens
		}
		m := &speaker{}
		m.answer = func(n int, req *model.Request) (*model.Response, error) {
			sum := 0
			for _, content := range req.Contents {
				sum += count(content)
			}
			if sum > budget {
				rt.Errorf("model call %d has %d tokens, and the budget is %d", n, sum, budget)
			}
			if n%3 == 0 {
				return called("", "read", map[string]any{"page": n}), nil
			}
			return said("answer %d %s", n, filler(n%40)), nil
		}
		s := stage(t, c, m, reader(t, rapid.IntRange(1, 60).Draw(rt, "page")))
		for i := range 25 {
			s.say("question %d %s", i, filler(rapid.IntRange(1, 60).Draw(rt, "words")))
		}
	})
}

// reader returns a tool that answers with so many words.
func reader(t *testing.T, n int) *tool.Tool {
	read, err := tool.New("read", "reads a page", func(_ context.Context, _ *tool.Call, _ struct {
		Page int `json:"page"`
	}) (string, error) {
		return strings.Repeat("text ", n), nil
	})
	require.NoError(t, err)
	return read
}

// A threshold below what a summary leaves asks for a new summary in every turn. So what is saved pays
// for each: there are no more summaries than the tokens that were said allow, in whatever process.
func TestSummariesAreNotMadeInALoop(t *testing.T) {
	for _, c := range []struct {
		name            string
		trigger, budget int
	}{{"a usual trigger", 400, 500}, {"a trigger that is always reached", 150, 500}} {
		t.Run(c.name, func(t *testing.T) {
			config := small()
			config.Trigger, config.Budget, config.Summary, config.Tail, config.MinGain = c.trigger, c.budget, 40, 30, 40
			sum := &teller{free: true}
			config.Summarizer = sum
			a, err := llm.New(llm.Config{Name: "agent", Model: echo(20)})
			require.NoError(t, err)
			s := stageAgent(t, config, a)
			tokens := 0
			for i := range 100 {
				if i%10 == 9 { // another process
					s = restage(t, s.sessions, config, a)
				}
				s.say("question %d %s", i, filler(18))
				tokens += 40
			}
			require.NotEmpty(t, s.compactions())
			require.LessOrEqual(t, sum.calls, 1+tokens/config.MinGain)
			require.LessOrEqual(t, len(s.compactions()), sum.calls)
		})
	}
}

// One call that nobody ever answers keeps a session from ever being compacted; or a summary swallows it,
// and its answer comes to nothing. So a call that waits keeps itself and nothing else, and can be
// answered at the end.
func TestACallThatWaitsKeepsOnlyItself(t *testing.T) {
	for _, answered := range []int{0, 1, 2} { // of three in one answer
		t.Run(fmt.Sprint(answered, " of three are answered"), func(t *testing.T) {
			later := &tool.Tool{
				Declaration: toolbox()[2].Declaration,
				LongRunning: true,
				Run:         func(context.Context, *tool.Call) (map[string]any, error) { return nil, nil },
			}
			m := &speaker{answer: func(n int, _ *model.Request) (*model.Response, error) {
				if n == 1 {
					r := called("a", "later", map[string]any{"request": "a"})
					r.Content.Parts = append(r.Content.Parts,
						called("b", "later", map[string]any{"request": "b"}).Content.Parts[0],
						called("c", "later", map[string]any{"request": "c"}).Content.Parts[0])
					return r, nil
				}
				return said("answer %d %s", n, filler(20)), nil
			}}
			s := stage(t, small(), m, later)
			s.say("do three things")
			call := s.live()[1]
			for _, id := range []string{"a", "b", "c"}[:answered] {
				_, err := s.run(session.Respond(&genai.FunctionCall{ID: id, Name: "later"},
					map[string]any{"result": "done"}))
				require.NoError(t, err)
			}
			for i := range 60 {
				s.say("question %d %s", i, filler(20))
			}
			require.Greater(t, len(s.compactions()), 2)
			live := s.live()
			require.Contains(t, seqs(live), call.Seq)
			require.Less(t, len(live), 30, "the rest is covered")
			_, err := s.run(session.Respond(&genai.FunctionCall{ID: "c", Name: "later"},
				map[string]any{"result": "at last"}))
			require.NoError(t, err)
			for i := answered; i < 2; i++ {
				_, err := s.run(session.Respond(
					&genai.FunctionCall{ID: []string{"a", "b"}[i], Name: "later"},
					map[string]any{"result": "at last"}))
				require.NoError(t, err)
			}
			for i := range 30 {
				s.say("question %d %s", i, filler(20))
			}
			require.NotContains(t, seqs(s.live()), call.Seq, "once all are answered it is covered")
		})
	}
}

// The text of a failure becomes the summary, or the answered turn fails with it. So a summarizer that
// fails in whatever way changes neither what the caller gets nor whether the prompt fits.
func TestAFailingSummarizerChangesNothing(t *testing.T) {
	answers := func(mode string) (all []string) {
		config := small()
		sum := &teller{free: true}
		for range 1000 {
			sum.modes = append(sum.modes, mode)
		}
		config.Summarizer = sum
		m := echo(20)
		s := stage(t, config, m)
		for i := range 40 {
			yielded, err := s.run(session.Message(fmt.Sprintf("question %d %s", i, filler(20))))
			require.NoError(t, err)
			for _, e := range yielded {
				require.Empty(t, e.ErrorCode)
				if e.Author == "agent" {
					all = append(all, e.Text())
				}
			}
			require.LessOrEqual(t, total(m.last()), config.Budget)
			require.NotContains(t, texts(m.last()), "no summary today")
		}
		require.Greater(t, len(s.compactions()), 2)
		return all
	}
	want := answers("tell")
	for _, mode := range []string{"fail", "panic", "exit", "empty", "long"} {
		t.Run(mode, func(t *testing.T) { require.Equal(t, want, answers(mode)) })
	}
}

// Values that later calls need are gone after a few summaries of summaries. So those of the ledger are
// there byte for byte after any number of generations, offline and beside a model's prose.
func TestValuesSurviveFiftyGenerations(t *testing.T) {
	for _, c := range []struct {
		name string
		sum  compaction.Summarizer
	}{{"offline", nil}, {"beside a model's prose", &teller{free: true}}} {
		t.Run(c.name, func(t *testing.T) {
			config := small()
			config.Summarizer = c.sum
			m := &speaker{
				answer: func(int, *model.Request) (*model.Response, error) { return said("yes %s", filler(20)), nil },
			}
			s := stage(t, config, m)
			s.say("hello")
			s.say(
				"book flight HAT136-2231 for mia.li.3818@example.com, paid by credit_card_4938634, to be refunded $1,286.55",
			)
			for i := range 700 {
				s.say("and what of this, number %s %s", strings.Repeat("i", i%7+1), filler(20))
			}
			made := s.compactions()
			require.GreaterOrEqual(t, len(made), 50)
			require.Equal(t, float64(len(made)), noteOn(made[len(made)-1])["generation"])
			for _, literal := range []string{"HAT136-2231", "mia.li.3818@example.com", "credit_card_4938634", "1,286.55"} {
				require.Contains(t, texts(m.last()), literal)
			}
		})
	}
}

// A summary that another version wrote, or that somebody has edited, breaks the session. So what cannot
// be read of it is taken as not there.
func TestANoteThatCannotBeReadIsIgnored(t *testing.T) {
	for name, note := range map[string]any{"none": nil, "a text": "v9", "of another kind": map[string]any{"generation": "two"}, "a state that is none": map[string]any{"sections": []any{"x", 3.0, map[string]any{"terms": "!"}}}} {
		t.Run(name, func(t *testing.T) {
			m := echo(20)
			s := stage(t, small(), m)
			s.say("hello")
			s.say("hello again")
			e := &session.Event{
				Author: "plugin/compaction",
				Actions: session.Actions{
					Compaction: &session.Compaction{
						Through: 3,
						Content: session.Message("They met in Rome.").Content,
					},
				},
			}
			if note != nil {
				e.CustomMetadata = map[string]any{"compaction": note}
			}
			_, err := s.sessions.Append(ctx, session.AppendTarget{Key: key, After: 4}, e)
			require.NoError(t, err)
			for i := range 30 {
				s.say("question %d %s", i, filler(20))
			}
			require.Greater(t, len(s.compactions()), 2)
			require.Contains(t, texts(m.last()), "Rome", "what the text says counts")
		})
	}
}

// A prompt that changes in its middle is paid for anew each time. So between two compactions it only
// grows at its end.
func TestBetweenCompactionsThePromptOnlyGrows(t *testing.T) {
	m := echo(20)
	s := stage(t, small(), m)
	var before []string
	s.say("hello")
	compactions := 0 // when the model was asked last
	answer := m.answer
	m.answer = func(i int, r *model.Request) (*model.Response, error) {
		compactions = len(s.compactions())
		return answer(i, r)
	}
	kept := 0
	for i := range 60 {
		last := compactions
		s.say("question %d %s", i, filler(20))
		var now []string
		for _, c := range m.last().Contents {
			data, err := json.Marshal(c)
			require.NoError(t, err)
			now = append(now, string(data))
		}
		if before != nil && compactions == last {
			require.Greater(t, len(now), len(before))
			require.Equal(t, before, now[:len(before)])
			kept++
		}
		before = now
	}
	require.Greater(t, kept, 30)
	require.Greater(t, len(s.compactions()), 2)
}

// A provider that counts otherwise than we do says "too long" for ever. So it is asked again a few
// times, with less, and then the answer is its own.
func TestTooLongForEverEnds(t *testing.T) {
	m := &speaker{answer: func(n int, _ *model.Request) (*model.Response, error) {
		if n < 6 {
			return said("answer %s", filler(30)), nil
		}
		return nil, &model.Error{
			Code:   "INVALID_ARGUMENT",
			Status: 400,
			Err: errors.New(
				"The input token count (9) exceeds the maximum number of tokens allowed (8)."),
		}
	}}
	s := stage(t, small(), m)
	for range 6 {
		s.say("question %s", filler(20))
	}
	require.LessOrEqual(t, len(m.asked), 6+3)
	last := s.events(session.Selection{Last: 1})[0]
	require.Equal(t, "INVALID_ARGUMENT", last.ErrorCode)
}

// restage is another process on the sessions of one before.
func restage(t *testing.T, sessions session.Service, c compaction.Config, a agent.Agent) *scene {
	s := &scene{t: t, sessions: sessions, log: &logText{}}
	c.Log = slog.New(slog.DiscardHandler)
	p, err := compaction.New(c)
	require.NoError(t, err)
	s.runner, err = runner.New(
		runner.Options{Agent: a, Sessions: sessions, Plugins: []*plugin.Plugin{p}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.runner.Close(context.Background())) })
	return s
}

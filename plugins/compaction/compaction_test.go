package compaction_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

func TestAPromptNeverExceedsItsBudget(t *testing.T) {
	m := echo(20)
	s := stage(t, small(), m)
	for i := range 200 {
		s.say("question %d %s", i, strings.Repeat("why ", 15))
		require.LessOrEqual(t, total(m.last()), 500, "model call %d", i)
	}
	n := len(s.compactions())
	require.Greater(t, n, 5)
	require.Less(t, n, 100, "a compaction gains enough for several turns")
	require.Contains(t, s.live()[1].Text(), "question 0", "the first message stays")
}

func TestALongToolLoopStaysUnderTheBudget(t *testing.T) {
	m := &speaker{answer: func(n int, req *model.Request) (*model.Response, error) {
		if n > 60 {
			return said("done"), nil
		}
		return called("", "read", map[string]any{"page": n}), nil
	}}
	read, err := tool.New("read", "reads a page", func(_ context.Context, _ *tool.Call, _ struct {
		Page int `json:"page"`
	}) (string, error) {
		return strings.Repeat("text ", 40), nil
	})
	require.NoError(t, err)
	s := stage(t, small(), m, read)
	s.say("read the book, all of it, and tell me about Ishmael")
	require.Len(t, m.asked, 61)
	for i, req := range m.asked {
		require.LessOrEqual(t, total(req), 500, "model call %d", i)
		require.Contains(
			t,
			req.Contents[len(req.Contents)-1].Parts[0].Text+req.Contents[0].Parts[0].Text+texts(
				req),
			"Ishmael",
			"the question stays",
		)
	}
	require.Equal(t, "done", s.live()[len(s.live())-1].Text())
}

// A message that is longer than the prompt may be is in the log whole, and the model is shown its beginning,
// with how to read on. If the rest of the prompt leaves no room, the model is not asked.
func TestALongMessageIsCut(t *testing.T) {
	m := echo(5)
	s := stage(t, small(), m)
	s.say("hello")
	whole := "the parcels:\n" + strings.Repeat("one more parcel\n", 600)
	yielded, err := s.run(session.Message(whole))
	require.NoError(t, err)
	require.Equal(t, whole, yielded[0].Text())
	require.Len(t, m.asked, 2)
	shown := texts(m.last())
	require.Contains(t, shown, "the parcels:\none more parcel\n")
	require.Less(t, len(shown), len(whole)/3)
	require.LessOrEqual(t, total(m.last()), 500)

	// The tool recall reads on from there.
	how := readsOn.FindStringSubmatch(shown)
	require.Len(t, how, 4)
	from, _ := strconv.Atoi(how[1])
	skip, _ := strconv.Atoi(how[3])
	got, err := ask(t, s.sessions, "", map[string]any{"from": from, "to": from, "skip": skip})
	require.NoError(t, err)
	rest := whole[skip:]
	require.True(t, strings.HasPrefix(rest, "one more parcel\n"))
	require.Equal(t, rest, strings.TrimPrefix(got.Events[0].Text, "…"))
}

func TestWhatCannotFitIsNotSent(t *testing.T) {
	m := echo(5)
	a, err := llm.New(llm.Config{Name: "agent", Model: m, Instruction: strings.Repeat("long ", 600)})
	require.NoError(t, err)
	s := stageAgent(t, small(), a)
	yielded, err := s.run(session.Message("hello"))
	require.NoError(t, err)
	require.Len(t, yielded, 2)
	require.Equal(t, compaction.TooLong, yielded[1].ErrorCode)
	require.Contains(t, yielded[1].ErrorMessage, "budget is 500")
	require.Empty(t, m.asked)
}

func TestTheProvidersTooLongCompactsAndTriesAgain(t *testing.T) {
	var failed int
	m := &speaker{}
	m.answer = func(n int, req *model.Request) (*model.Response, error) {
		if total(req) > 150 {
			failed++
			return nil, &model.Error{
				Code:   "INVALID_ARGUMENT",
				Status: 400,
				Err: errors.New(
					"The input token count (3000) exceeds the maximum number of tokens allowed (150).",
				),
			}
		}
		return said("answer %d %s", n, strings.Repeat("word ", 20)), nil
	}
	s := stage(t, small(), m)
	for range 20 {
		s.say("question %s", strings.Repeat("why ", 15))
	}
	require.Positive(t, failed)
	for _, e := range s.events(session.Selection{}) {
		require.Empty(t, e.ErrorCode)
	}
}

func TestTheCommandCompactsNow(t *testing.T) {
	s := stage(t, small(), echo(20))
	for range 5 {
		s.say("question %s", strings.Repeat("why ", 15))
	}
	yielded, err := s.run(compaction.Now("").Event())
	require.NoError(t, err)
	require.Len(t, yielded, 2, "the command, and what it did")
	require.NotNil(t, yielded[1].Actions.Compaction)
	yielded, err = s.run(compaction.Now("").Event())
	require.NoError(t, err)
	require.Len(t, yielded, 2)
	require.Equal(t, "FAILED_PRECONDITION", yielded[1].ErrorCode)
	wrong := session.Command{
		Name: compaction.Now("").Name,
		Args: map[string]any{"instructions": 5.0},
	}
	yielded, err = s.run(wrong.Event())
	require.NoError(t, err)
	require.Equal(t, "INVALID_ARGUMENT", yielded[1].ErrorCode)
}

func TestAMessageWithTheCommandIsAnswered(t *testing.T) {
	s := stage(t, small(), echo(20))
	for range 5 {
		s.say("question %s", strings.Repeat("why ", 15))
	}
	input := compaction.Now("").Event()
	input.Content = session.Message("and now?").Content
	yielded, err := s.run(input)
	require.NoError(t, err)
	require.Len(t, yielded, 3)
	require.NotNil(t, yielded[1].Actions.Compaction)
	require.Contains(t, yielded[2].Text(), "answer 6")
}

// What a person asks of the summary may have to be redacted, or denied, like all that he says.
func TestPluginsSeeTheCommandFirst(t *testing.T) {
	deny := &plugin.Plugin{
		Name: "deny",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if _, ok := e.Command(); ok && e.Author == session.User {
				return plugin.Deny("no", "no commands"), nil
			}
			return plugin.Outcome{}, nil
		},
	}
	a, err := llm.New(llm.Config{Name: "agent", Model: echo(20)})
	require.NoError(t, err)
	s := stageAgent(t, small(), a, deny)
	for range 5 {
		s.say("question %s", strings.Repeat("why ", 15))
	}
	yielded, err := s.run(compaction.Now("").Event())
	require.NoError(t, err)
	require.Len(t, yielded, 1)
	require.Equal(t, session.Denied, yielded[0].ErrorCode)
	require.Empty(t, s.compactions())
}

func TestInTheBackground(t *testing.T) {
	c := small()
	c.Foreground = false
	s := stage(t, c, echo(20))
	for i := range 100 {
		s.say("question %d %s", i, strings.Repeat("why ", 15))
	}
	require.NotEmpty(t, s.compactions())
}

func TestAConfigurationThatCannotWorkIsRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		c    compaction.Config
		says string
	}{
		{"too little room", compaction.Config{Window: 1000, Budget: 800, Trigger: 400, Summary: 300, Tail: 100}, "summary 300 + tail 100 + keep.tokens 0 + min_gain 40 = 440 tokens, which is more than trigger 400"},
		{"trigger above budget", compaction.Config{Window: 1000, Budget: 100, Trigger: 400}, "trigger 400 is more than budget 100"},
		{"budget above window", compaction.Config{Window: 1000, Budget: 2000}, "budget 2000 is more than window 1000"},
		{"negative", compaction.Config{Tail: -1}, "tail is negative"},
		{"fraction", compaction.Config{Fraction: 1.5}, "fraction is 1.5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := compaction.New(c.c)
			require.ErrorContains(t, err, c.says)
		})
	}
}

// texts are all texts of a request.
func texts(req *model.Request) string {
	var b strings.Builder
	for _, c := range req.Contents {
		for _, p := range c.Parts {
			b.WriteString(p.Text + "\n")
		}
	}
	return b.String()
}

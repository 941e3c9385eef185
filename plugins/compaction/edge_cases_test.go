package compaction_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/plugins/compaction/internal/meter"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// reporting is a model that reports its prompt's tokens, some of which are not of the conversation.
func reporting(beside *int) *speaker {
	return &speaker{answer: func(n int, req *model.Request) (*model.Response, error) {
		sum := *beside
		for _, c := range req.Contents {
			sum += meter.Tokens(c)
		}
		r := said("answer %d %s", n, strings.Repeat("word ", 60))
		r.UsageMetadata = &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: int32(sum)}
		return r, nil
	}}
}

// An instruction that grows between two reports is not a text that has more tokens than were counted.
func TestAnInstructionThatGrowsIsNotMeasuredAsText(t *testing.T) {
	beside := 10
	instruction := "short"
	m := reporting(&beside)
	a, err := llm.New(llm.Config{
		Name:            "a",
		Model:           m,
		InstructionFunc: func(context.Context, *session.Invocation) (string, error) { return instruction, nil },
	})
	require.NoError(t, err)
	s := stageAgent(t, compaction.Config{Window: 20000, Foreground: true}, a)
	for i := range 30 {
		if i == 8 {
			instruction, beside = strings.Repeat("rule number one is be kind. ", 1000), 5800
		}
		yielded, err := s.run(session.Message("question " + strings.Repeat("hello ", 30)))
		require.NoError(t, err)
		for _, e := range yielded {
			require.Empty(t, e.ErrorCode, "turn %d: %s", i, e.ErrorMessage)
		}
	}
}

// What a compaction keeps is older than the last word that it stands for.
func TestTheAgentThatSpokeLastGoesOn(t *testing.T) {
	pin, err := tool.New("pin", "pins",
		func(context.Context, *tool.Call, struct{}) (string, error) { return "ok", nil })
	require.NoError(t, err)
	b, err := llm.New(llm.Config{Name: "b", Model: echo(160)})
	require.NoError(t, err)
	am := &speaker{answer: func(n int, _ *model.Request) (*model.Response, error) {
		if n == 1 {
			return called("p", "pin", nil), nil
		}
		return called("x", "transfer_to_agent", map[string]any{"agent_name": "b"}), nil
	}}
	a, err := llm.New(
		llm.Config{Name: "a", Model: am, SubAgents: []agent.Agent{b}, Tools: []*tool.Tool{pin}})
	require.NoError(t, err)
	c := small()
	c.Keep.Tools = []string{"pin"}
	s := stageAgent(t, c, a)
	for range 8 {
		s.say("question %s", strings.Repeat("w ", 20))
	}
	require.NotEmpty(t, s.compactions())
	require.Len(t, am.asked, 2, "b has the word")
}

// A plugin's refusal is not the provider's, whatever it says.
func TestARefusalIsNotTooLong(t *testing.T) {
	a, err := llm.New(llm.Config{Name: "agent", Model: echo(20)})
	require.NoError(t, err)
	p, err := compaction.New(small())
	require.NoError(t, err)
	guard := &plugin.Plugin{
		Name: "guard",
		OnEvent: func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Author != session.User || len(inv.Live) < 8 {
				return plugin.Outcome{}, nil
			}
			return plugin.Outcome{
				Emit: []*session.Event{
					{ErrorCode: "POLICY", ErrorMessage: "the input is too long for this desk"},
				},
				Withhold: true,
				Stop:     true,
			}, nil
		},
	}
	s := stagePlugins(t, a, guard, p)
	for range 4 {
		s.say("question %s", strings.Repeat("w ", 20))
	}
	yielded, err := s.run(session.Message("x"))
	require.NoError(t, err)
	require.Len(t, yielded, 1)
	require.Equal(t, "POLICY", yielded[0].ErrorCode)
}

// An agent that is shown this run only keeps seeing it, behind a summary too.
func TestWithoutHistoryAnAgentSeesItsRun(t *testing.T) {
	m := &speaker{answer: func(n int, _ *model.Request) (*model.Response, error) {
		if n > 1 && n < 30 {
			return called("", "read", map[string]any{"page": n}), nil
		}
		return said("final"), nil
	}}
	read, err := tool.New("read", "reads", func(context.Context, *tool.Call, struct {
		Page int `json:"page"`
	}) (string, error) {
		return strings.Repeat("text ", 60), nil
	})
	require.NoError(t, err)
	a, err := llm.New(llm.Config{Name: "a", Model: m, NoHistory: true, Tools: []*tool.Tool{read}})
	require.NoError(t, err)
	s := stageAgent(t, small(), a)
	s.say("the first")
	s.say("the second")
	require.NotEmpty(t, s.compactions())
	last := texts(m.last())
	require.Contains(t, last, "the second")
	require.Contains(t, last, "<summary>")
	require.NotContains(t, m.last().Contents[1].Parts[0].Text, "the first")
}

// A summary that waits for the session's turn is not made a second time.
func TestASummaryIsPaidOnce(t *testing.T) {
	calls, made := 0, make(chan struct{}, 10)
	c := small()
	c.Foreground, c.Log = false, slog.New(slog.DiscardHandler)
	c.Summarizer = writer(func(context.Context, *compaction.Request) (*compaction.Summary, error) {
		calls++
		made <- struct{}{}
		return &compaction.Summary{Text: "They talked."}, nil
	})
	p, err := compaction.New(c)
	require.NoError(t, err)
	s := stage(t, func() compaction.Config { big := small(); big.Trigger = 500; return big }(),
		echo(20))
	for range 12 {
		s.say("question %s", strings.Repeat("why ", 15))
	}
	inv := &session.Invocation{Key: key, ID: "i", Live: s.live()}
	out, err := p.AfterRun(ctx, inv, plugin.End{})
	require.NoError(t, err)
	require.Len(t, out.Emit, 1)
	later := *inv
	later.ID = "j"
	out, err = p.AfterRun(ctx, &later, plugin.End{})
	require.NoError(t, err)
	require.Empty(t, out.Emit, "the first is about to be appended")
	require.Equal(t, 1, calls)
	later.Frontier = 1 // it was, or something else
	out, err = p.AfterRun(ctx, &later, plugin.End{})
	require.NoError(t, err)
	require.Len(t, out.Emit, 1)
}

// A branch that each run names anew leaves nothing behind once nothing of it is left.
func TestBranchesThatSaidNothingDoNotPileUp(t *testing.T) {
	n := 0
	a := agent.New(
		"a",
		"",
		func(_ context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
			return func(yield func(*session.Event, error) bool) {
				n++
				part := host.At(fmt.Sprint("part", n))
				quiet := &session.Event{
					Author:  "a",
					Branch:  part.Branch,
					Actions: session.Actions{StateDelta: map[string]any{"n": n}},
				}
				if yield(quiet, nil) {
					yield(
						&session.Event{
							Author: "a",
							Content: genai.NewContentFromText(
								fmt.Sprintf("answer %d ", n)+strings.Repeat("word ", 40),
								genai.RoleModel),
						},
						nil,
					)
				}
			}
		},
	)
	s := stageAgent(t, small(), a)
	for i := range 120 {
		s.say("question %d", i)
	}
	list := s.compactions()
	require.Greater(t, len(list), 5)
	latest := list[len(list)-1].Actions.Compaction
	fresh := 0 // of what this one covers
	for _, e := range s.events(session.Selection{After: list[len(list)-2].Actions.Compaction.Through}) {
		if e.Branch != "" && e.Seq <= latest.Through {
			fresh++
		}
	}
	require.LessOrEqual(t, len(latest.Branches), 1+fresh)
}

package compaction_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/plugins/compaction/internal/meter"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// waitingCalls returns the log of a desk that has made calls that nobody has answered. Each has arguments of so many
// characters. interim says that each has got an interim response.
func waitingCalls(calls, length int, interim bool) (log []*session.Event) {
	for i := range calls {
		call := &genai.FunctionCall{ID: fmt.Sprint("c", i), Name: "order", Args: map[string]any{
			"text": fmt.Sprint(i, strings.Repeat(" x7-4Q/9", length/8)),
		}}
		invocation := fmt.Sprint("i", i)
		log = append(log, &session.Event{
			Author:             "desk",
			InvocationID:       invocation,
			Content:            &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{{FunctionCall: call}}},
			LongRunningToolIDs: []string{call.ID},
		})
		if interim {
			e := session.Respond(call, map[string]any{"status": "pending" + strings.Repeat(" please wait", length/12)})
			e.Author = "desk"
			e.InvocationID = invocation
			log = append(log, e)
		}
	}
	return log
}

// team returns a desk that hands over to a clerk in its second turn.
func team(t *testing.T, clerk *speaker) agent.Agent {
	c, err := llm.New(llm.Config{Name: "clerk", Model: clerk})
	require.NoError(t, err)
	m := &speaker{answer: func(n int, _ *model.Request) (*model.Response, error) {
		if n == 1 {
			return said("Hello"), nil
		}
		return called("t", "transfer_to_agent", map[string]any{"agent_name": "clerk"}), nil
	}}
	order := &tool.Tool{
		Declaration: &genai.FunctionDeclaration{Name: "order"},
		LongRunning: true,
		Run:         func(context.Context, *tool.Call) (map[string]any, error) { return nil, nil },
	}
	desk, err := llm.New(llm.Config{Name: "desk", Model: m, SubAgents: []agent.Agent{c}, Tools: []*tool.Tool{order}})
	require.NoError(t, err)
	return desk
}

// The waiting calls of the agent before are told to the next one as text, and give way like anything else.
func TestCallsThatAreToldGiveWay(t *testing.T) {
	for name, c := range map[string]struct {
		budget, calls, length int
		interim, hidden       bool
	}{
		"ten of 490 characters":          {2000, 10, 490, false, true},
		"with interim responses":         {2000, 10, 490, true, true},
		"a hundred":                      {2000, 100, 490, true, true},
		"one that is larger than budget": {1000, 1, 8000, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			clerk := echo(10)
			s := newScene(t)
			s.sessions = logged(t, waitingCalls(c.calls, c.length, c.interim)...)
			config := compaction.Config{Budget: c.budget, Foreground: true, Log: slog.New(s.records)}
			p, err := compaction.New(config)
			require.NoError(t, err)
			s.start(team(t, clerk), p)
			_, err = s.run(session.Message("good morning"))
			require.NoError(t, err)
			for i := range 5 {
				events, err := s.run(session.Message(fmt.Sprint("go back ", i)))
				require.NoError(t, err)
				last := events[len(events)-1]
				require.Empty(t, last.ErrorCode, last.ErrorMessage)
				require.Equal(t, "clerk", last.Author)
				count := meter.New(meter.Options{}, nil)
				contents, fixed := count.Request(clerk.last())
				require.LessOrEqual(t, contents+fixed, c.budget)
				require.Contains(t, texts(clerk.last()), fmt.Sprint("go back ", i))
				if c.hidden {
					require.Contains(t, texts(clerk.last()), "wait for an answer")
				}

				// A dry run counts what the model was asked with.
				live, err := session.ReadAll(ctx, s.sessions, key, session.Selection{Live: true})
				require.NoError(t, err)
				require.InDelta(t, contents+fixed, viewTokens(t, config, live)+fixed, 0.25*float64(c.budget))
			}

			// The call is answered as ever, and the model is told so.
			answer := session.Respond(&genai.FunctionCall{ID: "c0", Name: "order"}, map[string]any{"result": "it has come"})
			answer.Author = session.User
			_, err = s.run(answer)
			require.NoError(t, err)
		})
	}
}

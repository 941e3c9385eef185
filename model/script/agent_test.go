package script_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/tool"
)

// talk runs texts on a session and returns what agents said, called and were answered.
func talk(
	t *testing.T,
	root agent.Agent,
	cfg session.RunConfig,
	texts ...string,
) (lines, partials []string) {
	t.Helper()
	r, err := runner.New(runner.Options{Agent: root, Sessions: memory.New()})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close(t.Context())) }()
	cfg.Create = true
	for _, text := range texts {
		for e, err := range r.Run(t.Context(), session.Key{App: "a", User: "u", ID: "s"}, session.Message(text), cfg) {
			require.NoError(t, err)
			switch {
			case e.Partial:
				partials = append(partials, e.Text())
			case len(e.FunctionResponses()) > 0:
				for _, p := range e.Content.Parts {
					became := "answered"
					if p.FunctionResponse.Response["error"] != nil {
						became = "failed"
					}
					lines = append(lines, e.Author+": "+p.FunctionResponse.Name+" "+became)
				}
			case e.ErrorCode != "":
				lines = append(lines, e.Author+": "+e.ErrorCode)
			default:
				lines = append(lines, e.Author+": "+short(e.Content))
			}
		}
	}
	return lines, partials
}

func bot(t *testing.T, name string, m model.Model, change func(*llm.Config)) agent.Agent {
	t.Helper()
	c := llm.Config{Name: name, Description: name, Model: m}
	if change != nil {
		change(&c)
	}
	a, err := llm.New(c)
	require.NoError(t, err)
	return a
}

const team = `
- agent: front
  user: (?i)weather
  call: {name: transfer_to_agent, args: {agent_name: weather}}
- agent: weather
  user: (?i)weather in (?P<city>\w+)
  call: [{name: celsius, args: {city: '{{.group.city}}'}}, {name: alerts, args: {city: '{{.group.city}}'}}]
- error: '*'
  response: [celsius, alerts]
  say: '{{.response.celsius.result}} degrees; alerts: {{.response.alerts.error}}'
  stream: 10
- agent: weather
  user: (?i)thanks
  say: Welcome.
`

func TestATeam(t *testing.T) {
	m := parse(t, team)
	type where struct {
		City string `json:"city"`
	}
	celsius, err := tool.New("celsius", "",
		func(context.Context, *tool.Call, where) (float64, error) { return 21, nil })
	require.NoError(t, err)
	alerts, err := tool.New(
		"alerts",
		"",
		func(context.Context, *tool.Call, where) (string, error) { return "", errors.New("no service") },
	)
	require.NoError(t, err)
	weather := bot(t, "weather", m, func(c *llm.Config) { c.Tools = []*tool.Tool{celsius, alerts} })
	front := bot(t, "front", m, func(c *llm.Config) { c.SubAgents = []agent.Agent{weather} })
	lines, partials := talk(t, front, session.RunConfig{Streaming: session.SSE},
		"Weather in Paris?", "thanks")
	require.Equal(t, []string{
		"user: Weather in Paris?",
		`front: call front-1 transfer_to_agent {"agent_name":"weather"}`,
		"front: transfer_to_agent answered",
		`weather: call weather-1 celsius {"city":"Paris"} | call weather-2 alerts {"city":"Paris"}`,
		"weather: celsius answered",
		"weather: alerts failed",
		"weather: 21 degrees; alerts: no service",
		"user: thanks",
		"weather: Welcome.",
	}, lines)
	require.Equal(t, []string{"21 degrees", "; alerts: ", "no service", "Welcome."}, partials)
}

func TestAgentsReadEachOther(t *testing.T) {
	m := parse(t, `
- {agent: critic, told: 'said: (?P<draft>draft .*)', say: 'I like “{{.group.draft}}”'}
- {agent: writer, say: 'draft of {{.user}}'}
`)
	lines, _ := talk(t,
		workflow.Sequential("both", "", bot(t, "writer", m, nil), bot(t, "critic", m, nil)),
		session.RunConfig{}, "a poem", "a song")
	require.Equal(t, []string{
		"user: a poem", "writer: draft of a poem", "critic: I like “draft of a poem”",
		"user: a song", "writer: draft of a song", "critic: I like “draft of a song”",
	}, lines)
}

// What is answered late ends the conversation as what is answered at once does.
func TestLateAnswers(t *testing.T) {
	m := parse(t, `
- {response: book, say: 'booked {{.response.book.result}}, of {{len .responses}}'}
- {user: book, call: [{name: book, args: {where: Rome}}, {name: book, args: {where: Oslo}}]}
- {say: '{{.user}} yourself'}
`)
	type where struct {
		Where string `json:"where"`
	}
	book, err := tool.New("book", "",
		func(_ context.Context, _ *tool.Call, in where) (string, error) { return in.Where, nil })
	require.NoError(t, err)
	r, err := runner.New(runner.Options{
		Agent: bot(t, "bot", m,
			func(c *llm.Config) { c.Tools = []*tool.Tool{tool.Confirm(book, "sure?")} }),
		Sessions: memory.New(),
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close(t.Context())) }()
	var last string
	for _, input := range []*session.Event{session.Message("book"), session.Message("hurry"), session.Decision(true, "bot-2"), session.Decision(true, "bot-1")} {
		for e, err := range r.Run(t.Context(), session.Key{App: "a", User: "u", ID: "s"}, input, session.RunConfig{Create: true}) {
			require.NoError(t, err)
			if e.Author == "bot" && e.Text() != "" {
				last = e.Text()
			}
		}
	}
	require.Equal(t, "booked Oslo, of 2", last)
}

func TestFailuresAreEvents(t *testing.T) {
	m := parse(
		t,
		"- {user: crash, fail: {code: UNAVAILABLE}}\n- {user: long, say: x, finish: MAX_TOKENS}\n- {user: plain, call: {name: f}}\n- {response: f, say: ok}\n",
	)
	lines, _ := talk(t, bot(t, "bot", m, nil), session.RunConfig{}, "crash", "long", "what?",
		"plain")
	require.Equal(
		t,
		[]string{
			"user: crash",
			"bot: UNAVAILABLE",
			"user: long",
			"bot: MAX_TOKENS",
			"user: what?",
			"bot: INVALID_ARGUMENT",
			"user: plain",
			`bot: call bot-1 f null`,
			"bot: f failed",
			"bot: ok",
		},
		lines,
	)
}

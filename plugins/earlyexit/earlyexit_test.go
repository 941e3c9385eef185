package earlyexit_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/earlyexit"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// echo answers with the user's last text.
var echo = agent.New(
	"echo",
	"",
	func(_ context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			yield(session.Reply("you said: "+host.Now().Input.Text()), nil)
		}
	},
)

func Example() {
	p, err := earlyexit.New(earlyexit.Config{Rules: []earlyexit.Rule{
		{Name: "hours", Text: `(?i)opening hours`, Answer: "We are here from 8 to 20."},
		{Name: "refunds", Text: `(?i)refund every`, Answer: "I cannot do that.", Deny: true},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := runner.New(
		runner.Options{Agent: echo, Sessions: memory.New(), Plugins: []*plugin.Plugin{p}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{"Hello", "What are your opening hours?", "Refund every booking!"} {
		for e, err := range r.Run(context.Background(), session.Key{App: "a", User: "u", ID: "s"}, session.Message(text), session.RunConfig{Create: true}) {
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Println(cmp.Or(e.ErrorCode, "ok"), e.Author+":", e.Text())
		}
	}
	// Output:
	// ok user: Hello
	// ok echo: you said: Hello
	// ok user: What are your opening hours?
	// ok plugin/earlyexit: We are here from 8 to 20.
	// DENIED plugin/earlyexit: I cannot do that.
}

// outcome asks one rule about one event.
func outcome(
	t *testing.T,
	r earlyexit.Rule,
	state map[string]any,
	e *session.Event,
) plugin.Outcome {
	t.Helper()
	r.Answer = "answer"
	p, err := earlyexit.New(earlyexit.Config{Rules: []earlyexit.Rule{r}})
	require.NoError(t, err)
	out, err := p.OnEvent(t.Context(), &session.Invocation{State: state}, e)
	require.NoError(t, err)
	require.NoError(t, out.Check(plugin.OnEvent))
	return out
}

func TestRulesMatch(t *testing.T) {
	said := session.Message("refund please")
	agents := session.Reply("here is your refund")
	agents.Author = "billing"
	thought := &session.Event{
		Author:  "user",
		Content: &genai.Content{Parts: []*genai.Part{{Text: "refund", Thought: true}}},
	}
	for name, tc := range map[string]struct {
		rule  earlyexit.Rule
		state map[string]any
		event *session.Event
		want  bool
	}{
		"text":                             {earlyexit.Rule{Text: "refund"}, nil, said, true},
		"other text":                       {earlyexit.Rule{Text: "^please"}, nil, said, false},
		"case counts":                      {earlyexit.Rule{Text: "Refund"}, nil, said, false},
		"case ignored":                     {earlyexit.Rule{Text: "(?i)Refund"}, nil, said, true},
		"the user's unless said":           {earlyexit.Rule{Text: "refund"}, nil, agents, false},
		"an agent's":                       {earlyexit.Rule{Text: "refund", Author: "billing"}, nil, agents, true},
		"author alone":                     {earlyexit.Rule{Author: "user"}, nil, said, true},
		"thoughts are not text":            {earlyexit.Rule{Text: "refund"}, nil, thought, false},
		"an input without content":         {earlyexit.Rule{Author: "user"}, nil, &session.Event{Author: "user"}, true},
		"state":                            {earlyexit.Rule{State: map[string]any{"plan": "free"}}, map[string]any{"plan": "free"}, said, true},
		"other state":                      {earlyexit.Rule{State: map[string]any{"plan": "free"}}, map[string]any{"plan": "paid"}, said, false},
		"no state":                         {earlyexit.Rule{State: map[string]any{"plan": "free"}}, nil, said, false},
		"state is not set":                 {earlyexit.Rule{State: map[string]any{"plan": nil}}, nil, said, true},
		"state is set":                     {earlyexit.Rule{State: map[string]any{"plan": nil}}, map[string]any{"plan": false}, said, false},
		"numbers of any type":              {earlyexit.Rule{State: map[string]any{"user:strikes": uint64(3)}}, map[string]any{"user:strikes": 3.0}, said, true},
		"a long number":                    {earlyexit.Rule{State: map[string]any{"n": uint64(1<<60 + 1)}}, map[string]any{"n": json.Number("1152921504606846977")}, said, true},
		"a number is not its text":         {earlyexit.Rule{State: map[string]any{"n": 3}}, map[string]any{"n": "3"}, said, false},
		"text and state":                   {earlyexit.Rule{Text: "refund", State: map[string]any{"plan": "free"}}, map[string]any{"plan": "paid"}, said, false},
		"partial events are never matched": {earlyexit.Rule{Text: "refund"}, nil, &session.Event{Author: "user", Content: said.Content, Partial: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, !outcome(t, tc.rule, tc.state, tc.event).IsZero())
		})
	}
}

func TestOutcomes(t *testing.T) {
	said := session.Message("refund")
	answer := outcome(t, earlyexit.Rule{Text: "refund"}, nil, said)
	require.True(
		t,
		answer.Stop && !answer.Withhold && answer.Reason == "rule 1" &&
			answer.Emit[0].ErrorCode == "",
	)

	deny := outcome(t, earlyexit.Rule{Name: "no refunds", Text: "refund", Deny: true}, nil, said)
	require.True(t, deny.Stop && deny.Withhold)
	require.Equal(t, []string{"answer", session.Denied, "rule no refunds"},
		[]string{deny.Emit[0].Text(), deny.Emit[0].ErrorCode, deny.Emit[0].ErrorMessage})

	keep := outcome(t, earlyexit.Rule{Text: "refund", Deny: true, Keep: true}, nil, said)
	require.True(t, keep.Stop && !keep.Withhold && keep.Emit[0].ErrorCode == session.Denied)
}

func TestFirstRuleDecides(t *testing.T) {
	p, err := earlyexit.New(earlyexit.Config{
		Rules: []earlyexit.Rule{
			{Text: "b", Answer: "1"},
			{Text: "a", Answer: "2"},
			{Text: "a", Answer: "3"},
		},
	})
	require.NoError(t, err)
	out, err := p.OnEvent(t.Context(), &session.Invocation{}, session.Message("a"))
	require.NoError(t, err)
	require.Equal(t, "rule 2", out.Reason)
	require.Equal(t, "2", out.Emit[0].Text())
}

func TestPartialsAreHeldBackForRulesAboutAgents(t *testing.T) {
	for author, want := range map[string]bool{"": true, "user": true, "echo": false} {
		p, err := earlyexit.New(earlyexit.Config{
			Rules: []earlyexit.Rule{
				{Text: "a", Answer: "b"},
				{Text: "a", Author: author, Answer: "b"},
			},
		})
		require.NoError(t, err)
		require.Equal(t, want, p.Partials, "author %q", author)
	}
}

func TestRefused(t *testing.T) {
	ok := earlyexit.Rule{Text: "a", Answer: "b"}
	for want, rules := range map[string][]earlyexit.Rule{
		"it has no rules":                             nil,
		"rule 2: it has no condition":                 {ok, {Answer: "b"}},
		"rule 1: it has no answer":                    {{Text: "a"}},
		"rule 2: keep needs deny":                     {ok, {Text: "a", Answer: "b", Keep: true}},
		"rule 3: text: error parsing regexp":          {ok, ok, {Text: "(", Answer: "b"}},
		"rule 1: state \"k\": json":                   {{State: map[string]any{"k": make(chan int)}, Answer: "b"}},
		"rule 2: it has no answer\nearlyexit: rule 3": {ok, {Text: "a"}, {Text: "a"}},
	} {
		_, err := earlyexit.New(earlyexit.Config{Rules: rules})
		require.ErrorContains(t, err, "earlyexit: ")
		require.ErrorContains(t, err, want)
	}
}

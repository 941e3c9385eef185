package guardrail_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/tool"
)

// ahead is a session whose inputs are judged by a service while the model is asked. The service flags what has the
// word bad, and says nothing of what has the word mute. In lockstep it answers once the model has been asked.
type ahead struct {
	t        *testing.T
	court    *court
	lockstep bool
	modelled chan struct{}
	sessions session.Service
	runner   *runner.Runner
	options  runner.Options

	mu       sync.Mutex
	released []string // what the caller has had
	early    []string // that, when the service answered
	prompts  []string // what the model was asked
	ran      int      // tools
	answer   []*genai.Part
}

func stageAhead(t *testing.T, judge string) *ahead {
	a := &ahead{t: t, modelled: make(chan struct{}, 100), sessions: memory.New(), answer: []*genai.Part{{Text: "fine"}}}
	a.court = answered(t, func(w http.ResponseWriter, r *http.Request, q map[string]string) {
		if strings.Contains(q["text"], "hang") {
			hang(w, r, q)
			return
		}
		if strings.Contains(q["text"], "mute") {
			return // with an answer that is no verdict, at once
		}
		if a.lockstep {
			<-a.modelled
		}
		a.mu.Lock()
		a.early = append([]string(nil), a.released...)
		a.mu.Unlock()
		_, _ = fmt.Fprintf(w, `{"flagged": %t}`, strings.Contains(q["text"], "bad"))
	})
	policy := a.court.rule(t, "stages: [input], action: block, message: No.", judge)
	guard, err := guardrail.New(guardrail.Config{Policy: policy, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	ask := generates(func(_ context.Context, req *model.Request, yield func(*model.Response, error) bool) {
		a.mu.Lock()
		var said []string
		for _, c := range req.Contents {
			said = append(said, c.Parts[0].Text)
		}
		a.prompts = append(a.prompts, strings.Join(said, "|"))
		parts := a.answer
		a.mu.Unlock()
		a.modelled <- struct{}{}
		if parts[0].Text != "" && req.Stream && !yield(&model.Response{Content: &genai.Content{Role: genai.RoleModel, Parts: parts}, Partial: true}, nil) {
			return
		}
		yield(&model.Response{Content: &genai.Content{Role: genai.RoleModel, Parts: parts}, FinishReason: genai.FinishReasonStop}, nil)
	})
	does := func(name string) *tool.Tool {
		return &tool.Tool{Declaration: &genai.FunctionDeclaration{Name: name}, Run: func(context.Context, *tool.Call) (map[string]any, error) {
			a.ran++
			a.answer = []*genai.Part{{Text: "done"}}
			return map[string]any{}, nil
		}}
	}
	bot, err := llm.New(llm.Config{Name: "bot", Model: ask, Tools: []*tool.Tool{does("send"), tool.Confirm(does("refund"), "Well?")}})
	require.NoError(t, err)
	a.options = runner.Options{Agent: bot, Sessions: a.sessions, Plugins: []*plugin.Plugin{rewind.New(a.sessions), guard}, AfterRunTimeout: 2 * time.Second}
	a.runner, err = runner.New(a.options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.runner.Close(ctx)) })
	return a
}

const parallel = patient + ", parallel: true"

// run runs an input, and returns what came after it.
func (a *ahead) run(in *session.Event) (lines []string) {
	a.t.Helper()
	a.released = nil
	for e, err := range a.runner.Run(ctx, key, in, session.RunConfig{Create: true, Streaming: session.SSE}) {
		require.NoError(a.t, err)
		if e.Author == session.User {
			continue
		}
		said := line(e)
		if e.Actions.Rewind != nil {
			said = fmt.Sprintf("rewind to %d", e.Actions.Rewind.To)
		}
		a.mu.Lock()
		a.released = append(a.released, said)
		a.mu.Unlock()
		lines = append(lines, said)
	}
	return lines
}

func (a *ahead) say(text string) []string { a.t.Helper(); return a.run(session.Message(text)) }

// live is the live view.
func (a *ahead) live() (lines []string) {
	for e, err := range a.sessions.Read(ctx, key, session.Selection{Live: true}) {
		require.NoError(a.t, err)
		lines = append(lines, line(e))
	}
	return lines
}

func TestParallelRunsAheadAndReleasesNothing(t *testing.T) {
	a := stageAhead(t, parallel)
	a.lockstep = true
	require.Equal(t, []string{"bot:… fine", "bot: fine"}, a.say("good"))
	require.Empty(t, a.early, "the model had been asked, and nothing of its answer was out")
	require.Equal(t, []string{"rewind to 2", "plugin/guardrail: No. [DENIED]"}, a.say("bad"))
	require.Empty(t, a.early)
	require.Equal(t, []string{"good", "good|fine|bad"}, a.prompts)
	require.Equal(t, []string{"input: good", "input: bad"}, a.court.texts(), "nothing else is an input")

	once := stageAhead(t, patient)
	once.say("good")
	once.say("bad")
	require.Equal(t, []string{"good"}, once.prompts, "the input waits")
	require.Equal(t, once.live(), a.live(), "what counts afterwards is the same")

	a.lockstep = false
	a.say("well")
	require.NotContains(t, a.prompts[2], "bad")
}

func TestParallelRunsNoTool(t *testing.T) {
	for text, ran := range map[string]int{"bad": 0, "good": 1} {
		a := stageAhead(t, parallel)
		a.answer, a.lockstep = []*genai.Part{{FunctionCall: &genai.FunctionCall{ID: "c", Name: "send"}}}, true
		a.say(text)
		require.Equal(t, ran, a.ran, text)
	}
}

func TestParallelWithoutAVerdict(t *testing.T) {
	a := stageAhead(t, "timeout: 20ms, on_error: block, parallel: true")
	require.Equal(t, []string{"rewind to 0", "plugin/guardrail: This could not be checked against the policy. [DENIED]"}, a.say("hang"))
	a = stageAhead(t, "timeout: 20ms, on_error: allow, parallel: true")
	require.Equal(t, []string{"bot:… fine", "bot: fine"}, a.say("hang"))
	for e, err := range a.sessions.Read(ctx, key, session.Selection{}) {
		require.NoError(t, err)
		if e.Author == "bot" {
			require.Len(t, plugin.NotesOf(e).Unchecked, 1)
		}
	}
}

// Who breaks off before the verdict leaves nothing for the next run.
func TestParallelThatTheCallerLeaves(t *testing.T) {
	for _, text := range []string{"bad", "hang"} {
		a := stageAhead(t, parallel)
		for e := range a.runner.Run(ctx, key, session.Message(text), session.RunConfig{Create: true}) {
			require.Equal(t, session.User, e.Author)
			break
		}
		live := a.live()
		require.Len(t, live, 1, text)
		require.Contains(t, live[0], "[DENIED]")
	}
}

// An input of which a crash has left no verdict is judged by the next run, whatever that begins with.
func TestParallelAfterACrash(t *testing.T) {
	for name, c := range map[string]struct {
		left string
		next *session.Event
		want []string
	}{
		"sent again":         {"bad", withID("bad", "one"), []string{"rewind to 0", "plugin/guardrail: No. [DENIED]"}},
		"sent again, good":   {"good", withID("good", "one"), []string{"bot: fine"}},
		"another":            {"bad", withID("good", "two"), []string{"rewind to 0", "plugin/guardrail: No. [DENIED]"}},
		"another, also good": {"well", withID("good", "two"), []string{"bot: fine"}},
		"none":               {"bad", nil, []string{"rewind to 0", "plugin/guardrail: No. [DENIED]"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := stageAhead(t, parallel)
			before, err := runner.New(runner.Options{Agent: a.options.Agent, Sessions: a.sessions})
			require.NoError(t, err)
			crashed, cancel := context.WithCancel(ctx)
			defer cancel()
			for range before.Run(crashed, key, withID(c.left, "one"), session.RunConfig{Create: true}) {
				cancel()
			}
			require.NoError(t, before.Close(ctx))
			require.Equal(t, []string{"user: " + c.left}, a.live())
			var lines []string
			for _, said := range a.run(c.next) {
				if !strings.HasPrefix(said, "bot:…") {
					lines = append(lines, said)
				}
			}
			require.Equal(t, c.want, lines)
		})
	}
}

// An input of an earlier run on which there is no verdict keeps runs from going on, and stays.
func TestParallelDoesNotTakeBackWhatNobodyHasJudged(t *testing.T) {
	a := stageAhead(t, parallel)
	_, err := a.sessions.Create(ctx, key, nil)
	require.NoError(t, err)
	old := withID("mute", "one")
	old.Author, old.InvocationID = session.User, "one"
	_, err = a.sessions.Append(ctx, session.At{Key: key}, old)
	require.NoError(t, err)
	lines := a.say("mute too")
	require.Equal(t, []string{"rewind to 1", "plugin/guardrail: This could not be checked against the policy. [DENIED]"}, lines)
	require.Equal(t, "user: mute", a.live()[0])
}

func withID(text, id string) *session.Event {
	e := session.Message(text)
	e.ID = id
	return e
}

// What an undo brings back is judged again.
func TestParallelUndone(t *testing.T) {
	a := stageAhead(t, parallel)
	a.say("good")
	a.say("bad")
	a.run(rewind.Undo().Event())
	require.Contains(t, a.live(), "user: bad")
	require.Equal(t, []string{"rewind to 2", "plugin/guardrail: No. [DENIED]"}, a.say("well"))
}

// With a yes to a call its tool runs at once, so the input waits.
func TestParallelNeverWithAYes(t *testing.T) {
	for text, ran := range map[string]int{"bad": 0, "good": 1} {
		a := stageAhead(t, parallel)
		a.answer = []*genai.Part{{FunctionCall: &genai.FunctionCall{ID: "c", Name: "refund"}}}
		require.Equal(t, []string{"bot: refundnull", "bot: [c: Well?]"}, a.say("good"))
		yes := session.Message(text)
		yes.Actions.RequestedToolConfirmations = map[string]session.Confirmation{"c": {Confirmed: true}}
		lines := a.run(yes)
		require.Equal(t, ran, a.ran, "%s: %v", text, lines)
		require.NotContains(t, strings.Join(a.live(), "\n"), "bad")
	}
}

package guardrail_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/session"
)

func invocation() *session.Invocation { return &session.Invocation{ID: session.NewID(), Key: key} }

func input(text string) *session.Event {
	e := session.Message(text)
	e.ID, e.Author = session.NewID(), session.User
	return e
}

// gate is a service that answers once it is opened, and tells of each question.
type gate struct {
	*court
	came, opened, gone chan struct{}
}

func gated(t testing.TB, answer string) *gate {
	g := &gate{
		came:   make(chan struct{}, 100),
		opened: make(chan struct{}),
		gone:   make(chan struct{}, 100),
	}
	g.court = answered(t, func(w http.ResponseWriter, r *http.Request, _ map[string]string) {
		g.came <- struct{}{}
		select {
		case <-g.opened:
			_, _ = w.Write([]byte(answer))
		case <-r.Context().Done():
			g.gone <- struct{}{}
		}
	})
	return g
}

// plug is the plugin alone.
func plug(t testing.TB, c guardrail.Config) *plugin.Plugin {
	p, err := guardrail.New(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close(ctx)) })
	return p
}

func TestJudgeIsAskedOnceByMany(t *testing.T) {
	g := gated(t, `{"flagged": true}`)
	p := plug(t, guardrail.Config{Policy: g.rule(t, "stages: [input], action: block", patient)})
	first, leave := context.WithCancel(ctx)
	left := make(chan error, 1)
	go func() {
		_, err := p.OnEvent(first, invocation(), input("x"))
		left <- err
	}()
	<-g.came
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			out, err := p.OnEvent(ctx, invocation(), input("x"))
			if err != nil || !out.Stop {
				t.Errorf("it passed: %v", err)
			}
		})
	}
	leave()
	require.ErrorIs(t, <-left, context.Canceled, "who asked first has left")
	close(g.opened)
	all.Wait()
	require.LessOrEqual(t, len(g.texts()), 2,
		"those who came later wait for what he asked, or have asked once more, once")
}

func TestJudgeQuestionIsCancelledOnceNobodyWaits(t *testing.T) {
	g := gated(t, `{"flagged": false}`)
	p := plug(t, guardrail.Config{Policy: g.rule(t, "stages: [input], action: block", patient)})
	mine, leave := context.WithCancel(ctx)
	left := make(chan error)
	go func() {
		_, err := p.OnEvent(mine, invocation(), input("x"))
		left <- err
	}()
	<-g.came
	leave()
	require.ErrorIs(t, <-left, context.Canceled)
	<-g.gone
	close(g.opened)
	out, err := p.OnEvent(ctx, invocation(), input("x"))
	require.NoError(t, err)
	require.True(t, out.IsZero(), "who comes later asks anew")
	require.Len(t, g.texts(), 2)
}

func TestJudgeErrorsAreNotRemembered(t *testing.T) {
	fails := true
	c := answered(t, func(w http.ResponseWriter, _ *http.Request, _ map[string]string) {
		if fails {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = w.Write([]byte(`{"flagged": false}`))
	})
	p := plug(t, guardrail.Config{Policy: c.rule(t, "stages: [input], action: block", patient)})
	out, err := p.OnEvent(ctx, invocation(), input("x"))
	require.NoError(t, err)
	require.True(t, out.Stop)
	fails = false
	for range 3 {
		out, err = p.OnEvent(ctx, invocation(), input("x"))
		require.NoError(t, err)
		require.True(t, out.IsZero())
	}
	require.Len(t, c.texts(), 2)
}

// What a judge has said counts for an hour.
func TestJudgeAnswersGrowOld(t *testing.T) {
	c := answered(t, `{"flagged": false}`)
	now := time.Now()
	p := plug(t, guardrail.Config{
		Policy: c.rule(t, "stages: [input], action: block", patient),
		Now:    func() time.Time { return now },
	})
	for _, wait := range []time.Duration{
		0,
		59 * time.Minute,
		time.Minute,
		59 * time.Minute,
		2 * time.Minute,
	} {
		now = now.Add(wait)
		_, err := p.OnEvent(ctx, invocation(), input("x"))
		require.NoError(t, err)
	}
	require.Len(t, c.texts(), 3)
}

// Each of two services answers when both were asked.
func TestJudgesAreAskedAtOnce(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	meet := func(w http.ResponseWriter, _ *http.Request, _ map[string]string) {
		both.Done()
		both.Wait()
		_, _ = w.Write([]byte(`{"flagged": true}`))
	}
	a, b := answered(t, meet), answered(t, meet)
	p := plug(t, guardrail.Config{
		Policy: parse(
			t,
			"rules:\n  - {id: a, action: flag, judge: {url: "+a.URL+", "+patient+"}}\n  - {id: b, action: flag, judge: {url: "+b.URL+", "+patient+"}}",
		),
	})
	out, err := p.OnEvent(ctx, invocation(), input("x"))
	require.NoError(t, err)
	n, _ := guardrail.NoteOf(out.Replace)
	require.Equal(t, "a b", n.Records[0].Rule+" "+n.Records[1].Rule)
}

// The services never answer.
func TestLocalBlockWaitsForNoJudge(t *testing.T) {
	g := gated(t, "")
	local := "rules:\n  - {id: topic, action: block, judge: {url: " + g.URL + ", " + patient + "}}\n  - {id: word, detect: {words: [heron]}, action: block, message: No.}"
	p := plug(t, guardrail.Config{Policy: parse(t, local)})
	out, err := p.OnEvent(ctx, invocation(), input("a heron"))
	require.NoError(t, err)
	require.Equal(t, "No.", out.Emit[0].Text())

	e := input("")
	e.Author, e.Content.Parts[0].Text = "bot", ""
	e.Content.Parts[0].FunctionCall = call("send", map[string]any{"text": "a heron"})
	out, err = p.OnEvent(ctx, invocation(), e)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"error": "No."}, out.Emit[0].FunctionResponses()[0].Response)
}

func TestJudgeBlockWaitsForNoOther(t *testing.T) {
	g, yes := gated(t, ""), answered(t, `{"flagged": true}`)
	p := plug(t, guardrail.Config{
		Policy: parse(
			t,
			"rules:\n  - {id: a, action: block, judge: {url: "+g.URL+", "+patient+"}}\n  - {id: b, action: block, message: No., judge: {url: "+yes.URL+", "+patient+"}}",
		),
	})
	out, err := p.OnEvent(ctx, invocation(), input("x"))
	require.NoError(t, err)
	require.Equal(t, "No.", out.Emit[0].Text())
}

func TestJudgeHoldsAStream(t *testing.T) {
	for name, c := range map[string]struct {
		rest, judge string
		want        []string
	}{
		"block": {
			"action: block, message: No.",
			patient,
			[]string{"user: hi", "plugin/guardrail: No. [DENIED]"},
		},
		"redact": {"action: redact", patient, []string{"user: hi", "bot: [FLAGGED]"}},
		"flag": {
			"action: flag",
			"timeout: 1m, on_error: allow",
			[]string{"user: hi", "bot:… one ", "bot:… two", "bot: one two"},
		},
		"flag, or block": {"action: flag", patient, []string{"user: hi", "bot: one two"}},
		"block in shadow": {
			"action: block, mode: shadow",
			patient,
			[]string{"user: hi", "bot:… one ", "bot:… two", "bot: one two"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			court := answered(t, `{"flagged": true}`)
			s := stage(t,
				guardrail.Config{Policy: court.rule(t, "stages: [output], "+c.rest, c.judge)},
				[]string{"one ", "two"})
			require.Equal(t, c.want, s.run("hi"))
		})
	}
}

// The service answers once the event has passed.
func TestJudgeInShadowHoldsUpNothing(t *testing.T) {
	g := gated(t, `{"flagged": true, "type": "TOPIC"}`)
	var log bytes.Buffer
	p, err := guardrail.New(guardrail.Config{
		Policy: g.rule(t, "stages: [input], mode: shadow, action: block", patient),
		Log:    slog.New(slog.NewJSONHandler(&log, nil)),
	})
	require.NoError(t, err)
	out, err := p.OnEvent(ctx, invocation(), input("canary"))
	require.NoError(t, err)
	require.True(t, out.IsZero())
	<-g.came
	close(g.opened)
	require.NoError(t, p.Close(ctx), "which waits for it")
	require.Contains(t, log.String(),
		`"rule":"topic","stage":"input","type":"TOPIC","action":"allow","would_action":"block"`)
	require.NotContains(t, log.String(), "canary")
}

// What a rule of this process blocks is blocked at once: the judges of the other texts are not
// waited for.
func TestLocalBlocksEndTheHearing(t *testing.T) {
	court := answered(t, hang)
	p := plug(t, guardrail.Config{Policy: parse(t, fmt.Sprintf(`
rules:
  - {id: word, stages: [output], detect: {words: [heron]}, action: block, message: No birds.}
  - {id: topic, stages: [tool_args], judge: {url: %s, timeout: 1m, on_error: block}, action: block}`, court.URL))})
	out, err := p.OnEvent(ctx, invocation(), says("bot", &genai.Part{Text: "a heron"},
		&genai.Part{FunctionCall: call("fetch", map[string]any{"a": "x"})}))
	require.NoError(t, err)
	require.Equal(t, "No birds.", out.Emit[0].Text())
	n, ok := guardrail.NoteOf(out.Emit[0])
	require.True(t, ok)
	require.False(t,
		slices.ContainsFunc(n.Records, func(r guardrail.Record) bool { return r.Rule == "topic" }),
		"%v", n.Records)
}

// A text that is too long for the policy goes to no judge.
func TestJudgesSeeNoLongTexts(t *testing.T) {
	court := answered(t, func(w http.ResponseWriter, _ *http.Request, _ map[string]string) {
		_, _ = fmt.Fprint(w, `{"flagged": false}`)
	})
	p := plug(t, guardrail.Config{Policy: parse(t, fmt.Sprintf(`
limits: {max_bytes: 5, over_limit: flag}
rules:
  - {id: topic, stages: [input], judge: {url: %s, timeout: 1m, on_error: block}, action: block}`, court.URL))})
	for _, text := range []string{"12345", "123456"} {
		out, err := p.OnEvent(ctx, invocation(), input(text))
		require.NoError(t, err)
		require.False(t, out.Stop)
	}
	require.Equal(t, []string{"input: 12345"}, court.texts())
}

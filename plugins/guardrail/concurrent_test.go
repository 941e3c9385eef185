package guardrail_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
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
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/tool"
)

// echo is a model that repeats the last text, a rune at a time.
type echo struct{}

func (echo) Generate(_ context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		last := req.Contents[len(req.Contents)-1]
		for _, chunk := range strings.SplitAfter(last.Parts[0].Text, "") {
			if !yield(&model.Response{Content: genai.NewContentFromText(chunk, genai.RoleModel), Partial: true}, nil) {
				return
			}
		}
		yield(&model.Response{Content: &genai.Content{Role: genai.RoleModel, Parts: last.Parts}}, nil)
	}
}

// Sessions at once, under one plugin, while its policy changes: each run is held to one policy from its beginning to
// its end, and a policy that is wrong changes nothing.
func TestSessionsAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.yaml")
	at := time.Now()
	write := func(text string) {
		other := file + ".new"
		require.NoError(t, os.WriteFile(other, []byte(text), 0o600))
		at = at.Add(time.Hour)
		require.NoError(t, os.Chtimes(other, at, at))
		require.NoError(t, os.Rename(other, file))
	}
	policies := []string{`rules: [{id: a, stages: [output], detect: {words: [one]}, action: redact}]`, `rules: [{id: b, stages: [output], detect: {words: [two]}, action: redact}]`, `rules: [{id: c, acton: redact}]`}
	write(policies[0])
	bot, err := llm.New(llm.Config{Name: "bot", Model: echo{}})
	require.NoError(t, err)
	p, err := guardrail.New(guardrail.Config{File: file, Reload: true, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	r, err := runner.New(runner.Options{Agent: bot, Sessions: memory.New(), Plugins: []*plugin.Plugin{p}})
	require.NoError(t, err)
	var running sync.WaitGroup
	errs := make(chan error, 8)
	for n := range 8 {
		running.Go(func() {
			for range 20 {
				shown, whole := "", ""
				for e, err := range r.Run(ctx, session.Key{App: "app", User: "ann", ID: fmt.Sprint(n)}, session.Message("one two. "), session.RunConfig{Create: true, Streaming: session.SSE}) {
					switch {
					case err != nil:
						errs <- err
						return
					case e.Partial:
						shown += e.Text()
					case e.Author == "bot":
						whole = e.Text()
					}
				}
				if whole != "[WORD] two. " && whole != "one [WORD]. " || shown != whole {
					errs <- fmt.Errorf("%q was shown, %q stored", shown, whole)
					return
				}
			}
		})
	}
	for i := range 30 {
		write(policies[i%3])
	}
	running.Wait()
	close(errs)
	require.NoError(t, <-errs)
	require.NoError(t, r.Close(ctx))
}

// A file that is no policy is told with each run, and so is one that is gone; one that is mended counts.
func TestReloadSaysWhichPolicyHolds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.yaml")
	at := time.Now()
	write := func(text string) {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		at = at.Add(time.Hour)
		require.NoError(t, os.Chtimes(file, at, at))
	}
	write(`rules: [{id: a, detect: {words: [one]}, action: redact}]`)
	s := stage(t, guardrail.Config{File: file, Reload: true}, "1", "2", "3", "4", "5")
	for _, c := range []struct {
		change     func()
		says, want string
	}{
		{func() {}, ``, "user: [WORD]"},
		{func() { write("") }, `there are no rules: the policy would let everything pass`, "user: [WORD]"},
		{func() {}, `the policy's file is wrong, or gone; the policy before it is in force`, "user: [WORD]"},
		{func() { require.NoError(t, os.Remove(file)) }, `the one before it stays in force`, "user: [WORD]"},
		{func() { write(`rules: [{id: a, detect: {words: [two]}, action: redact}]`) }, `the policy was reloaded`, "user: one"},
	} {
		s.log.Reset()
		c.change()
		require.Equal(t, c.want, s.run("one")[0])
		require.True(t, bytes.Contains(s.log.Bytes(), []byte(c.says)), s.log.String())
	}
}

// A value goes through the vault to the tool that may have it, and to no other; neither the log nor the model has it.
func TestVaultRoundTrip(t *testing.T) {
	secret := []byte("a key of sixteen bytes, and more")
	v, err := guardrail.NewVault(secret)
	require.NoError(t, err)
	got := map[string]any{}
	keeps := func(name string) *tool.Tool {
		return &tool.Tool{Declaration: &genai.FunctionDeclaration{Name: name}, Serial: true, Run: func(_ context.Context, c *tool.Call) (map[string]any, error) {
			got[name] = c.Args["to"]
			return map[string]any{"sent_to": c.Args["to"]}, nil
		}}
	}
	asked := &forwards{}
	bot, err := llm.New(llm.Config{Name: "bot", Model: asked, Tools: []*tool.Tool{v.Tool(keeps("mail")), keeps("post")}})
	require.NoError(t, err)
	c := with(t, `rules: [{id: v, detect: {pii: [EMAIL_ADDRESS]}, action: vault}]`)
	c.Key, c.Log = secret, slog.New(slog.DiscardHandler)
	p, err := guardrail.New(c)
	require.NoError(t, err)
	s := &scene{t: t, sessions: memory.New()}
	s.runner, err = runner.New(runner.Options{Agent: bot, Sessions: s.sessions, Plugins: []*plugin.Plugin{p}})
	require.NoError(t, err)
	lines := s.run("write to ann@example.com")
	require.NoError(t, s.runner.Close(ctx))
	require.Equal(t, "ann@example.com", got["mail"])
	token := got["post"].(string)
	require.Regexp(t, `^\[EMAIL_ADDRESS#[\w-]+\]$`, token)
	require.Contains(t, strings.Join(lines, "\n"), `{"sent_to":"`+token+`"}`) // what the tool answered is sealed again
	require.NotContains(t, s.stored()+strings.Join(lines, "\n")+asked.heard, "ann@example.com")
}

// forwards is a model that calls each tool with the address that it was given.
type forwards struct{ heard string }

func (f *forwards) Generate(_ context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		f.heard += inJSON(req.Contents)
		parts := []*genai.Part{{Text: "done"}}
		if len(req.Contents) == 1 {
			to := regexp.MustCompile(`\[\S+\]`).FindString(req.Contents[0].Parts[0].Text)
			parts = []*genai.Part{{FunctionCall: call("mail", map[string]any{"to": to})}, {FunctionCall: call("post", map[string]any{"to": to})}}
		}
		yield(&model.Response{Content: &genai.Content{Role: genai.RoleModel, Parts: parts}}, nil)
	}
}

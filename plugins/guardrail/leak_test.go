package guardrail_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// A canary is put wherever a text can be: it is in nothing that is stored, yielded, recorded or said in an error.
func TestCanary(t *testing.T) {
	const canary = "xq7canarybird"
	for _, action := range []string{"redact", "mask", "hash", "vault", "block", "replace"} {
		t.Run(action, func(t *testing.T) {
			rules := `rules: [{id: c, stages: [input, prompt, output, tool_args, tool_result, summary], detect: {regexp: {CANARY: xq7canarybird}}, action: ` + action + `, with: gone}]`
			if action != "replace" {
				rules = strings.Replace(rules, ", with: gone", "", 1)
			}
			c := with(t, rules)
			c.Key = []byte("a key of sixteen bytes, and more")
			s := stage(t, c, []string{"so xq7can", "ary", "bird it\n", "is"}, "so "+canary+" it is", []*genai.Part{{Text: "xq7canary"}, {Text: "bird"}},
				call("send", map[string]any{"to": canary + "@b", canary: []any{map[string]any{"a": canary}}}), "ok "+canary,
				call("fetch", map[string]any{"answer": "xq7canary"}), errors.New("no model for "+canary))
			said := ""
			for _, input := range []any{"hello", "my " + canary, "hello", "hello", "hello",
				&session.Event{Content: &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{
					{InlineData: &genai.Blob{MIMEType: "text/plain", Data: []byte("x"), DisplayName: canary}}, {FileData: &genai.FileData{FileURI: "gs://x", DisplayName: canary}},
					{ExecutableCode: &genai.ExecutableCode{Code: canary}}, {CodeExecutionResult: &genai.CodeExecutionResult{Output: canary}}}}},
				&session.Event{Content: genai.NewContentFromText("state", genai.RoleUser), CustomMetadata: map[string]any{"x": []any{canary}}, Actions: session.Actions{StateDelta: map[string]any{"a": canary, canary: "b"}}},
			} {
				for _, e := range s.events(input) {
					data, err := e.MarshalJSON()
					require.NoError(t, err)
					said += line(e) + string(data)
				}
			}
			for where, text := range map[string]string{"stream": said, "store": s.stored(), "records": s.log.String()} {
				require.NotContains(t, text, canary, where)
			}
			require.NotEmpty(t, s.log.String())
			for _, args := range s.tools {
				require.NotContains(t, inJSON(args), canary)
			}
		})
	}
}

// What is said about a text does not quote what is hidden of it.
func TestReasonsDoNotQuote(t *testing.T) {
	const canary = "xq7canarybird"
	for name, rule := range map[string]string{
		"command":   `{id: t, stages: [tool_args], tools: {deny: ["send(rm *)"], other: ask}}`,
		"condition": `{id: t, stages: [tool_args], when: 'int(tool.args.command) > 1', action: block}`,
	} {
		for _, command := range []string{"rm " + canary, canary, canary + " && $" + canary} {
			s := stage(t, with(t, `rules: [{id: c, detect: {regexp: {CANARY: xq7canarybird}}, action: redact}, `+rule+`]`), call("send", map[string]any{"to": "@", "command": command}), "ok")
			said := ""
			for _, e := range s.events("hello") {
				said += line(e) + inJSON(e)
			}
			require.NotContains(t, said+s.stored()+s.log.String(), canary, name)
			require.Empty(t, s.tools)
		}
	}
}

func TestNotes(t *testing.T) {
	s := stage(t, with(t, `rules: [{id: m, detect: {pii: [EMAIL_ADDRESS]}, action: redact}, {id: f, mode: shadow, detect: {words: [mail]}, action: block}]`), "hello")
	e := s.events("mail ann@example.com and bob@example.com, ann@example.com")[0]
	n, ok := guardrail.NoteOf(e)
	require.True(t, ok)
	require.Len(t, n.Records, 2)
	require.Len(t, n.Records[1].Fingerprints, 2)
	n.Records[0].Fingerprints, n.Records[1].Fingerprints = nil, nil
	require.ElementsMatch(t, []guardrail.Record{{Rule: "m", Stage: "input", Type: "EMAIL_ADDRESS", Action: "redact", Count: 3, Length: 45},
		{Rule: "f", Stage: "input", Type: "WORD", Action: "allow", Would: "block", Count: 1, Length: 4}}, n.Records)
	require.Equal(t, "f: would block WORD; m: redact EMAIL_ADDRESS (3)", plugin.NotesOf(e).Changed[0].Reason)
	_, ok = guardrail.NoteOf(session.Message("x"))
	require.False(t, ok)
	require.Contains(t, s.log.String(), `"would_action":"block"`)
}

func TestReload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.yaml")
	at := time.Now()
	write := func(text string) {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		at = at.Add(time.Hour)
		require.NoError(t, os.Chtimes(file, at, at))
	}
	write(`rules: [{id: a, detect: {words: [one]}, action: redact}]`)
	s := stage(t, guardrail.Config{File: file, Reload: true}, "1", "one two", "3", "4")
	require.Equal(t, []string{"user: [WORD] two", "bot: 1"}, s.run("one two"))

	// A run keeps the policy that it began with.
	began := false
	for e, err := range s.runner.Run(ctx, key, session.Message("one"), session.RunConfig{}) {
		require.NoError(t, err)
		if !began {
			write(`rules: [{id: a, detect: {words: [two]}, action: redact}]`)
		}
		if began = true; e.Author == "bot" {
			require.Equal(t, "[WORD] two", e.Text())
		}
	}
	require.Equal(t, []string{"user: one [WORD]", "bot: 3"}, s.run("one two"))
	require.Contains(t, s.log.String(), "the policy was reloaded")

	write(`rules: [{id: a, detect: {words: [two]}, actoin: redact}]`)
	require.Equal(t, []string{"user: one [WORD]", "bot: 4"}, s.run("one two"))
	require.Contains(t, s.log.String(), "the one before it stays in force")
	require.Contains(t, s.log.String(), `p.yaml:1:41: unknown key \"actoin\"; did you mean \"action\"?`)
}

func TestNewRefuses(t *testing.T) {
	p := policy.Default()
	for name, c := range map[string]struct {
		config guardrail.Config
		want   string
	}{
		"no file":             {guardrail.Config{File: "none.yaml"}, "none.yaml"},
		"both":                {guardrail.Config{File: "none.yaml", Policy: p}, "a file and a policy"},
		"nothing to reload":   {guardrail.Config{Reload: true}, "there is no file to read again"},
		"short key":           {guardrail.Config{Key: []byte("x")}, "a key of 1 bytes; it needs 16 or more"},
		"no key":              {guardrail.Config{KeyEnv: "NO_SUCH_KEY"}, "the environment variable NO_SUCH_KEY is not set"},
		"vault without a key": {guardrail.Config{Policy: parse(t, `rules: [{id: v, detect: {secrets: default}, action: vault}]`)}, "there is no key to open one with"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := guardrail.New(c.config)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestVault(t *testing.T) {
	secret := []byte("a key of sixteen bytes, and more")
	c := with(t, `rules: [{id: v, stages: [input], detect: {pii: [EMAIL_ADDRESS]}, action: vault}]`)
	c.Key = secret
	s := stage(t, c, "hello", "hello")
	token := strings.TrimPrefix(s.run("to ann@example.com")[0], "user: to ")
	require.Regexp(t, `^\[EMAIL_ADDRESS#[\w-]+\]$`, token)
	require.Contains(t, s.run("again ann@example.com")[0], token)

	v, err := guardrail.NewVault(secret)
	require.NoError(t, err)
	require.Equal(t, "<ann@example.com> [X#AAAAAAAAAAAAAAAAAAAAAA]", v.Open("<"+token+"> [X#AAAAAAAAAAAAAAAAAAAAAA]"))
	other, err := guardrail.NewVault([]byte("another key of sixteen bytes"))
	require.NoError(t, err)
	require.Equal(t, token, other.Open(token))
	changed := strings.Replace(token, "EMAIL_ADDRESS", "EMAIL", 1)
	require.Equal(t, changed, v.Open(changed))
	_, err = guardrail.NewVault(nil)
	require.ErrorContains(t, err, "a vault's key of 0 bytes")

	var got map[string]any
	send := v.Tool(&tool.Tool{Declaration: &genai.FunctionDeclaration{Name: "send"}, Run: func(_ context.Context, c *tool.Call) (map[string]any, error) {
		got = c.Args
		return nil, nil
	}})
	args := map[string]any{"to": []any{token}}
	_, err = send.Run(ctx, &tool.Call{Args: args})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"to": []any{"ann@example.com"}}, got)
	require.Equal(t, map[string]any{"to": []any{token}}, args)
}

func TestSummaries(t *testing.T) {
	summary := func(text string) *session.Event {
		return &session.Event{Author: "plugin/compaction", Actions: session.Actions{Compaction: &session.Compaction{Through: 1, Content: genai.NewContentFromText(text, genai.RoleUser)}}}
	}
	inv := &session.Invocation{ID: "i", Key: key}
	for name, c := range map[string]struct{ rules, want string }{
		"redacted":           {`rules: [{id: r, stages: [summary], detect: {words: [heron]}, action: redact}]`, "a [WORD] flew"},
		"blocked":            {`rules: [{id: r, stages: [summary], detect: {words: [heron]}, action: block}]`, "a [WORD] flew"},
		"blocked as a whole": {`rules: [{id: r, stages: [summary], when: 'text contains "heron"', action: block}]`, "[a policy withholds this summary]"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := quiet(t, with(t, c.rules)).OnEvent(ctx, inv, summary("a heron flew"))
			require.NoError(t, err)
			require.False(t, out.Stop)
			require.Equal(t, c.want, out.Replace.Actions.Compaction.Content.Parts[0].Text)
			require.Equal(t, int64(1), out.Replace.Actions.Compaction.Through)
		})
	}
}

// Whatever is in a call's arguments, what is left of them is JSON, and has nothing of what was to be hidden.
func FuzzArguments(f *testing.F) {
	f.Add(`{"a":"heron","heron":["x",{"b":"the heron"}],"n":4111111111111111}`)
	f.Add(`{"heron":1,"[WORD]":2,"[WORD] 2":3}`)
	p := quiet(f, with(f, `rules: [{id: r, detect: {regexp: {WORD: heron}}, action: redact}]`))
	inv := &session.Invocation{ID: "i", Key: key}
	f.Fuzz(func(t *testing.T, args string) {
		var v map[string]any
		if json.Unmarshal([]byte(args), &v) != nil {
			return
		}
		e := &session.Event{Author: "bot", Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{{FunctionCall: call("send", v)}}}}
		before := inJSON(v)
		out, err := p.OnEvent(ctx, inv, e)
		require.NoError(t, err)
		require.Equal(t, before, inJSON(v), "the event was changed")
		if out.Replace == nil {
			require.NotContains(t, before, "heron")
			return
		}
		after := inJSON(out.Replace.FunctionCalls()[0].Args)
		require.True(t, json.Valid([]byte(after)))
		require.NotContains(t, after, "heron")
		require.NotContains(t, inJSON(out), "heron")
	})
}

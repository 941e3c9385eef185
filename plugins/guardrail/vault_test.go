package guardrail_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/tool"
)

// Where there is no key, one is made up, for each plugin another; and equal values of two types are
// not told to be equal.
func TestKeysThatAreMadeUp(t *testing.T) {
	c := with(t, `rules: [{id: r, detect: {regexp: {A: BB, AB: '^B$'}}, action: hash}]`)
	hash := func(p *plugin.Plugin, text string) string {
		got, _ := offered(t, p, says("bot", &genai.Part{Text: text}))
		_, mark, _ := strings.Cut(got.Text(), ":")
		return mark
	}
	one, other := quiet(t, c), quiet(t, c)
	require.Equal(t, hash(one, "BB"), hash(one, "BB"))
	require.NotEqual(t, hash(one, "BB"), hash(other, "BB"))
	require.NotEqual(t, hash(one, "BB"), hash(one, "B"))
}

// What a tool of a vault is given is not what is left of the call: no value gets into a log after
// it.
func TestVaultsToolsLeaveTheCall(t *testing.T) {
	secret := []byte("a key of sixteen bytes, and more")
	c := with(t, `rules: [{id: v, detect: {pii: [EMAIL_ADDRESS]}, action: vault}]`)
	c.Key = secret
	got, _ := offered(t, quiet(t, c), says("bot", &genai.Part{Text: "ann@example.com"}))
	v, err := guardrail.NewVault(secret)
	require.NoError(t, err)
	for _, fails := range []bool{false, true} {
		var ran map[string]any
		sealed := map[string]any{"to": got.Text(), "n": 1, got.Text(): "x"}
		opening := v.Tool(&tool.Tool{
			Declaration: &genai.FunctionDeclaration{Name: "f"},
			Run: func(_ context.Context, call *tool.Call) (map[string]any, error) {
				if ran = call.Args; fails {
					return nil, errors.New("no")
				}
				return nil, nil
			},
		})
		call := &tool.Call{Args: sealed}
		_, _ = opening.Run(ctx, call)
		require.Equal(t, map[string]any{"to": "ann@example.com", "n": 1, got.Text(): "x"}, ran,
			"a name is no value")
		require.Equal(t, map[string]any{"to": got.Text(), "n": 1, got.Text(): "x"}, call.Args)
	}
}

// A token that was tampered with, or is too short to be one, stays as it is.
func TestTokensThatAreNone(t *testing.T) {
	v, err := guardrail.NewVault([]byte("a key of sixteen bytes, and more"))
	require.NoError(t, err)
	for _, token := range []string{
		"[X#AAAAAAAAAAAAAAAA]",
		"[X#AAAAAAAAAAAAAAAAA]",
		"[X#AAAAAAAAAAAAAAAAAA]",
		"[X#AAAAAAAAAAAA]",
		"[x#AAAAAAAAAAAAAAAAAAAAAA]",
		"[X#]",
	} {
		require.Equal(t, token, v.Open(token))
	}
}

// A record has at most eight fingerprints, each once; they are of another key than the vault's
// tokens.
func TestFingerprints(t *testing.T) {
	c := with(t, `rules: [{id: r, detect: {regexp: {N: '\d\d'}}, action: vault}]`)
	c.Key = []byte("a key of sixteen bytes, and more")
	p := quiet(t, c)
	for text, want := range map[string]int{
		"10 10 10":                      1,
		"10 11 12":                      3,
		"10 11 12 13 14 15 16 17 18 19": 8,
	} {
		got, _ := offered(t, p, says("bot", &genai.Part{Text: text}))
		n, _ := guardrail.NoteOf(got)
		marks := n.Records[0].Fingerprints
		require.Len(t, marks, want)
		require.Equal(t, len(strings.Fields(text)), n.Records[0].Count)
		token, err := base64.RawURLEncoding.DecodeString(
			got.Text()[len("[N#"):strings.Index(got.Text(), "]")])
		require.NoError(t, err)
		require.NotContains(t, marks, hex.EncodeToString(token[:8]))
	}
}

// A token in which one letter is another opens nothing.
func TestTokensAreNotForged(t *testing.T) {
	secret := []byte("a key of sixteen bytes, and more")
	c := with(t, `rules: [{id: v, detect: {pii: [EMAIL_ADDRESS]}, action: vault}]`)
	c.Key = secret
	v, err := guardrail.NewVault(secret)
	require.NoError(t, err)
	for _, value := range []string{"ann@example.com", "bob@example.com.au", "carol@example.org"} {
		got, _ := offered(t, quiet(t, c), says("bot", &genai.Part{Text: value}))
		token := got.Text()
		require.Equal(t, value, v.Open(token))
		for i := strings.Index(token, "#") + 1; i < len(token)-1; i++ {
			for _, letter := range "abcdefghijklmnopqrstuvwxyzABCDEF" {
				forged := token[:i] + string(letter) + token[i+1:]
				require.True(t, forged == token || v.Open(forged) == forged, forged)
			}
		}
	}
}

// What was hidden in JSON that is a text is the value that it stands for, and not how it is written
// there; and where a tool opens it in JSON again, that stays JSON.
func TestVaultOfEscapes(t *testing.T) {
	secret := []byte("a key of sixteen bytes, and more")
	c := with(t, `rules: [{id: v, detect: {regexp: {V: '<<.*?>>'}}, action: vault}]`)
	c.Key = secret
	p := quiet(t, c)
	v, err := guardrail.NewVault(secret)
	require.NoError(t, err)
	hidden := func(args map[string]any) map[string]any {
		got, _ := offered(t, p, says("bot", &genai.Part{FunctionCall: call("send", args)}))
		require.NotContains(t, inJSON(got), "ann")
		return got.FunctionCalls()[0].Args
	}
	opened := func(args map[string]any) (ran map[string]any) {
		_, err := v.Tool(&tool.Tool{
			Declaration: &genai.FunctionDeclaration{Name: "f"},
			Run: func(_ context.Context, call *tool.Call) (map[string]any, error) {
				ran = call.Args
				return nil, nil
			},
		}).
			Run(ctx, &tool.Call{Args: args})
		require.NoError(t, err)
		return ran
	}
	value := `<<ann"&\ü>>`
	alone := hidden(map[string]any{"a": value})["a"].(string)
	require.Equal(t, value, v.Open(alone))
	for _, was := range []any{
		[]any{value},
		map[string]any{"b": value, "c": "x"},
		map[string]any{"b": `{"c":"<<ann\"&\\ü>>","d":["x <<ann\"&\\ü>>"]}`},
	} {
		text := inJSON(was)
		is := hidden(map[string]any{"a": text})["a"].(string)
		require.Contains(t, is, alone, text)
		var plain any
		require.NoError(t,
			json.Unmarshal([]byte(opened(map[string]any{"a": is})["a"].(string)), &plain), text)
		require.Equal(t, was, plain)
		require.Equal(t, map[string]any{"a": was}, opened(hidden(map[string]any{"a": was})))
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
	require.Equal(t, "<ann@example.com> [X#AAAAAAAAAAAAAAAAAAAAAA]",
		v.Open("<"+token+"> [X#AAAAAAAAAAAAAAAAAAAAAA]"))
	other, err := guardrail.NewVault([]byte("another key of sixteen bytes"))
	require.NoError(t, err)
	require.Equal(t, token, other.Open(token))
	changed := strings.Replace(token, "EMAIL_ADDRESS", "EMAIL", 1)
	require.Equal(t, changed, v.Open(changed))
	_, err = guardrail.NewVault(nil)
	require.ErrorContains(t, err, "the length of the vault's key is 0")

	var got map[string]any
	send := v.Tool(&tool.Tool{
		Declaration: &genai.FunctionDeclaration{Name: "send"},
		Run: func(_ context.Context, c *tool.Call) (map[string]any, error) {
			got = c.Args
			return nil, nil
		},
	})
	args := map[string]any{"to": []any{token}}
	_, err = send.Run(ctx, &tool.Call{Args: args})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"to": []any{"ann@example.com"}}, got)
	require.Equal(t, map[string]any{"to": []any{token}}, args)
}

// A value goes through the vault to the tool that may have it, and to no other; neither the log nor
// the model has it.
func TestVaultRoundTrip(t *testing.T) {
	secret := []byte("a key of sixteen bytes, and more")
	v, err := guardrail.NewVault(secret)
	require.NoError(t, err)
	got := map[string]any{}
	keeps := func(name string) *tool.Tool {
		return &tool.Tool{
			Declaration: &genai.FunctionDeclaration{Name: name},
			Serial:      true,
			Run: func(_ context.Context, c *tool.Call) (map[string]any, error) {
				got[name] = c.Args["to"]
				return map[string]any{"sent_to": c.Args["to"]}, nil
			},
		}
	}
	asked := &forwards{}
	bot, err := llm.New(llm.Config{
		Name:  "bot",
		Model: asked,
		Tools: []*tool.Tool{v.Tool(keeps("mail")), keeps("post")},
	})
	require.NoError(t, err)
	c := with(t, `rules: [{id: v, detect: {pii: [EMAIL_ADDRESS]}, action: vault}]`)
	c.Key, c.Log = secret, slog.New(slog.DiscardHandler)
	p, err := guardrail.New(c)
	require.NoError(t, err)
	s := &scene{t: t, sessions: memory.New()}
	s.runner, err = runner.New(
		runner.Options{Agent: bot, Sessions: s.sessions, Plugins: []*plugin.Plugin{p}})
	require.NoError(t, err)
	lines := s.run("write to ann@example.com")
	require.NoError(t, s.runner.Close(ctx))
	require.Equal(t, "ann@example.com", got["mail"])
	token := got["post"].(string)
	require.Regexp(t, `^\[EMAIL_ADDRESS#[\w-]+\]$`, token)
	require.Contains(t, strings.Join(lines, "\n"),
		`{"sent_to":"`+token+`"}`) // what the tool answered is sealed again
	require.NotContains(t, s.stored()+strings.Join(lines, "\n")+asked.heard, "ann@example.com")
}

// forwards is a model that calls each tool with the address that it was given.
type forwards struct{ heard string }

func (f *forwards) Generate(
	_ context.Context,
	req *model.Request,
) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		f.heard += inJSON(req.Contents)
		parts := []*genai.Part{{Text: "done"}}
		if len(req.Contents) == 1 {
			to := regexp.MustCompile(`\[\S+\]`).FindString(req.Contents[0].Parts[0].Text)
			parts = []*genai.Part{
				{FunctionCall: call("mail", map[string]any{"to": to})},
				{FunctionCall: call("post", map[string]any{"to": to})},
			}
		}
		yield(&model.Response{Content: &genai.Content{Role: genai.RoleModel, Parts: parts}}, nil)
	}
}

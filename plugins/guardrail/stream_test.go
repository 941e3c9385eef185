package guardrail_test

import (
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/internal/detecttest"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// streamed offers a text in chunks, and then whole, and returns what is shown after each chunk, and
// what the whole event has become. It fails if what was shown is not a beginning of that.
func streamed(
	t require.TestingT,
	p *plugin.Plugin,
	chunks ...string,
) (shown []string, whole string) {
	inv := &session.Invocation{ID: "i", Key: key}
	all := ""
	for _, chunk := range chunks {
		e := session.Reply(chunk)
		e.ID, e.Author, e.Partial = "e", "bot", true
		out, err := p.OnEvent(ctx, inv, e)
		require.NoError(t, err)
		require.False(t, out.Stop)
		switch {
		case out.Replace != nil:
			all += out.Replace.Text()
		case !out.Withhold:
			all += chunk
		}
		shown = append(shown, all)
	}
	e := session.Reply(strings.Join(chunks, ""))
	e.ID, e.Author = "e", "bot"
	out, err := p.OnEvent(ctx, inv, e)
	require.NoError(t, err)
	if whole = e.Text(); out.Replace != nil {
		whole = out.Replace.Text()
	}
	_, err = p.AfterRun(ctx, inv, plugin.End{})
	require.NoError(t, err)
	if !strings.HasPrefix(whole, all) {
		require.Equal(t, whole, all, "what was shown of %q", chunks)
	}
	return shown, whole
}

func quiet(t testing.TB, c guardrail.Config) *plugin.Plugin {
	c.Log = slog.New(slog.DiscardHandler)
	p, err := guardrail.New(c)
	require.NoError(t, err)
	return p
}

// Every split of some development texts; of all of them with PLUGHOOK_EVERY_SPLIT=1, in a minute.
func TestStreamedEqualsWhole(t *testing.T) {
	p := quiet(t, with(t, `
rules:
  - {id: secrets, detect: {secrets: default}, action: hash}
  - {id: pii, detect: {pii: default}, action: {CREDIT_CARD: mask, EMAIL_ADDRESS: replace, "*": redact}, with: <mail>}
  - {id: urls, detect: {urls: {allow: ["*.com"]}}, action: hash}
  - {id: words, detect: {words: [account number, please]}, action: redact}
`))
	for _, name := range []string{
		"guardrail/pii-dev.jsonl",
		"guardrail/secrets-dev.jsonl.gz",
		"guardrail/benign-dev.jsonl",
		"guardrail/attacks-dev.jsonl",
	} {
		t.Run(name, func(t *testing.T) {
			texts := detecttest.Texts(detecttest.Development(t, name))
			every := 1
			if os.Getenv("PLUGHOOK_EVERY_SPLIT") == "" {
				every = 1 + len(texts)/50
			}
			for i := 0; i < len(texts); i += every {
				for at := range len(texts[i]) {
					streamed(t, p, texts[i][:at], texts[i][at:])
				}
			}
		})
	}
}

func TestStreamsHoldBackLittle(t *testing.T) {
	p := quiet(t, with(
		t,
		`rules: [{id: s, detect: {secrets: default}, action: mask}, {id: p, detect: {pii: default}, action: mask}]`,
	)) // a mask is as long
	texts := detecttest.Texts(detecttest.Development(t, "guardrail/pii-dev.jsonl"))
	var held []int
	for i := 0; i < len(texts); i += 5 {
		chunks := strings.SplitAfter(texts[i], "")
		shown, _ := streamed(t, p, chunks...)
		n := 0
		for k, chunk := range chunks {
			n += len(chunk)
			held = append(held, n-len(shown[k]))
		}
	}
	slices.Sort(held)
	p50, p99 := held[len(held)/2], held[len(held)*99/100]
	t.Logf("held back: p50 %d, p99 %d, at most %d bytes", p50, p99, held[len(held)-1])
	require.LessOrEqual(t, p50, 8)
	require.LessOrEqual(t, p99, 64)
}

func TestStreamedEqualsWholeOfAnyText(t *testing.T) {
	policies := []*plugin.Plugin{
		quiet(t, guardrail.Config{}),
		quiet(t, with(
			t,
			`rules: [{id: a, detect: {regexp: {A: 'a+b', B: '\d\d$'}}, action: {A: redact, B: mask}}, {id: w, detect: {words: [aab, 12 a]}, action: hash}]`,
		)),
		quiet(t,
			with(t, `rules: [{id: u, detect: {urls: {allow: [192.168.1.1]}}, action: redact}]`)),
		quiet(t, with(t,
			`rules: [{id: t, when: 'text contains "b"', detect: {words: [a]}, action: redact}]`)),
	}
	pieces := rapid.SampledFrom([]string{
		"a",
		"b",
		"ab",
		" ",
		"\n",
		"12",
		"4111 1111 1111 1111",
		"ann@example.com",
		"@",
		"-----BEGIN RSA PRIVATE KEY-----\n",
		"MIIEpAIBAAKCAQEA",
		"aGVyb24gYXQgYW5uQGV4YW1wbGUuY29t",
		"\u200b",
		"а",
		"%61",
		"&#97;",
		"password: ",
		"hunter2hunter2",
		"\xff",
		"é",
		"https://",
		"192.168.",
		"1.1",
		"+49 30 1234567",
		"(415) 555-0132",
		"1 2 3 4 5 6 7 8 9 0",
		"(",
		"&#5",
		"&",
		"%3",
		"\\u003",
		"5",
	})
	rapid.Check(t, func(r *rapid.T) {
		chunks := rapid.SliceOfN(pieces, 1, 30).Draw(r, "chunks")
		streamed(r, rapid.SampledFrom(policies).Draw(r, "policy"), chunks...)
	})
}

func TestStreamedConversations(t *testing.T) {
	for name, c := range map[string]struct {
		rules string
		model []any
		want  []string
	}{
		"redacted": {`rules: [{id: r, detect: {words: [blue heron]}, action: redact}]`,
			[]any{
				[]string{"a bl", "ue her", "on fl", "ies"},
			}, []string{
				"user: 1",
				"bot:… a ",
				"bot:… [WORD] ",
				"bot:… flies",
				"bot: a [WORD] flies",
			}},
		"blocked, with nothing shown of it": {
			`rules: [{id: r, detect: {words: [blue heron]}, action: block, message: No birds.}]`,
			[]any{
				[]string{"a bl", "ue her", "on fl", "ies"},
			},
			[]string{"user: 1", "bot:… a ", "plugin/guardrail: No birds. [DENIED]"},
		},
		"blocked at the end": {
			`rules: [{id: r, detect: {words: [blue heron]}, action: block, message: No birds.}]`,
			[]any{
				[]string{"a bl", "ue heron"},
			},
			[]string{"user: 1", "bot:… a ", "plugin/guardrail: No birds. [DENIED]"},
		},
		"too long": {
			`rules: [{id: r, stages: [output], detect: {length: {bytes: 5}}, action: block, message: Too long.}]`,
			[]any{
				[]string{"a ca", "t ru", "ns"},
			},
			[]string{"user: 1", "bot:… a ca", "plugin/guardrail: Too long. [DENIED]"},
		},
		"judged as a whole": {
			`rules: [{id: r, stages: [output], when: 'text endsWith "s"', action: block, message: No.}]`,
			[]any{
				[]string{"a cat ", "runs"},
			},
			[]string{"user: 1", "plugin/guardrail: No. [DENIED]"},
		},
		"shadow shows all": {
			`rules: [{id: r, mode: shadow, detect: {words: [cat]}, action: block}]`,
			[]any{
				[]string{"a cat. ", "It runs."},
			},
			[]string{"user: 1", "bot:… a cat. ", "bot:… It runs.", "bot: a cat. It runs."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, stage(t, with(t, c.rules), c.model...).run("1"))
		})
	}
}

// What is said is one text, and what is thought another, whatever comes between; a call in a stream
// is not shown before it is whole.
func TestStreamOfSeveralParts(t *testing.T) {
	p := quiet(t, with(t, `rules: [{id: r, detect: {words: [blue heron]}, action: redact}]`))
	inv := &session.Invocation{ID: "i", Key: key}
	offer := func(parts ...*genai.Part) string {
		e := &session.Event{
			ID:      "e",
			Author:  "bot",
			Partial: true,
			Content: &genai.Content{Role: genai.RoleModel, Parts: parts},
		}
		out, err := p.OnEvent(ctx, inv, e)
		require.NoError(t, err)
		if out.Withhold {
			return ""
		}
		if out.Replace != nil {
			e = out.Replace
		}
		return line(e)
	}
	require.Equal(t, "", offer(&genai.Part{Text: "blue"}))
	require.Equal(t, ": a ", offer(&genai.Part{Text: "a blue", Thought: true}))
	require.Equal(t, ": [WORD] flies", offer(&genai.Part{FunctionCall: call("fetch", nil)},
		&genai.Part{Text: " heron flies"}, &genai.Part{FunctionCall: call("fetch", nil)}))
	require.Equal(t, ": blue", offer(&genai.Part{Text: "berry ", Thought: true})[:6])
}

// What a partial event has under keys that are not known here is judged as that of a whole one.
func TestUnknownKeysOfPartialEvents(t *testing.T) {
	for _, partial := range []string{"false", "true"} {
		e, err := store.Decode(
			[]byte(
				`{"id":"x","author":"bot","partial":`+partial+`,"content":{"role":"model","parts":[{"text":"hi there. ","newKey":"ann@b.example"}]}}`,
			),
			0,
		)
		require.NoError(t, err)
		out, err := quiet(
			t,
			with(t, `rules: [{id: r, detect: {pii: [EMAIL_ADDRESS]}, action: redact}]`),
		).OnEvent(ctx, &session.Invocation{ID: "i", Key: key}, e)
		require.NoError(t, err)
		require.True(t, out.Withhold || out.Replace != nil)
		require.NotContains(t, inJSON(out.Replace), "ann@b.example")
	}
}

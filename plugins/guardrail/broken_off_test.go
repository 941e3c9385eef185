package guardrail_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// breaks is a model that says some chunks, and then fails, or waits until it is cancelled.
type breaks struct {
	chunks []string
	err    error // nil waits
}

func (b breaks) Generate(ctx context.Context, _ *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		for _, chunk := range b.chunks {
			if !yield(
				&model.Response{
					Content: genai.NewContentFromText(chunk, genai.RoleModel),
					Partial: true,
				},
				nil,
			) {
				return
			}
		}
		if b.err != nil {
			yield(nil, b.err)
			return
		}
		<-ctx.Done()
		yield(nil, ctx.Err())
	}
}

// However a stream ends, what was held back of it is not let go: nothing of a value that had begun
// is shown, stored, or in an error.
func TestStreamsThatBreakOff(t *testing.T) {
	const rules = `rules: [{id: r, stages: [output], detect: {pii: [CREDIT_CARD]}, action: redact}, {id: w, stages: [output], detect: {words: [blue heron]}, action: redact}]`
	for name, c := range map[string]struct {
		chunks    []string
		err       error
		streaming session.Streaming
		leave     bool
		want      []string
		kept      string // what is in the log, marked as interrupted
	}{
		"the model fails in a number": {
			[]string{"card 4111 11", "11 1111"},
			errors.New("no"),
			session.SSE,
			false,
			[]string{"user: 1", "bot:… card ", "bot: card  [MODEL_ERROR]"},
			"card ",
		},
		"the model fails, and nothing streams": {
			[]string{"card 4111 11", "11 1111"},
			errors.New("no"),
			session.NoStreaming,
			false,
			[]string{"user: 1", "bot: card  [MODEL_ERROR]"},
			"card ",
		},
		"the model fails after a number": {
			[]string{"card 4111 1111 1111 1111, ", "a blue"},
			errors.New("no"),
			session.SSE,
			false,
			[]string{
				"user: 1",
				"bot:… card ",
				"bot:… [CREDIT_CARD], a ",
				"bot: card [CREDIT_CARD], a  [MODEL_ERROR]",
			},
			"card [CREDIT_CARD], a ",
		},
		"the model's error quotes the text": {
			[]string{"card "},
			errors.New("bad 4111 1111 1111 1111"),
			session.SSE,
			false,
			[]string{"user: 1", "bot:… card ", "bot: card  [MODEL_ERROR]"},
			"card ",
		},
		"the run is cancelled in a number": {
			[]string{"card 4111 11", "11 1111 "},
			nil,
			session.SSE,
			false,
			[]string{"user: 1", "bot:… card ", "bot: card ", "error: context canceled"},
			"card ",
		},
		"the caller leaves in a number": {
			[]string{"card 4111 11", "11 1111 "},
			nil,
			session.SSE,
			true,
			[]string{"user: 1", "bot:… card "},
			"card ",
		},
		"the caller leaves after a number": {
			[]string{"card 4111 1111 1111 1111, ", "a blue"},
			nil,
			session.SSE,
			true,
			[]string{"user: 1", "bot:… card "},
			"card ",
		},
		"the run is cancelled after a number": {
			[]string{"card 4111 1111 1111 1111, a cat. "},
			nil,
			session.SSE,
			false,
			[]string{
				"user: 1",
				"bot:… card [CREDIT_CARD], a cat. ",
				"bot: card [CREDIT_CARD], a cat. ",
				"error: context canceled",
			},
			"card [CREDIT_CARD], a cat. ",
		},
		"all was said before the model's error": {
			[]string{"a cat. "},
			errors.New("no"),
			session.SSE,
			false,
			[]string{"user: 1", "bot:… a cat. ", "bot: a cat.  [MODEL_ERROR]"},
			"a cat. ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			sessions := memory.New()
			bot, err := llm.New(llm.Config{Name: "bot", Model: breaks{c.chunks, c.err}})
			require.NoError(t, err)
			p := quiet(t, with(t, rules))
			r, err := runner.New(
				runner.Options{Agent: bot, Sessions: sessions, Plugins: []*plugin.Plugin{p}})
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			var got []string
			said := ""
			for e, err := range r.Run(ctx, key, session.Message("1"), session.RunConfig{
				Create:    true,
				Streaming: c.streaming,
			}) {
				if err != nil {
					got, said = append(got, "error: "+err.Error()), said+err.Error()
					continue
				}
				got, said = append(got, line(e)), said+inJSON(e)
				if e.Partial && c.leave {
					break
				}
				if e.Partial && c.err == nil {
					cancel()
				}
			}
			require.NoError(t, r.Close(context.Background()))
			require.Equal(t, c.want, got)
			kept := ""
			for e, err := range sessions.Read(context.Background(), key, session.Selection{}) {
				require.NoError(t, err)
				if e.Interrupted {
					kept += e.Text()
				}
			}
			require.Equal(t, c.kept, kept)
			s := &scene{t: t, sessions: sessions}
			for where, text := range map[string]string{"stored": s.stored(), "said": said} {
				require.NotContains(t, text, "4111 11", where)
				require.NotContains(t, text, "blue", where)
			}
		})
	}
}

// The message of a model's error may go on where its text ended: it is judged alone, and as its
// end.
func TestErrorsThatGoOn(t *testing.T) {
	p := quiet(t, with(
		t,
		`rules: [{id: r, detect: {pii: [CREDIT_CARD]}, action: redact}, {id: k, detect: {secrets: default}, action: redact}]`,
	))
	pem := "-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat(
		"MIIEpAIBAAKCAQEA1c7+9z5Pad7OejecsQ0buvHPYy5ZsMT7yQUXWpAQdWNbCmmF\n", 20)
	for _, code := range []string{"", model.Failed} {
		for _, thought := range []bool{false, true} {
			for text, message := range map[string]string{
				"card 4111 1111 ":     "1111 1111: bad request",
				pem:                   "MIIEpAIBAAKCAQEA1c7+9z5Pad7\n-----END RSA PRIVATE KEY-----",
				"it is " + token[:20]: token[20:],
			} {
				e := says("bot", &genai.Part{Text: text, Thought: thought})
				e.ErrorCode, e.ErrorMessage = code, message
				got, _ := offered(t, p, e)
				require.NotContains(t, inJSON(got), message[:9], text)
				if code != "" { // it says that the text broke off
					require.NotContains(t, inJSON(got), text[6:12], text)
				}
			}
		}
		e := says("bot", &genai.Part{Text: "all is well. "})
		e.ErrorCode, e.ErrorMessage = code, "no 4111 1111 "
		_, out := offered(t, p, e)
		require.True(t, out.IsZero())
	}
}

// In shadow what an agent said before it failed is stored as it is.
func TestShadowLeavesWhatBrokeOff(t *testing.T) {
	e := session.Reply("card 4111 11")
	e.Author, e.ErrorCode = "bot", model.Failed
	p := quiet(t, with(
		t,
		`{mode: shadow, rules: [{id: r, stages: [output], detect: {pii: [CREDIT_CARD]}, action: redact}]}`,
	))
	out, err := p.OnEvent(ctx, &session.Invocation{ID: "i", Key: key}, e)
	require.NoError(t, err)
	require.True(t, out.IsZero())
}

// What says that it is a denial did not break off, and neither did what a plugin says.
func TestDenialsAreWhole(t *testing.T) {
	p := quiet(t, with(t,
		`rules: [{id: r, stages: [output], detect: {words: [blue heron]}, action: redact}]`))
	for author, code := range map[string]string{"bot": session.Denied, "plugin/x": "X"} {
		e := session.Reply("I cannot say blue")
		e.Author, e.ErrorCode = author, code
		got, _ := offered(t, p, e)
		require.Equal(t, "I cannot say blue", got.Text())
	}
}

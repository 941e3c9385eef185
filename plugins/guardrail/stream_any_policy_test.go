package guardrail_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

var pieces = rapid.SampledFrom([]string{
	"a",
	"b",
	"ab",
	" ",
	"\n",
	"12",
	"4111 1111 1111 1111",
	"4111 1111 ",
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
	"blue ",
	"heron",
})

// drawPolicy draws a policy of one to four rules, of what they look for, what they do, and how.
func drawPolicy(r *rapid.T) (p *policy.Policy, looksBack bool) {
	var rules []string
	for i := range rapid.IntRange(1, 4).Draw(r, "rules") {
		detect := rapid.SampledFrom([]string{
			"secrets: default",
			"pii: default",
			"pii: [CREDIT_CARD, EMAIL_ADDRESS]",
			"words: [blue heron, aab]",
			"regexp: 'a+b'",
			`regexp: {END: '\d\d$'}`,
			"urls: {allow: [192.168.1.1]}",
		}).
			Draw(r, "detect")
		action := rapid.SampledFrom([]string{
			"flag",
			"mask",
			"vault",
			"hash",
			"replace",
			"redact",
			"block",
		}).
			Draw(r, "action")
		more := rapid.SampledFrom([]string{
			"",
			"",
			", mode: shadow",
			", window: turn",
			", window: session",
			`, when: 'text contains "b"'`,
			", trust: untrusted",
			", from: {tool: code_execution}",
			", from: {tool: mail, found: [r0]}",
			`, when: 'session.flagged("r0")'`,
		}).
			Draw(r, "more")
		looksBack = looksBack || strings.HasPrefix(more, ", window")
		if action == "replace" {
			more += ", with: <gone>"
		}
		rules = append(rules,
			fmt.Sprintf("{id: r%d, detect: {%s}, action: %s%s}", i, detect, action, more))
	}
	p, err := policy.Parse("p.yaml", []byte("rules: ["+strings.Join(rules, ", ")+"]"))
	if err != nil { // one covers another, say
		r.Skip(err)
	}
	return p, looksBack
}

// However a text comes in a stream: what is shown is a beginning of what the whole becomes, and if
// that is blocked, of what may be kept of it.
func TestStreamedEqualsWholeOfAnyPolicy(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		drawn, looksBack := drawPolicy(r)
		p := quiet(t,
			guardrail.Config{Policy: drawn, Key: []byte("a key of sixteen bytes, and more")})
		before := session.Reply(strings.Join(rapid.SliceOfN(pieces, 0, 5).Draw(r, "before"), ""))
		before.Author, before.InvocationID = "bot", "i"
		inv := &session.Invocation{ID: "i", Key: key, Live: []*session.Event{before}}
		if rapid.Bool().Draw(r, "tainted") {
			inv.State = map[string]any{
				"guardrail:taint":            []any{"web"},
				"guardrail:seen:mail:r0:URL": map[string]any{"tool": "mail", "rule": "r0", "type": "URL", "event": "b"},
			}
		}
		chunks := rapid.SliceOfN(pieces, 1, 30).Draw(r, "chunks")
		offer := func(text string, partial bool) plugin.Outcome {
			e := session.Reply(text)
			e.ID, e.Author, e.Partial = "e", "bot", partial
			out, err := p.OnEvent(ctx, inv, e)
			require.NoError(r, err)
			return out
		}
		shown, stopped := "", false
		for _, chunk := range chunks {
			out := offer(chunk, true)
			switch {
			case out.Stop:
				stopped = true
			case out.Replace != nil:
				shown += out.Replace.Text()
			case !out.Withhold:
				shown += chunk
			}
			if stopped {
				break
			}
		}
		whole := strings.Join(chunks, "")
		out := offer(whole, false)
		_, err := p.AfterRun(ctx, inv, plugin.End{})
		require.NoError(r, err)
		if !out.Stop {
			require.False(r, stopped, "the stream of %q was blocked, and the whole is not", chunks)
			if out.Replace != nil {
				whole = out.Replace.Text()
			}
			require.True(r, strings.HasPrefix(whole, shown), "%q was shown of %q, which became %q",
				shown, chunks, whole)
			return
		}
		scope := policy.Scope{App: key.App, User: key.User, Agent: "bot", State: inv.State}
		if inv.State != nil {
			scope.Taint = []string{"web"}
		}
		if looksBack &&
			before.Text() != "" { // what was before counts in what was shown, and Judge knows nothing of it
			return
		}
		if v := drawn.Judge(policy.Output, scope, whole); v.Action == policy.Block {
			require.True(r, strings.HasPrefix(keyless(v.Text), keyless(shown)),
				"%q was shown of %q, of which %q may be kept", shown, chunks, v.Text)
		}
	})
}

// Wherever a stream breaks off, under whatever policy: what is kept is a beginning of what the
// policy makes of the text that was shown, as if that were a whole answer.
func TestWhatIsKeptOfAStreamOfAnyPolicy(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		drawn, _ := drawPolicy(r)
		p := quiet(t,
			guardrail.Config{Policy: drawn, Key: []byte("a key of sixteen bytes, and more")})
		inv := &session.Invocation{ID: "i", Key: key}
		offer := func(e *session.Event) plugin.Outcome {
			e.ID, e.Author = "e", "bot"
			out, err := p.OnEvent(ctx, inv, e)
			require.NoError(r, err)
			return out
		}
		shown := ""
		chunks := rapid.SliceOfN(pieces, 1, 30).Draw(r, "chunks")
		for _, chunk := range chunks {
			e := session.Reply(chunk)
			e.Partial = true
			out := offer(e)
			switch {
			case out.Stop:
				return // the refusal stands in its place
			case out.Replace != nil:
				shown += out.Replace.Text()
			case !out.Withhold:
				shown += chunk
			}
		}
		becomes := func(interrupted bool) (text string, refused bool) {
			e := session.Reply(shown)
			e.Interrupted = interrupted
			out := offer(e)
			if out.Replace != nil {
				return out.Replace.Text(), false
			}
			return shown, out.Stop
		}
		kept, refused := becomes(true)
		whole, wholeRefused := becomes(false)
		if refused || wholeRefused {
			return
		}
		require.True(r, strings.HasPrefix(keyless(whole), keyless(kept)),
			"%q was shown of %q, and %q is kept", shown, chunks, kept)
	})
}

// keyless returns a text without what depends on a key.
func keyless(text string) string {
	return regexp.MustCompile(`\[([A-Z_]+)[:#][\w-]+\]`).ReplaceAllString(text, "[$1]")
}

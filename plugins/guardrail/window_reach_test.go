package guardrail_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// How far a window reaches: 16 KB before each of the first 32 texts of an event, 512 bytes before
// those after.
func TestWindowsEnd(t *testing.T) {
	const kb = 1 << 10
	x := func(n int) string { return strings.Repeat("x", n) }
	blue := func(n int) string { return "blue" + x(n-len("blue")) } // of n bytes
	pem := func(n int) string {                                     // of n bytes: a private key that goes on
		begin := "-----BEGIN PRIVATE KEY-----\n"
		return begin + strings.Repeat(strings.Repeat("QUJD", 16)+"\n", n/65+1)[:n-len(begin)]
	}
	many := func(n int) []any { // texts, the last of which is found
		list := make([]any, n)
		for i := range list {
			list[i] = "x"
		}
		list[n-1] = "heron"
		return list
	}
	const (
		key   = `{id: r, window: session, detect: {secrets: default}, action: flag}`
		bird  = `{id: r, window: session, detect: {regexp: {BIRD: 'bluex*heron'}}, action: flag}`
		birds = `{id: r, window: session, detect: {regexp: {BIRD: 'blue[ x]* n: heron'}}, action: flag}`
		late  = `{id: r, stages: [tool_args], scope: {tool: send}, window: session, detect: {regexp: {BIRD: 'bluex*heron'}}, action: flag}`
	)
	for name, c := range map[string]struct {
		rule  string
		live  []string // calls' texts
		now   []any    // and those of the event at hand
		found bool
	}{
		"as far as it goes": {key, []string{pem(16 * kb)}, []any{"QUJD"}, true},
		"a byte further":    {key, []string{pem(16*kb + 1)}, []any{"QUJD"}, false},
		"behind much else": {
			key,
			[]string{x(100 * kb), pem(16 * kb)},
			[]any{"QUJD"},
			true,
		},
		"behind much else, in one": {
			key,
			[]string{x(100*kb) + "\n" + pem(16*kb)},
			[]any{"QUJD"},
			true,
		},
		"behind much else, and further": {
			key,
			[]string{x(100 * kb), pem(16*kb + 1)},
			[]any{"QUJD"},
			false,
		},
		"over texts": {
			bird,
			[]string{"blue", x(200), x(200), x(1000)},
			[]any{"heron"},
			true,
		},
		"in the first texts":          {bird, []string{blue(600)}, []any{many(20)}, true},
		"in a later one":              {bird, []string{blue(600)}, []any{many(40)}, false},
		"in a later one, near":        {bird, []string{blue(512 - 39)}, []any{many(40)}, true},
		"in a later one, a byte more": {bird, []string{blue(512 - 38)}, []any{many(40)}, false},
		"with its name": {
			birds,
			[]string{blue(512 - 3 - 2*39 - 1)},
			[]any{many(40)},
			true,
		},
		"with its name, a byte more": {
			birds,
			[]string{blue(512 - 3 - 2*39)},
			[]any{many(40)},
			false,
		},
		"of a rule that comes late": {late, []string{"blue"}, []any{x(200), "heron"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var live []*session.Event
			for _, text := range c.live {
				live = append(live, says("bot",
					&genai.Part{FunctionCall: call("fetch", map[string]any{"n": []any{text}})}))
			}
			var parts []*genai.Part
			for i, text := range c.now {
				tool := "fetch"
				if i == len(c.now)-1 {
					tool = "send"
				}
				if _, list := text.([]any); !list {
					text = []any{text}
				}
				parts = append(parts,
					&genai.Part{FunctionCall: call(tool, map[string]any{"n": text})})
			}
			p := quiet(t, with(t, "rules: ["+c.rule+"]"))
			out, err := p.OnEvent(
				ctx,
				&session.Invocation{
					ID:   "i",
					Key:  session.Key{App: "app", User: "ann", ID: "s"},
					Live: live,
				},
				says("bot", parts...),
			)
			require.NoError(t, err)
			require.Equal(t, c.found, out.Replace != nil)
		})
	}
}

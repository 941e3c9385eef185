//go:build unix

package audit_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/audit"
	"github.com/plughook/plughook/session"
)

// What a policy decided is recorded rule by rule, if the guardrail says so, and no word of a text
// with it.
func TestDecisions(t *testing.T) {
	record := func(rule string) map[string]any {
		return map[string]any{
			"revision": "0f",
			"records": []any{map[string]any{"rule": rule, "stage": "input", "type": "CREDIT_CARD",
				"action": "allow", "would_action": "redact", "count": 1.0, "length": 19.0, "fingerprints": []any{"ab12"}, "text": "4111 1111 1111 1111"}},
		}
	}
	changed := plugin.Notes{Changed: []plugin.Note{{Plugin: "guardrail"}}}
	const want = `"policy":"0f","decisions":[{"rule":"cards","stage":"input","type":"CREDIT_CARD","action":"allow","would_action":"redact","count":1,"length":19,"fingerprints":["ab12"]}]`
	for name, c := range map[string]struct {
		event    *session.Event
		want     string
		decision bool
	}{
		"on what it changed":          {changed.With(&session.Event{Author: "bot", CustomMetadata: map[string]any{"guardrail": record("cards")}}), want, true},
		"on what it emitted":          {&session.Event{Author: "plugin/guardrail", CustomMetadata: map[string]any{"guardrail": record("cards")}}, want, true},
		"a text in a rule's place":    {&session.Event{Author: "plugin/guardrail", CustomMetadata: map[string]any{"guardrail": record("the password is hunter2")}}, `"rule":"(23 bytes)"`, true},
		"somebody else says so":       {&session.Event{Author: "bot", CustomMetadata: map[string]any{"guardrail": record("cards")}}, "", false},
		"it is of another form":       {&session.Event{Author: "plugin/guardrail", CustomMetadata: map[string]any{"guardrail": []any{"hunter2"}}}, "", false},
		"there is none":               {&session.Event{Author: "plugin/guardrail"}, "", false},
		"other plugins' notes of any": {changed.With(&session.Event{Author: "bot", CustomMetadata: map[string]any{"other": record("cards")}}), "", false},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			_, err := create(
				t,
				audit.Config{Path: path},
			).OnEvent(t.Context(), &session.Invocation{ID: "i", Key: session.Key{App: "a", User: "u", ID: "s"}}, c.event)
			require.NoError(t, err)
			text := read(t, path)
			require.Contains(t, text, c.want)
			require.Equal(t, c.decision, strings.Contains(text, `"decisions"`))
			for _, piece := range []string{"4111", "hunter2"} {
				require.NotContains(t, text, piece)
			}
		})
	}
}

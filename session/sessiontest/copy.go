package sessiontest

import (
	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

var copyCases = []testCase{
	{"copy/what goes in",
		"What goes in is copied: changing an event or a state after Append or Create changes nothing in the store.",
		func(t *tester) {
			state := map[string]any{"nested": map[string]any{"list": []any{"a"}}}
			key := t.createKey(t.key("ann", "s"), state)
			state["nested"].(map[string]any)["list"].([]any)[0] = "changed"
			state["new"] = 1
			e := delta("a", "k", map[string]any{"list": []any{"b"}})
			e.Content = genai.NewContentFromText("said", genai.RoleUser)
			t.put(key, e)
			e.Content.Parts[0].Text = "changed"
			e.Actions.StateDelta["k"].(map[string]any)["list"].([]any)[0] = "changed"
			e.Actions.StateDelta["new"] = 1
			e.ID, e.Seq = "changed", 7
			want := map[string]any{"nested": map[string]any{"list": []any{"a"}}, "k": map[string]any{"list": []any{"b"}}}
			t.equal("state", t.get(key).State, want)
			log := t.log(key)
			t.equal("log", t.ids(log), []string{"1:a"})
			t.equal("text", log[0].Text(), "said")
			t.equal("delta", log[0].Actions.StateDelta, map[string]any{"k": map[string]any{"list": []any{"b"}}})
		}},
	{"copy/what comes out",
		"What comes out is the caller's own: changing what Create, Get, List or Read returned changes nothing in the store.",
		func(t *tester) {
			made, err := t.Create(t.Context(), t.key("ann", "s"), map[string]any{"n": map[string]any{"l": []any{1}}, "app:a": []any{1}})
			t.must(err)
			key := made.Key
			t.put(key, delta("a", "k", []any{"b"}), say("said"))
			want, log := t.normal(t.get(key)), t.normal(t.log(key)) // now: they may be the store's own
			spoil := func(s *session.Session) {
				for _, m := range []map[string]any{s.State, s.Initial} {
					for k, v := range m {
						switch v := v.(type) {
						case []any:
							v[0] = "changed"
						case map[string]any:
							v["l"].([]any)[0] = "changed"
							v["new"] = 1
						}
						m[k+" new"] = 1
					}
				}
				s.Position, s.Key.ID = 77, "changed"
			}
			spoil(made)
			spoil(t.get(key))
			for s, err := range t.List(t.Context(), t.app, "ann") {
				t.must(err)
				spoil(s)
			}
			for _, sel := range []session.Selection{{}, {Live: true}} {
				for _, e := range t.read(key, sel) {
					if e.Content != nil {
						e.Content.Parts[0].Text = "changed"
					}
					for k := range e.Actions.StateDelta {
						e.Actions.StateDelta[k].([]any)[0] = "changed"
					}
					e.ID, e.Seq = "changed", 77
				}
			}
			t.equal("the session", t.get(key), want)
			t.equal("the log", t.log(key), log)
			t.equal("the live view", t.live(key), log)
		}},
}

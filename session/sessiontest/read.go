package sessiontest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

var readCases = []testCase{{
	Name: "read/selections",
	Rule: "A Selection narrows the log, or the live view, to what is after a position, at or after a time, " +
		"and of these to the last so many.",
	On: func(t *tester, key session.Key) {
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		for i := range int64(10) {
			e := say(fmt.Sprint("m", i+1))
			e.Timestamp = start.Add(time.Duration(i) * time.Minute)
			switch i + 1 {
			case 8:
				e = compact("m8", 5, 0, 2, 4) // live: 8 2 4 6 7
				e.Timestamp = start.Add(7 * time.Minute)
			case 10:
				e.Timestamp = start.Add(time.Minute + time.Nanosecond) // a clock that went back
			}
			t.put(key, e)
		}
		east := time.FixedZone("east", 7*3600)
		at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
		for _, c := range []struct {
			sel  session.Selection
			want []int64
		}{
			{sel: session.Selection{}, want: []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
			{sel: session.Selection{Last: 3}, want: []int64{8, 9, 10}},
			{sel: session.Selection{Last: 10}, want: []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
			{sel: session.Selection{Last: 99}, want: []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
			{sel: session.Selection{After: 7}, want: []int64{8, 9, 10}},
			{sel: session.Selection{After: 10}, want: nil},
			{sel: session.Selection{After: 99}, want: nil},
			{sel: session.Selection{After: 3, Last: 2}, want: []int64{9, 10}},
			{sel: session.Selection{Since: at(6)}, want: []int64{7, 8, 9}},
			{sel: session.Selection{Since: at(1)}, want: []int64{2, 3, 4, 5, 6, 7, 8, 9, 10}},
			{sel: session.Selection{Since: at(1).Add(1)}, want: []int64{3, 4, 5, 6, 7, 8, 9, 10}},
			{sel: session.Selection{Since: at(1).Add(2)}, want: []int64{3, 4, 5, 6, 7, 8, 9}},
			{sel: session.Selection{Since: at(1).In(east)}, want: []int64{2, 3, 4, 5, 6, 7, 8, 9, 10}},
			{sel: session.Selection{Since: at(99)}, want: nil},
			{sel: session.Selection{Since: at(3), Last: 2}, want: []int64{8, 9}},
			{sel: session.Selection{Since: at(3), After: 6}, want: []int64{7, 8, 9}},
			{sel: session.Selection{Since: at(3), After: 6, Last: 1}, want: []int64{9}},
			{sel: session.Selection{Live: true}, want: []int64{8, 2, 4, 6, 7, 9, 10}},
			{sel: session.Selection{Live: true, Last: 3}, want: []int64{7, 9, 10}},
			{sel: session.Selection{Live: true, Last: 6}, want: []int64{2, 4, 6, 7, 9, 10}},
			{sel: session.Selection{Live: true, Last: 7}, want: []int64{8, 2, 4, 6, 7, 9, 10}},
			{sel: session.Selection{Live: true, After: 3}, want: []int64{8, 4, 6, 7, 9, 10}},
			{sel: session.Selection{Live: true, After: 8}, want: []int64{9, 10}},
			{sel: session.Selection{Live: true, After: 6, Last: 3}, want: []int64{7, 9, 10}},
			{sel: session.Selection{Live: true, Since: at(3)}, want: []int64{8, 4, 6, 7, 9}},
			{sel: session.Selection{Live: true, Since: at(3), After: 4, Last: 3}, want: []int64{6, 7, 9}},
		} {
			t.equal(fmt.Sprintf("positions selected by %+v", c.sel), seqs(t.read(key, c.sel)), c.want)
		}
	},
}, {
	Name: "read/since",
	Rule: "Since compares times to the nanosecond, over all years that a time has in JSON.",
	On: func(t *tester, key session.Key) {
		base := time.Date(2026, 1, 1, 0, 0, 0, 123456789, time.UTC)
		times := []time.Time{
			time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC), time.Date(1677, 1, 1, 0, 0, 0, 0, time.UTC),
			time.Unix(0, -1).UTC(), time.Unix(0, 0).UTC(), base.Add(-1), base, base.Add(1), base.Add(999),
			time.Date(2300, 1, 1, 0, 0, 0, 5, time.UTC),
			time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC),
		}
		for i, at := range times {
			e := say(fmt.Sprint("m", i+1))
			e.Timestamp = at
			t.put(key, e)
		}
		for i, at := range times {
			got := t.read(key, session.Selection{Since: at})
			if len(got) != len(times)-i || !got[0].Timestamp.Equal(at) {
				t.Fatalf("since %v there are %d events, the first of %v; want %d", at,
					len(got), got[0].Timestamp, len(times)-i)
			}
		}
	},
}, {
	Name: "read/left early",
	Rule: "The caller may leave a Read early, and use the store while it is open.",
	On: func(t *tester, key session.Key) {
		t.put(key, says(300)...)
		for i := range 50 {
			n := 0
			for e, err := range t.Read(t.Context(), key, session.Selection{Live: i%2 == 0}) {
				t.Must(err)
				if n++; n == 3 {
					t.equal("position", e.Seq, 3)
					break
				}
			}
		}
		for e, err := range t.Read(t.Soon(), key, session.Selection{After: 299}) {
			t.Must(err)
			s, err := t.Get(t.Soon(), key)
			t.Must(err)
			t.Must(t.append(key, s.Position, 0, say("meanwhile")))
			t.equal("position", e.Seq, 300)
			break
		}
		t.equal("last position", t.get(key).Position, 301)
	},
}, {
	Name: "read/twice",
	Rule: "What Read returns can be ranged over again.",
	On: func(t *tester, key session.Key) {
		t.put(key, says(3)...)
		seq := t.Read(t.Context(), key, session.Selection{})
		for range 2 {
			t.equal("log", t.ids(collect(t, seq)), []string{"1:m1", "2:m2", "3:m3"})
		}
	},
}, {
	Name: "read/done context",
	Rule: "A Read whose context is done ends with its error, in the middle too.",
	On: func(t *tester, key session.Key) {
		t.put(key, says(300)...)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		n := 0
		var last error
		for _, err := range t.Read(ctx, key, session.Selection{}) {
			t.FailIf(last != nil, "Read went on after its error %v", last)
			if last = err; err == nil {
				n++
			}
			cancel()
		}
		t.Is(last, context.Canceled)
		t.FailIf(n == 300, "Read yielded the whole log after its context was done")
	},
}}

var copyCases = []testCase{{
	Name: "copy/what goes in",
	Rule: "What goes in is copied: changing an event or a state after Append or Create changes nothing in " +
		"the store.",
	Run: func(t *tester) {
		state := map[string]any{"nested": map[string]any{"list": []any{"a"}}}
		key := t.createKey(t.Key("ann", "s"), state)
		state["nested"].(map[string]any)["list"].([]any)[0] = "changed"
		state["new"] = 1
		e := delta("a", "k", map[string]any{"list": []any{"b"}})
		e.Content = genai.NewContentFromText("said", genai.RoleUser)
		t.put(key, e)
		e.Content.Parts[0].Text = "changed"
		e.Actions.StateDelta["k"].(map[string]any)["list"].([]any)[0] = "changed"
		e.Actions.StateDelta["new"] = 1
		e.ID = "changed"
		e.Seq = 7
		want := map[string]any{
			"nested": map[string]any{"list": []any{"a"}},
			"k":      map[string]any{"list": []any{"b"}},
		}
		t.hasState(key, want)
		log := t.log(key)
		t.equal("log", t.ids(log), []string{"1:a"})
		t.equal("text", log[0].Text(), "said")
		t.equal("delta", log[0].Actions.StateDelta, map[string]any{"k": map[string]any{"list": []any{"b"}}})
	},
}, {
	Name: "copy/what comes out",
	Rule: "What comes out is the caller's own: changing what Create, Get, List or Read returned changes " +
		"nothing in the store.",
	Run: func(t *tester) {
		made, err := t.Create(t.Context(), t.Key("ann", "s"),
			map[string]any{"n": map[string]any{"l": []any{1}}, "app:a": []any{1}})
		t.Must(err)
		key := made.Key
		t.put(key, delta("a", "k", []any{"b"}), say("said"))
		// As JSON, now: what was returned may be the store's own.
		want := t.normal(t.get(key))
		log := t.normal(t.log(key))
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
			s.Position = 77
			s.Key.ID = "changed"
		}
		spoil(made)
		spoil(t.get(key))
		for s, err := range t.List(t.Context(), t.App, "ann") {
			t.Must(err)
			spoil(s)
		}
		for _, sel := range []session.Selection{{}, {Live: true}} {
			for _, e := range t.read(key, sel) {
				// The JSON of an event that was not changed may be the bytes that it was read from.
				e.Seq = 0
				encoded, err := e.MarshalJSON()
				t.Must(err)
				clear(encoded)
				if e.Content != nil {
					e.Content.Parts[0].Text = "changed"
				}
				for k := range e.Actions.StateDelta {
					e.Actions.StateDelta[k].([]any)[0] = "changed"
				}
				e.ID = "changed"
				e.Seq = 77
			}
		}
		t.equal("the session", t.get(key), want)
		t.equal("the log", t.log(key), log)
		t.equal("the live view", t.live(key), log)
	},
}}

var jsonCases = []testCase{{
	Name: "json/round trip",
	Rule: "An event comes back as it went in: keys that nobody knows and numbers of any length included, " +
		"in the event, its actions and its content.",
	On: func(t *tester, key session.Key) {
		for i, text := range []string{
			`{"id":"a","author":"user","timestamp":"2026-01-02T03:04:05.123456789Z","content":{"role":"user","parts":[{"text":"hi","unknown":{"n":12345678901234567890}}],"more":[1.0,1e2]},"zzz":{"deep":[9007199254740993]}}`,
			`{"id":"b","timestamp":"2026-01-02T03:04:05+05:30","actions":{"stateDelta":{"n":9007199254740993,"m":{"x":[0.10]}},"artifactDelta":{"f":3},"newThing":{"a":1},"transferToAgent":"x"},"customMetadata":{"id":123456789012345678901234567890,"plughook":[]}}`,
			`{"id":"c","timestamp":"2026-01-02T03:04:05Z","content":{"role":"model","parts":[{"functionCall":{"id":"1","name":"f","args":{"big":9007199254740995,"s":"\u0000\ud83e\udd8a"}}},{"inlineData":{"mimeType":"x/y","data":"AAEC/w=="}}]},"usageMetadata":{"promptTokenCount":3,"unknownCount":4},"longRunningToolIds":["1"],"errorCode":"E","turnComplete":true,"finishReason":"NEW_REASON"}`,
			`{"id":"d","timestamp":"2026-01-02T03:04:05Z","actions":{"compaction":{"startTimestamp":1.5,"endTimestamp":2.5,"compactedContent":{"role":"model","parts":[{"text":"s"}]}}},"partial":false,"branch":""}`,
		} {
			t.comesBack(key, int64(i)+1, text)
		}
	},
}, {
	Name: "json/workflows",
	Rule: "What an event says of a workflow's node comes back: path, outputFor, messageAsOutput, ended, " +
		"outputOf, final, output and route, an output that is 0, empty or false too, and an empty path as " +
		"it was.",
	On: func(t *tester, key session.Key) {
		for i, text := range []string{
			`{"id":"a","timestamp":"2026-01-02T03:04:05Z","nodeInfo":{"path":""}}`,
			`{"id":"b","timestamp":"2026-01-02T03:04:05Z","nodeInfo":{"path":"w@i/n@1","outputFor":["w@i/n@1","w@i"],"messageAsOutput":true,"ended":true,"theirs":[1.0]},"output":{"snake_key":{"camelKey":9007199254740993}},"actions":{"route":["a",1,true]}}`,
			`{"id":"c","timestamp":"2026-01-02T03:04:05Z","nodeInfo":{"path":"w@i/n@2","final":true},"output":0,"actions":{"route":""}}`,
			`{"id":"d","timestamp":"2026-01-02T03:04:05Z","nodeInfo":{"path":"w@i/n@3","ended":true,"outputOf":"w@i/n@3/m@1"},"output":false}`,
			`{"id":"e","timestamp":"2026-01-02T03:04:05Z","nodeInfo":{"path":"w@i/n@4"},"output":[]}`,
			`{"id":"f","timestamp":"2026-01-02T03:04:05Z","nodeInfo":{"path":"w@i/n@5"},"output":{}}`,
			`{"id":"g","timestamp":"2026-01-02T03:04:05Z","nodeInfo":{"path":"w@i/n@6"},"output":""}`,
		} {
			t.comesBack(key, int64(i)+1, text)
		}
		made := ofNode("made", "w@i/n@7", true)
		made.Output = map[string]any{"n": 0}
		made.Actions.Route = []string{"a", "b"}
		t.put(key, made)
		got := t.log(key)[7]
		t.equal("output", got.Output, map[string]any{"n": 0})
		t.equal("route", got.Actions.Route, []any{"a", "b"})
		t.equal("node", got.NodeInfo, made.NodeInfo)
	},
}, {
	Name: "json/text",
	Rule: "Text survives: NUL, emoji, what looks like markup, a megabyte; what is not UTF-8 becomes U+FFFD.",
	On: func(t *tester, key session.Key) {
		texts := []string{"\x00", "a\x00b\x00", "🦊👩‍👩‍👧", "\u2028\u2029", `"\'`, "<b>&amp;</b>", "\x7f\x1b[0m", " \t\r\n ", "\ufeff", "\ufffd",
			strings.Repeat("a megabyte 🦊 ", 1<<20/15)}
		for _, s := range texts {
			t.put(key, session.Message(s))
		}
		for i, e := range t.log(key) {
			t.FailIf(e.Text() != texts[i], "text %d came back as %.100q, want %.100q", i, e.Text(), texts[i])
		}
		t.put(key, session.Message("a\xffb"))
		t.equal("text that was not UTF-8", t.live(key)[len(texts)].Text(), "a\ufffdb")
	},
}, {
	Name: "json/time",
	Rule: "A timestamp survives to the nanosecond, with its zone.",
	On: func(t *tester, key session.Key) {
		e := say("a")
		want := time.Date(2026, 1, 2, 3, 4, 5, 123456789, time.FixedZone("", 5*3600+1800))
		e.Timestamp = want
		t.put(key, e)
		got := t.log(key)[0].Timestamp
		t.FailIf(!got.Equal(want) || got.Format(time.RFC3339Nano) != want.Format(time.RFC3339Nano),
			"timestamp %v came back as %v", want, got)
	},
}}

// comesBack appends an event that is given as JSON, and expects that it is in the log at position seq as it
// was given.
func (t *tester) comesBack(key session.Key, seq int64, text string) {
	t.Helper()
	var e session.Event
	t.Must(json.Unmarshal([]byte(text), &e))
	t.put(key, &e)
	var want map[string]any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	t.Must(d.Decode(&want))
	want["seq"] = seq
	t.equal("the event", t.log(key)[seq-1], want)
	t.equal("the caller's event", &e, want)
}

package sessiontest

import (
	"encoding/json"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

var jsonCases = []testCase{
	{"json/round trip",
		"An event comes back as it went in: keys that nobody knows and numbers of any length included, in the event, its actions and its content.",
		func(t *tester) {
			key := t.create("s")
			for i, text := range []string{
				`{"id":"a","author":"user","timestamp":"2026-01-02T03:04:05.123456789Z","content":{"role":"user","parts":[{"text":"hi","unknown":{"n":12345678901234567890}}],"more":[1.0,1e2]},"zzz":{"deep":[9007199254740993]}}`,
				`{"id":"b","timestamp":"2026-01-02T03:04:05+05:30","actions":{"stateDelta":{"n":9007199254740993,"m":{"x":[0.10]}},"artifactDelta":{"f":3},"newThing":{"a":1},"transferToAgent":"x"},"customMetadata":{"id":123456789012345678901234567890,"plughook":[]}}`,
				`{"id":"c","timestamp":"2026-01-02T03:04:05Z","content":{"role":"model","parts":[{"functionCall":{"id":"1","name":"f","args":{"big":9007199254740995,"s":"\u0000\ud83e\udd8a"}}},{"inlineData":{"mimeType":"x/y","data":"AAEC/w=="}}]},"usageMetadata":{"promptTokenCount":3,"unknownCount":4},"longRunningToolIds":["1"],"errorCode":"E","turnComplete":true,"finishReason":"NEW_REASON"}`,
				`{"id":"d","timestamp":"2026-01-02T03:04:05Z","actions":{"compaction":{"startTimestamp":1.5,"endTimestamp":2.5,"compactedContent":{"role":"model","parts":[{"text":"s"}]}}},"partial":false,"branch":""}`,
			} {
				var e session.Event
				t.must(json.Unmarshal([]byte(text), &e))
				t.put(key, &e)
				var want map[string]any
				d := json.NewDecoder(strings.NewReader(text))
				d.UseNumber()
				t.must(d.Decode(&want))
				want["seq"] = i + 1
				t.equal("the event", t.log(key)[i], want)
				t.equal("the caller's event", &e, want)
			}
		}},
	{"json/text",
		"Text survives: NUL, emoji, what looks like markup, a megabyte; what is not UTF-8 becomes U+FFFD.",
		func(t *tester) {
			key := t.create("s")
			texts := []string{"\x00", "a\x00b\x00", "🦊👩‍👩‍👧", "\u2028\u2029", `"\'`, "<b>&amp;</b>", "\x7f\x1b[0m", " \t\r\n ", "\ufeff", "\ufffd",
				strings.Repeat("a megabyte 🦊 ", 1<<20/15)}
			for _, s := range texts {
				t.put(key, session.Message(s))
			}
			for i, e := range t.log(key) {
				if e.Text() != texts[i] {
					t.Fatalf("text %d came back as %.100q, want %.100q", i, e.Text(), texts[i])
				}
			}
			t.put(key, session.Message("a\xffb"))
			t.equal("text that was not UTF-8", t.live(key)[len(texts)].Text(), "a\ufffdb")
		}},
	{"json/bytes",
		"Bytes survive.",
		func(t *tester) {
			key := t.create("s")
			data := make([]byte, 100_000)
			for i := range data {
				data[i] = byte(i * 7)
			}
			e := &session.Event{Content: &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{
				{InlineData: &genai.Blob{MIMEType: "image/png", Data: data}}, {Text: "x", ThoughtSignature: []byte{0, 255, 1}}}}}
			t.put(key, e)
			got := t.log(key)[0].Content.Parts
			if string(got[0].InlineData.Data) != string(data) || string(got[1].ThoughtSignature) != "\x00\xff\x01" {
				t.Fatalf("bytes came back changed")
			}
		}},
	{"json/time",
		"A timestamp survives to the nanosecond, with its zone.",
		func(t *tester) {
			key := t.create("s")
			e, want := say("a"), time.Date(2026, 1, 2, 3, 4, 5, 123456789, time.FixedZone("", 5*3600+1800))
			e.Timestamp = want
			t.put(key, e)
			got := t.log(key)[0].Timestamp
			if !got.Equal(want) || got.Format(time.RFC3339Nano) != want.Format(time.RFC3339Nano) {
				t.Fatalf("timestamp %v came back as %v", want, got)
			}
		}},
}

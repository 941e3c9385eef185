package guardrail_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/session"
)

// chunk offers a piece of an event that is being made, and returns what is shown of it.
func chunk(t *testing.T, p *plugin.Plugin, id, text string) (string, plugin.Outcome) {
	e := session.Reply(text)
	e.ID, e.Author, e.Partial = id, "bot", true
	got, out := offered(t, p, e)
	if out.Withhold || out.Stop {
		return "", out
	}
	return got.Text(), out
}

// Of more than 64 events in the making, the others are shown when they are whole.
func TestManyStreams(t *testing.T) {
	p := quiet(t, with(t, herons))
	for i := range 64 {
		shown, _ := chunk(t, p, fmt.Sprint(i), "a cat. ")
		require.NotEmpty(t, shown, i)
	}
	_, out := chunk(t, p, "64", "a cat. ")
	require.True(t, out.Withhold)
	shown, _ := chunk(t, p, "0", "a dog. ")
	require.NotEmpty(t, shown)
	e := says("bot", &genai.Part{Text: "a heron"})
	e.ID = "64"
	got, _ := offered(t, p, e)
	require.Equal(t, "a [WORD]", got.Text())
}

// Of a text that is longer than max_bytes nothing more is shown, whatever becomes of the whole.
func TestLongStreams(t *testing.T) {
	for _, over := range []string{"block", "flag"} {
		p := quiet(t, with(t, "limits: {max_bytes: 14, over_limit: "+over+"}\n"+herons))
		shown := ""
		for i, c := range []struct {
			text     string
			withheld bool
		}{{"a cat. ", false}, {"a dog. ", false}, {"a", true}, {"cow. ", true}} {
			more, out := chunk(t, p, "e", c.text)
			shown += more
			require.Equal(t, c.withheld, out.Withhold, "%s: %d", over, i)
			require.False(t, out.Stop)
		}
		require.NotEmpty(t, shown)
	}
}

// A stream ends where it is longer than a rule allows, once.
func TestStreamsLongerThanARule(t *testing.T) {
	p := quiet(t, with(
		t,
		`rules: [{id: r, stages: [output], detect: {length: {bytes: 14}}, action: block, message: Shorter.}]`,
	))
	for i, text := range []string{"a cat. ", "a dog. "} {
		shown, _ := chunk(t, p, "e", text)
		require.Equal(t, text, shown, i)
	}
	_, out := chunk(t, p, "e", "x")
	require.True(t, out.Stop)
	require.Equal(t, "Shorter.", out.Emit[0].Text())
}

// After a block nothing more is shown of a stream, and nothing more is said about it.
func TestStreamsAfterABlock(t *testing.T) {
	p := quiet(t, with(
		t,
		`rules: [{id: r, stages: [output], detect: {words: [heron]}, action: block, message: No birds.}]`,
	))
	_, out := chunk(t, p, "e", "a heron. ")
	require.True(t, out.Stop)
	require.Equal(t, "No birds.", out.Emit[0].Text())
	n, _ := guardrail.NoteOf(out.Emit[0])
	require.Len(t, n.Records, 1)
	require.Equal(t, "r", n.Records[0].Rule)
	require.Len(t, n.Records[0].Fingerprints, 1)
	for _, text := range []string{"a cat. ", "a heron. "} {
		_, out = chunk(t, p, "e", text)
		require.Equal(t, plugin.Outcome{Withhold: true}, out)
	}
	shown, _ := chunk(t, p, "f", "a cat. ")
	require.NotEmpty(t, shown, "another event")
}

// What one rule has found, and is the whole of, is not divided where another waits for more.
func TestFindingsAreNotDivided(t *testing.T) {
	p := quiet(t, with(
		t,
		`rules: [{id: m, detect: {pii: [EMAIL_ADDRESS]}, action: redact}, {id: w, detect: {words: [example.com is mine]}, action: redact}]`,
	))
	for _, broken := range []bool{false, true} {
		shown, out := chunk(t, p, "e", "to ann@example.com is ")
		require.True(t, strings.HasPrefix("to [EMAIL_ADDRESS]", shown), "%q %v", shown, out)
		whole := says("bot", &genai.Part{Text: "to ann@example.com is "})
		if broken {
			whole.ErrorCode = "UNFINISHED"
		}
		got, _ := offered(t, p, whole)
		require.NotContains(t, got.Text(), "ann")
		require.True(t, strings.HasPrefix(got.Text(), shown))
	}
}

// A long text is looked at anew when it has grown by a 128th.
func TestLongStreamsAreLookedAtNowAndThen(t *testing.T) {
	p := quiet(t, with(t, herons))
	shown, _ := chunk(t, p, "e", strings.Repeat("a cat. ", 256))
	require.NotEmpty(t, shown)
	pieces := 0
	for range 128 {
		if shown, _ = chunk(t, p, "e", ". "); shown != "" {
			pieces++
		}
	}
	require.Positive(t, pieces)
	require.Less(t, pieces, 128/7+1)
}

// Of a list of passwords nothing is shown, however far behind its name they stand.
func TestLongListsInStreams(t *testing.T) {
	text := `{"passwords": [`
	for i := range 200 {
		text += fmt.Sprintf(`"hunter2!a%d", `, i)
	}
	text += `"end1!end"]} and more`
	var chunks []string
	for at := 0; at < len(text); at += 7 {
		chunks = append(chunks, text[at:min(len(text), at+7)])
	}
	shown, whole := streamed(t, quiet(t, guardrail.Config{}), chunks...)
	require.NotContains(t, whole, "hunter")
	require.NotContains(t, shown[len(shown)-1], "hunter")
}

// A policy in shadow changes nothing, so it holds nothing of a stream back.
func TestStreamsUnderAPolicyInShadow(t *testing.T) {
	p := quiet(t,
		with(t, "mode: shadow\n"+`rules: [{id: r, detect: {words: [blue heron]}, action: redact}]`))
	for _, text := range []string{"a blue", " heron ", "and a card 4111 11"} {
		shown, _ := chunk(t, p, "e", text)
		require.Equal(t, text, shown)
	}
}

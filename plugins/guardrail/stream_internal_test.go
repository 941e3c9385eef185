package guardrail

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/session"
)

// liar is a detector that finds "a, then b", and says of its beginning that it is settled.
type liar struct{}

const late = "a, then b"

func (liar) Find(found []detect.Finding, text string) []detect.Finding {
	if i := strings.Index(text, late); i >= 0 {
		found = append(found, detect.Finding{Type: "AB", Start: i, End: i + len(late), Score: 1})
	}
	return found
}

func (liar) Open(text string) int { return len(text) }

// Where a detector finds something that was shown in part, contrary to what it said, no more of the stream is shown.
func TestStreamsEndAtWhatIsFoundTooLate(t *testing.T) {
	p, err := Parse("p.yaml", []byte("rules: [{id: r, detect: {words: [x]}, action: redact}]"))
	require.NoError(t, err)
	p.detectors[0] = liar{}
	for i := range p.rules[0].uses {
		p.rules[0].uses[i].types = nil
	}
	hooks, err := New(Config{Policy: p, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	shown := ""
	for _, chunk := range []string{"1 a, then ", "b 2 ", "and ", "more"} {
		e := session.Reply(chunk)
		e.ID, e.Author, e.Partial = "e", "bot", true
		out, err := hooks.OnEvent(context.Background(), &session.Invocation{ID: "i"}, e)
		require.NoError(t, err)
		switch {
		case out.Withhold:
		case out.Replace != nil:
			shown += out.Replace.Text()
		default:
			shown += chunk
		}
	}
	require.Equal(t, "1 a, then ", shown)
}

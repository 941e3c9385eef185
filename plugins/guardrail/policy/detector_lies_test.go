package policy_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/plugins/guardrail/internal/detecttest"
	"github.com/plughook/plughook/plugins/guardrail/policy"
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

func (d liar) Reader() detect.Reader { return detecttest.ReadAll(d) }

// Where a detector finds something that was shown in part, contrary to what it said, no more of the
// stream is shown.
func TestStreamsEndAtWhatIsFoundTooLate(t *testing.T) {
	p, err := policy.Parse("p.yaml",
		[]byte("rules: [{id: r, detect: {words: [x]}, action: redact}]"))
	require.NoError(t, err)
	policy.SetDetector(p, liar{})
	hooks, err := guardrail.New(guardrail.Config{Policy: p, Log: slog.New(slog.DiscardHandler)})
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

// A slow detector in one stream holds up nothing else of the run.
func TestStreamsDoNotWaitForEachOther(t *testing.T) {
	p, err := policy.Parse("p.yaml",
		[]byte("rules: [{id: r, detect: {words: [x]}, action: redact}]"))
	require.NoError(t, err)
	slow := stuck{came: make(chan struct{}), let: make(chan struct{})}
	policy.SetDetector(p, slow)
	hooks, err := guardrail.New(guardrail.Config{Policy: p, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	inv := &session.Invocation{ID: "i"}
	say := func(id, text string) error {
		e := session.Reply(text)
		e.ID, e.Author, e.Partial = id, "bot", true
		_, err := hooks.OnEvent(context.Background(), inv, e)
		return err
	}
	done := make(chan error)
	go func() { done <- say("one", "slow") }()
	<-slow.came
	require.NoError(t, say("two", "quick"))
	close(slow.let)
	require.NoError(t, errors.Join(<-done, hooks.Close(context.Background())))
}

// stuck is a detector that finds nothing, and takes its time for a text that is slow.
type stuck struct{ came, let chan struct{} }

func (s stuck) Find(found []detect.Finding, text string) []detect.Finding {
	if text == "slow" {
		select {
		case s.came <- struct{}{}:
			<-s.let
		case <-s.let:
		}
	}
	return found
}

func (stuck) Open(text string) int { return len(text) }

func (s stuck) Reader() detect.Reader { return detecttest.ReadAll(s) }

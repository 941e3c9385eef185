package policy_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/plugins/guardrail/internal/detecttest"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

// broken is a detector that panics, quoting the text.
type broken struct{ find, open bool }

func (b broken) Find(found []detect.Finding, text string) []detect.Finding {
	if b.find {
		panic(errors.New("cannot read " + text))
	}
	return found
}

func (b broken) Open(text string) int {
	if b.open {
		panic("cannot read " + text)
	}
	return 0
}

func (b broken) Reader() detect.Reader { return detecttest.ReadAll(b) }

// A detector that panics blocks the text, or with on_error: allow lets it pass with a mark; what it
// says is nowhere.
func TestDetectorsThatPanic(t *testing.T) {
	const canary = "xq7canarybird"
	for _, onError := range []policy.Action{policy.Block, policy.Allow} {
		for _, partial := range []bool{false, true} {
			for _, b := range []broken{{find: true}, {open: true}} {
				p, err := policy.Parse("p.yaml", []byte(
					"on_error: "+string(
						onError)+"\nrules: [{id: r, detect: {words: [x]}, action: redact}]",
				))
				require.NoError(t, err)
				policy.SetDetector(p, b)
				var log bytes.Buffer
				hooks, err := guardrail.New(
					guardrail.Config{Policy: p, Log: slog.New(slog.NewJSONHandler(&log, nil))})
				require.NoError(t, err)
				e := session.Reply("my " + canary)
				e.ID, e.Author, e.Partial = "e", "bot", partial
				out, err := hooks.OnEvent(context.Background(), &session.Invocation{ID: "i"}, e)
				switch {
				case !partial && b.open: // nobody asks
					require.NoError(t, err)
					require.True(t, out.IsZero())
					continue
				case onError == policy.Block:
					require.NoError(t, err)
					require.True(t, out.Stop)
				case partial: // the whole event says that it was not checked
					require.NoError(t, err)
					require.True(t, out.Withhold)
					continue
				default:
					require.NoError(t, err)
					require.Equal(t, "a detector panicked with a *errors.errorString",
						out.Unchecked)
				}
				require.NotContains(t, log.String(), canary)
				require.Contains(t, log.String(), "panicked with a")
			}
		}
	}
}

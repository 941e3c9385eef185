package runner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// Each hook call has a record at debug level, and a trace, with what it did and why, and no record
// has content.
func TestHookCallsAreLoggedAndTraced(t *testing.T) {
	var mu sync.Mutex
	var log bytes.Buffer
	var traced []runner.HookCall
	nothing := func(context.Context, *session.Invocation) (plugin.Outcome, error) { return plugin.Outcome{}, nil }
	s := stage(t, says("answer 4111"), &plugin.Plugin{Name: "a", BeforeRun: nothing,
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Author == "bot" {
				return plugin.Outcome{Replace: with(e, "answer ***"), Reason: "card"}, nil
			}
			return plugin.Outcome{}, nil
		},
		AfterRun: func(context.Context, *session.Invocation, plugin.End) (plugin.Outcome, error) {
			return plugin.Outcome{}, errors.New("no disk")
		}})
	s.options.Log = slog.New(
		slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s.options.Trace = func(c runner.HookCall) { mu.Lock(); defer mu.Unlock(); traced = append(traced, c) }
	_, err := s.run("question 4111")
	require.ErrorContains(t, err, "no disk")

	var hooks, did []string
	for d := json.NewDecoder(bytes.NewReader(log.Bytes())); d.More(); {
		var r map[string]any
		require.NoError(t, d.Decode(&r))
		require.Equal(t, "DEBUG", r["level"])
		require.Equal(t, "a", r["plugin"])
		require.Equal(t, key.String(), r["session"])
		require.Contains(t, r, "duration")
		hooks = append(hooks, r["hook"].(string))
		switch {
		case r["replaced"] == true:
			did = append(did, "replaced: "+r["reason"].(string))
		case r["failed"] == true:
			did = append(did, r["error"].(string))
		default:
			did = append(did, "")
		}
	}
	require.Equal(t, []string{"OnEvent", "BeforeRun", "OnEvent", "AfterRun"}, hooks)
	require.Equal(t, []string{"", "", "replaced: card", "plugin a: AfterRun: no disk"}, did)
	require.NotContains(t, log.String(), "4111")
	require.NotContains(t, log.String(), "***")

	require.Len(t, traced, 4)
	require.Equal(t, "question 4111", traced[0].Event.Text())
	require.Equal(t, []string{"replaced"}, traced[2].Did())
	require.Error(t, traced[3].Err)

	log.Reset()
	s = stage(t, s.agent, s.plugins...)
	s.options.Log = slog.New(slog.NewJSONHandler(&log, nil))
	_, _ = s.run("question")
	require.Empty(t, log.String(), "at the usual level there is no record of a hook call")
}

// A caller who asks for a stream and gets none is told why, once for a Runner; one who asks for
// none, or gets one, is not.
func TestRule8_ARunThatCannotStreamSaysSo(t *testing.T) {
	for name, c := range map[string]struct {
		partials  bool
		streaming session.Streaming
		warned    int
	}{
		"asked for, and kept from":  {false, session.SSE, 1},
		"a live run":                {false, session.Bidi, 1},
		"not asked for":             {false, session.NoStreaming, 0},
		"asked for, and may stream": {true, session.SSE, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			words := on("words", "x",
				func(*session.Event) plugin.Outcome { return plugin.Outcome{} })
			words.Partials = c.partials
			look := on("look", "x", func(*session.Event) plugin.Outcome { return plugin.Outcome{} })
			look.Observer = true
			s := stage(t, says("=fi", "fine"), look, words)
			s.cfg.Streaming = c.streaming
			s.options.Log = slog.New(slog.NewTextHandler(&log, nil))
			for range 2 {
				yielded, err := s.run("hi")
				require.NoError(t, err)
				require.Equal(t, c.partials, slices.Contains(yielded, "bot: =fi"))
			}
			require.Equal(t, c.warned, strings.Count(log.String(), "level=WARN"), log.String())
			require.Equal(
				t,
				c.warned,
				strings.Count(log.String(),
					`plugin \"words\" takes no partial events, so no run streams`),
				log.String(),
			)
		})
	}
}

package replay_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agent/replay"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// sessionTimes are the times in a session file that are the store's.
var sessionTimes = regexp.MustCompile(`,"createTime":"[^"]*","lastUpdateTime":"[^"]*"`)

const record = `{"session":{"appName":"shop","userId":"ann","id":"s1","state":{"tier":"gold","app:open":true}}}
{"id":"1","invocationId":"i1","author":"user","timestamp":"2026-01-01T00:00:01Z","content":{"role":"user","parts":[{"text":"where is 9007199254740993?","novel":{"x":1.0}}]},"actions":{"stateDelta":{"asked":1.0}},"later":[1.50]}
{"id":"2","invocationId":"i1","author":"shop","timestamp":"2026-01-01T00:00:02Z","content":{"role":"model","parts":[{"functionCall":{"id":"c","name":"find","args":{"order":9007199254740993}}}]}}
{"id":"3","invocationId":"i1","author":"shop","timestamp":"2026-01-01T00:00:03Z","content":{"role":"user","parts":[{"functionResponse":{"id":"c","name":"find","response":{"at":"sea"}}}]}}
{"id":"4","invocationId":"i1","author":"shop","timestamp":"2026-01-01T00:00:04Z","content":{"role":"model","parts":[{"text":"At sea."}]}}
{"id":"5","invocationId":"i2","author":"user","timestamp":"2026-01-01T00:00:05Z","content":{"role":"user","parts":[{"text":"thanks"}]}}
{"id":"6","invocationId":"i2","author":"shop","timestamp":"2026-01-01T00:00:06Z","content":{"role":"model","parts":[{"text":"Welcome."}]}}
{"id":"7","invocationId":"i1","author":"plugin/compact","timestamp":"2026-01-01T00:00:07Z","actions":{"compaction":{"through":4,"compactedContent":{"role":"user","parts":[{"text":"order at sea"}]}}}}
{"id":"8","invocationId":"i3","author":"user","timestamp":"2026-01-01T00:00:08Z","content":{"role":"user","parts":[{"text":"c"}]}}
{"id":"9","invocationId":"i3","author":"shop","timestamp":"2026-01-01T00:00:09Z","content":{"role":"model","parts":[{"functionCall":{"id":"c","name":"find","args":{}}}]}}
{"id":"10","invocationId":"i3","author":"shop","timestamp":"2026-01-01T00:00:10Z","content":{"role":"user","parts":[{"functionResponse":{"id":"c","name":"find","response":{"at":"home"}}}]}}
{"id":"11","invocationId":"i4","author":"plugin/rewind","timestamp":"2026-01-01T00:00:11Z","actions":{"rewindTo":6}}
{"id":"12","invocationId":"i5","author":"shop","timestamp":"2026-01-01T00:00:12Z","content":{"role":"model","parts":[{"text":"Hello?"}]}}
`

func recording(t *testing.T) *session.Recording {
	for rec, err := range session.ReadRecordings("record", strings.NewReader(record)) {
		require.NoError(t, err)
		return rec
	}
	return nil
}

// play plays the record under plugins and returns the store and what the session file of it is,
// without seq.
func play(t *testing.T, plugins ...*plugin.Plugin) (session.Service, string) {
	ctx := context.Background()
	rec := recording(t)
	a, err := replay.New("shop", rec)
	require.NoError(t, err)
	mem := memory.New()
	_, err = mem.Create(ctx, rec.Key, rec.State)
	require.NoError(t, err)
	r, err := runner.New(runner.Options{Agent: a, Sessions: mem, Plugins: plugins, Restore: true})
	require.NoError(t, err)
	for input := range a.Inputs(rec.Key) {
		for _, err := range r.Run(ctx, rec.Key, input, session.RunConfig{}) {
			require.NoError(t, err)
		}
	}
	require.NoError(t, r.Close(ctx))
	var file strings.Builder
	require.NoError(t, session.Export(ctx, mem, rec.Key, &file))
	text := sessionTimes.ReplaceAllString(file.String(), "")
	for seq := 99; seq > 0; seq-- {
		text = strings.ReplaceAll(text, fmt.Sprintf(`,"seq":%d}`, seq), "}")
	}
	return mem, text
}

func TestWithoutPluginsTheLogEqualsTheRecording(t *testing.T) {
	_, file := play(t)
	require.Equal(t, strings.Split(record, "\n")[1:], strings.Split(file, "\n")[1:])
	require.JSONEq(t, strings.Split(record, "\n")[0], strings.Split(file, "\n")[0])
}

func TestUnderPlugins(t *testing.T) {
	answer := &plugin.Plugin{
		Name: "cache",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			for _, c := range session.Calls([]*session.Event{e}) {
				if len(c.Args) > 0 { // the first call only
					return plugin.Outcome{
						Emit: []*session.Event{
							session.Respond(c.FunctionCall, map[string]any{"at": "cache"}),
						},
					}, nil
				}
			}
			return plugin.Outcome{}, nil
		},
	}
	greet := &plugin.Plugin{
		Name: "greet",
		BeforeRun: func(context.Context, *session.Invocation) (plugin.Outcome, error) {
			return plugin.Outcome{Emit: []*session.Event{session.Reply("hello")}}, nil
		},
	}
	svc, _ := play(t, greet, answer)
	var lines []string
	var log []*session.Event
	for e, err := range svc.Read(context.Background(), session.Key{App: "shop", User: "ann", ID: "s1"}, session.Selection{}) {
		require.NoError(t, err)
		id := e.ID
		if len(id) > 3 {
			id = e.Author
		}
		lines, log = append(lines, id), append(log, e)
	}
	require.Equal(
		t,
		strings.Fields(
			"1 plugin/greet 2 plugin/cache 4 5 plugin/greet 6 plugin/greet 7 8 plugin/greet 9 10 plugin/greet 11 plugin/greet 12",
		),
		lines,
	)
	require.EqualValues(t, 5, log[9].Actions.Compaction.Through, "4 is at 5 now")
	require.EqualValues(t, 8, log[15].Actions.Rewind.To, "6 is at 8 now")
	require.Len(t, session.Calls(log), 2)
}

func TestScriptGoesOnAndBack(t *testing.T) {
	ctx := context.Background()
	a, err := replay.NewScript("shop", recording(t))
	require.NoError(t, err)
	mem := memory.New()
	undo := &plugin.Plugin{
		Name: "undo",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Text() == "undo" {
				return plugin.Outcome{
					Withhold: true,
					Stop:     true,
					Emit: []*session.Event{
						{Actions: session.Actions{Rewind: &session.Rewind{To: 4}}},
					},
				}, nil
			}
			return plugin.Outcome{}, nil
		},
	}
	r, err := runner.New(runner.Options{Agent: a, Sessions: mem, Plugins: []*plugin.Plugin{undo}})
	require.NoError(t, err)
	for _, key := range []session.Key{{App: "x", User: "y", ID: "1"}, {App: "x", User: "y", ID: "2"}} {
		say := func(text string) (last string, err error) {
			for e, err := range r.Run(ctx, key, session.Message(text), session.RunConfig{Create: true}) {
				if err != nil {
					return last, err
				}
				last = e.Text()
			}
			return last, nil
		}
		for _, want := range []string{"At sea.", "Welcome."} {
			last, err := say("anything")
			require.NoError(t, err)
			require.Equal(t, want, last)
		}
		_, err = say("undo")
		require.NoError(t, err)
		last, err := say("anything")
		require.NoError(t, err)
		require.Equal(t, "Welcome.", last, "a rewind takes the script back")
		_, err = say("third")
		require.NoError(t, err)
		last, err = say("fourth")
		require.NoError(t, err)
		require.Equal(t, "Hello?", last)
		_, err = say("fifth")
		var failed *runner.AgentError
		require.ErrorAs(t, err, &failed)
	}
}

func TestRecordsThatCannotBePlayed(t *testing.T) {
	rec := recording(t)
	_, err := replay.New("shop", rec, rec)
	require.ErrorIs(t, err, session.ErrExists)
	rec.Events = append(rec.Events, rec.Events[0])
	_, err = replay.New("shop", rec)
	require.ErrorIs(t, err, session.ErrInvalid)
}

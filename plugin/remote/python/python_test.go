//go:build unix

package python_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote"
	"github.com/plughook/plughook/plugin/remote/python"
	"github.com/plughook/plughook/session"
)

// written writes the library and a program of testdata into a directory, and returns what runs the program.
func written(t *testing.T, program string) []string {
	interpreter, err := python.Interpreter(".")
	if err != nil {
		if os.Getenv("PLUGHOOK_TEST_ALL") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "plughook"), 0o700))
	for name, data := range python.Library() {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "plughook", name), data, 0o600))
	}
	source, err := os.ReadFile(filepath.Join("testdata", program))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, program), source, 0o600))
	return []string{interpreter, filepath.Join(dir, program)}
}

// odd is testdata/odd.py as a process.
type odd struct {
	*remote.Host
	log *lockedLog
}

type lockedLog struct {
	sync.Mutex
	bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.Buffer.Write(p)
}

func (l *lockedLog) text() string {
	l.Lock()
	defer l.Unlock()
	return l.String()
}

func openOdd(t *testing.T, settings string) (*odd, error) {
	o := &odd{log: &lockedLog{}}
	var err error
	o.Host, err = remote.Open(t.Context(), remote.Config{
		Command:      written(t, "odd.py"),
		Settings:     json.RawMessage(settings),
		StartTimeout: time.Minute,
		Timeout:      time.Minute,
		MaxMessage:   1 << 20,
		Log:          slog.New(slog.NewTextHandler(o.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = o.Close(context.Background()) })
	return o, nil
}

func start(t *testing.T) *odd {
	o, err := openOdd(t, "{}")
	require.NoError(t, err)
	return o
}

// tell tells the plugin what to do, in an invocation.
func (o *odd) tell(ctx context.Context, inv *session.Invocation, text string) (plugin.Outcome, error) {
	return o.Plugin().OnEvent(ctx, inv, said(text))
}

// fails tells the plugin to do what fails, and then twice what does not: a hook that fails half of
// the time is not called for a while.
func (o *odd) fails(t *testing.T, text string) error {
	t.Helper()
	_, failed := o.tell(t.Context(), &session.Invocation{}, text)
	require.Error(t, failed, text)
	for range 2 {
		_, err := o.tell(t.Context(), &session.Invocation{}, "nothing")
		require.NoError(t, err)
	}
	return failed
}

func said(text string) *session.Event {
	e := session.Reply(text)
	e.ID, e.Author = "of "+text, "bot"
	return e
}

func TestAnswers(t *testing.T) {
	o := start(t)
	inv := &session.Invocation{Key: session.Key{App: "a", User: "u", ID: "s"}}
	for _, text := range []string{"nothing", "log"} {
		out, err := o.tell(t.Context(), inv, text)
		require.NoError(t, err, text)
		require.True(t, out.IsZero(), text)
	}
	for text, says := range map[string]string{"throw": "no luck", "leave": "SystemExit: left"} {
		err := o.fails(t, text)
		require.ErrorContains(t, err, says)
		require.NotErrorIs(t, err, plugin.ErrPanic)
	}
	for text, says := range map[string]string{
		"bad":      "and not dict",
		"badEmit":  "emit[0] is not an event",
		"nan":      "not JSON compliant",
		"circular": "recursion",
		"big":      "the limit is 1048576",
	} {
		err := o.fails(t, text)
		require.ErrorIs(t, err, plugin.ErrOutcome)
		require.ErrorContains(t, err, says)
	}
	for _, text := range []string{"bug", "reason", "letters", "freeze", "freezeDeep", "freezeLive", "freezeState"} {
		require.ErrorIs(t, o.fails(t, text), plugin.ErrPanic, text)
	}
	require.Equal(t, 1, o.Health().Generation, "it is the same process after all this")

	out, err := o.tell(t.Context(), inv, "denied")
	require.NoError(t, err)
	require.True(t, out.Withhold && out.Stop)
	require.Equal(t, "why not", out.Reason)
	require.Equal(t, session.Denied, out.Emit[0].ErrorCode)
	require.Equal(t, "no", out.Emit[0].Text())
	out, err = o.tell(t.Context(), inv, "shout naïve 🙂")
	require.NoError(t, err)
	require.Equal(t, "SHOUT NAÏVE 🙂", out.Replace.Text())

	require.NoError(t, o.Close(t.Context()), "it ends by itself")
	require.Contains(t, o.log.text(), `msg="something odd" plugin=odd count=3`)
	require.Contains(t, o.log.text(), "on stdout")
	require.Contains(t, o.log.text(), "closed")
	require.NotContains(t, o.log.text(), "SIGTERM")
}

func TestCancels(t *testing.T) {
	o := start(t)
	waiting := make(chan error, 1)
	go func() { _, err := o.tell(t.Context(), &session.Invocation{}, "wait"); waiting <- err }()
	ctx, cancel := context.WithCancel(t.Context())
	hanging := make(chan error, 1)
	go func() { _, err := o.tell(ctx, &session.Invocation{}, "hang"); hanging <- err }()
	_, err := o.tell(t.Context(), &session.Invocation{}, "release") // while the others wait
	require.NoError(t, err)
	require.NoError(t, <-waiting)
	cancel()
	require.ErrorIs(t, <-hanging, context.Canceled)
	require.NoError(t, o.Close(t.Context()), "no hook hangs any more")
}

func TestEnds(t *testing.T) {
	_, err := openOdd(t, `{"refuse": true}`)
	require.ErrorIs(t, err, remote.ErrSettings)
	require.ErrorContains(t, err, "refuse: this is not done here")
	for mistake, says := range map[string]string{
		"key":    "KeyError: 'words'",
		"filter": "authors of a Filter is a list, and not the text 'user'",
	} {
		_, err := openOdd(t, `{"mistake": "`+mistake+`"}`)
		require.ErrorIs(t, err, remote.ErrSettings)
		require.ErrorContains(t, err, says)
	}
	o := start(t)
	_, err = o.tell(t.Context(), &session.Invocation{}, "exit")
	require.ErrorIs(t, err, remote.ErrGone)
	_, err = o.tell(t.Context(), &session.Invocation{}, "nothing")
	require.NoError(t, err)
	require.Equal(t, 2, o.Health().Generation)
}

// What the host does not send again is there all the same.
func TestKeepsTheSession(t *testing.T) {
	o := start(t)
	now := time.Date(2031, 5, 4, 12, 0, 0, 250_000_000, time.UTC)
	inv := &session.Invocation{
		ID:     "i",
		Key:    session.Key{App: "a", User: "u", ID: "s"},
		Config: session.RunConfig{Create: true, Streaming: session.SSE},
		State:  map[string]any{"gone": 1, "big": json.Number("9007199254740993"), "list": []any{"x"}},
		Clock:  func() time.Time { return now },
	}
	at := func(e *session.Event, seq int64) *session.Event {
		e = e.Clone()
		e.Seq, inv.Position = seq, seq
		return e
	}
	what := func(position, live, state string) {
		t.Helper()
		out, err := o.tell(t.Context(), inv, "what")
		require.NoError(t, err)
		require.JSONEq(t, `["i",["a","u","s"],true,"sse",`+position+`,"of hello",`+live+`,`+state+`,true,""]`,
			out.Emit[0].Text())
	}
	inv.Live = []*session.Event{at(said("hello"), 1)} // which it was never offered
	inv.Input = inv.Live[0]
	what(`1`, `["1:of hello"]`, `{"gone":1,"big":9007199254740993,"list":["x"]}`)
	_, err := o.tell(t.Context(), inv, "nothing")
	require.NoError(t, err)
	inv.Live = append(inv.Live[:1:1], at(said("nothing"), 2)) // as it was offered
	inv.State = map[string]any{"list": []any{"x", nil}}
	what(`2`, `["1:of hello","2:of nothing"]`, `{"list":["x",null]}`)
	inv.Live = []*session.Event{inv.Live[0], at(said("more"), 3)} // one was rewound
	what(`3`, `["1:of hello","3:of more"]`, `{"list":["x",null]}`)
	out, err := o.tell(t.Context(), inv, "now")
	require.NoError(t, err)
	require.Equal(t, "2031-05-04T12:00:00.250000+00:00", out.Emit[0].Text())

	contents := []*genai.Content{genai.NewContentFromText("one", genai.RoleUser)}
	for n := 2; n < 5; n++ {
		contents = append(contents, genai.NewContentFromText("more", genai.RoleUser))
		req := &model.Request{
			Agent:    "bot",
			Model:    "m",
			Config:   &genai.GenerateContentConfig{MaxOutputTokens: 7},
			Contents: append([]*genai.Content(nil), contents...),
		}
		_, err := o.Plugin().BeforeModel(t.Context(), inv, req)
		require.NoError(t, err)
		require.Equal(t, "m!", req.Model)
		require.Equal(t, int32(7), req.Config.MaxOutputTokens)
		require.Equal(t, contents[:n-1], req.Contents[:n-1])
		require.Equal(t, string(rune('0'+n))+" contents", req.Contents[n-1].Parts[0].Text)
	}
	out, err = o.Plugin().AfterRun(t.Context(), inv,
		plugin.End{Kind: plugin.EndFailed, Err: context.Canceled, Plugin: "p", Reason: "r"})
	require.NoError(t, err)
	require.JSONEq(t,
		`{"kind":"failed","error":{"message":"context canceled","kinds":["canceled"]},"plugin":"p","reason":"r"}`,
		out.Emit[0].Text())
}

func TestJSONIsExact(t *testing.T) {
	command := written(t, "exact.py")
	out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
	require.NoError(t, err, string(out))
}

// A virtual environment without grpcio is not passed over: its author meant it.
func TestTheInterpreterOfAVirtualEnvironment(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(dir, ".venv", "bin")
	require.NoError(t, os.MkdirAll(bin, 0o700))
	own := filepath.Join(bin, "python")
	require.NoError(t, os.WriteFile(own, []byte("#!/bin/sh\nexit 0\n"), 0o700))
	found, err := python.Interpreter(dir)
	require.NoError(t, err)
	require.Equal(t, own, found)
	require.NoError(t, os.WriteFile(own, []byte("#!/bin/sh\nexit 1\n"), 0o700))
	_, err = python.Interpreter(dir)
	require.ErrorContains(t, err, strings.Join([]string{own, "-m pip install grpcio protobuf"}, " "))
}

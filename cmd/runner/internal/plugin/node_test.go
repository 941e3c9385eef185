package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/cmd/runner/internal/clitest"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote"
	"github.com/plughook/plughook/plugin/remote/node"
	"github.com/plughook/plughook/session"
)

const (
	nodeLibrary = "../../../../plugin/remote/node/library"
	grpcExample = "../../../../examples/plugins/toolpolicy"
)

// transports calls test with each of the libraries for Node.js: without packages, and with grpc-js.
func transports(
	t *testing.T,
	test func(t *testing.T, open func(settings string, change func(*remote.Config)) (*odd, error)),
) {
	clitest.NeedNode(t)
	for _, name := range []string{"http2", "grpc-js"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			library := filepath.Join(dir, "plughook")
			if name == "http2" {
				require.NoError(t, os.CopyFS(library, os.DirFS(nodeLibrary)))
			} else {
				require.NoError(t, node.WriteWithTransport(library, "../transport.mjs"))
				transport, err := os.ReadFile(grpcExample + "/transport.mjs")
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(filepath.Join(dir, "transport.mjs"), transport, 0o600))
				modules, err := filepath.Abs(grpcExample + "/node_modules")
				require.NoError(t, err)
				if _, err := os.Stat(modules); err != nil {
					if os.Getenv("PLUGHOOK_TEST_ALL") != "" && os.Getenv("PLUGHOOK_WITHOUT_NPM") == "" {
						t.Fatalf("run npm ci in %s", grpcExample)
					}
					t.Skipf("run npm ci in %s", grpcExample)
				}
				require.NoError(t, os.Symlink(modules, filepath.Join(dir, "node_modules")))
			}
			main, err := os.ReadFile("testdata/node/odd.mjs")
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "odd.mjs"), main, 0o600))
			test(t, func(settings string, change func(*remote.Config)) (*odd, error) {
				return openOdd(t, dir, settings, change)
			})
		})
	}
}

// odd is testdata/node/odd.mjs as a process.
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

func openOdd(t *testing.T, dir, settings string, change func(*remote.Config)) (*odd, error) {
	o := &odd{log: &lockedLog{}}
	c := remote.Config{
		Command:      []string{"node", filepath.Join(dir, "odd.mjs")},
		Settings:     json.RawMessage(settings),
		StartTimeout: time.Minute,
		Timeout:      time.Minute,
		Log:          slog.New(slog.NewTextHandler(o.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&c)
	}
	var err error
	if o.Host, err = remote.Open(t.Context(), c); err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = o.Close(context.Background()) })
	return o, nil
}

// tell tells the plugin what to do, in an invocation.
func (o *odd) tell(
	ctx context.Context,
	inv *session.Invocation,
	text string,
) (plugin.Outcome, error) {
	return o.Plugin().OnEvent(ctx, inv, agentSaid(text))
}

// fails tells the plugin to do what fails, and before and after what does not: a hook that fails
// half of the time is not called for a while.
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

func agentSaid(text string) *session.Event {
	e := session.Reply(text)
	e.ID, e.Author = "of "+text, "bot"
	return e
}

func TestNodeAnswers(t *testing.T) {
	transports(t, func(t *testing.T, open func(string, func(*remote.Config)) (*odd, error)) {
		o, err := open(`{}`, func(c *remote.Config) { c.MaxMessage = 1 << 20 })
		require.NoError(t, err)
		inv := &session.Invocation{Key: session.Key{App: "a", User: "u", ID: "s"}}
		for _, text := range []string{"nothing", "stray", "log"} {
			out, err := o.tell(t.Context(), inv, text)
			require.NoError(t, err, text)
			require.True(t, out.IsZero(), text)
		}
		for text, says := range map[string]string{"throw": "no luck", "reject": "no luck later"} {
			err := o.fails(t, text)
			require.ErrorContains(t, err, says)
			require.NotErrorIs(t, err, plugin.ErrPanic)
		}
		for text, says := range map[string]string{"bad": "an outcome has no replaced", "badEmit": "emit[0] is not an event", "circular": "circular", "big": "the limit is 1048576"} {
			err := o.fails(t, text)
			require.ErrorIs(t, err, plugin.ErrOutcome)
			require.ErrorContains(t, err, says)
		}
		require.Equal(t, 1, o.Health().Generation, "it is the same process after all this")
		out, err := o.tell(t.Context(), inv, "denied")
		require.NoError(t, err)
		require.True(t, out.Withhold && out.Stop)
		require.Equal(t, []string{"why not", session.Denied, "why not", "no"}, []string{
			out.Reason,
			out.Emit[0].ErrorCode,
			out.Emit[0].ErrorMessage,
			out.Emit[0].Text(),
		})
		out, err = o.tell(t.Context(), inv, "shout naïve 🙂")
		require.NoError(t, err)
		require.Equal(t, "SHOUT NAÏVE 🙂", out.Replace.Text())
		require.Equal(t, "loud", out.Reason)
		require.NoError(t, o.Close(t.Context()), "it ends by itself")
		require.Contains(t, o.log.text(), `msg="something odd" plugin=odd count=3`)
		require.Contains(t, o.log.text(), "on stdout")
		require.Contains(t, o.log.text(), "nobody waits for it")
		require.Contains(t, o.log.text(), "closed")
	})
}

func TestNodeBugsArePanics(t *testing.T) {
	transports(t, func(t *testing.T, open func(string, func(*remote.Config)) (*odd, error)) {
		o, err := open("", nil)
		require.NoError(t, err)
		for _, text := range []string{"bug", "value", "freeze", "freezeDeep", "freezeLive", "freezeState"} {
			require.ErrorIs(t, o.fails(t, text), plugin.ErrPanic, text)
		}
	})
}

func TestNodeCancels(t *testing.T) {
	transports(t, func(t *testing.T, open func(string, func(*remote.Config)) (*odd, error)) {
		o, err := open("", nil)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		waiting := make(chan error, 1)
		go func() { _, err := o.tell(t.Context(), &session.Invocation{}, "wait"); waiting <- err }()
		hanging := make(chan error, 1)
		go func() { _, err := o.tell(ctx, &session.Invocation{}, "hang"); hanging <- err }()
		require.Eventually(t, func() bool { // other calls are answered meanwhile
			_, err := o.tell(t.Context(), &session.Invocation{}, "release")
			return err == nil && len(waiting) == 1
		}, time.Minute, time.Millisecond)
		require.NoError(t, <-waiting)
		cancel()
		require.ErrorIs(t, <-hanging, context.Canceled)
		require.Eventually(t,
			func() bool { return strings.Contains(o.log.text(), "hang was cancelled") },
			time.Minute, time.Millisecond)
		require.NoError(t, o.Close(t.Context()))
	})
}

func TestNodeEnds(t *testing.T) {
	transports(t, func(t *testing.T, open func(string, func(*remote.Config)) (*odd, error)) {
		_, err := open(`{"refuse": true}`, nil)
		require.ErrorIs(t, err, remote.ErrSettings)
		require.ErrorContains(t, err, "refuse: this is not done here")
		o, err := open(`{}`, nil)
		require.NoError(t, err)
		_, err = o.tell(t.Context(), &session.Invocation{}, "exit")
		require.ErrorIs(t, err, remote.ErrGone)
		require.ErrorContains(t, err, "7")
		_, err = o.tell(t.Context(), &session.Invocation{}, "nothing")
		require.NoError(t, err)
		require.Equal(t, 2, o.Health().Generation)
	})
}

// The time is that of the runner's clock, and a hook cannot change it.
func TestNodeHasTheClock(t *testing.T) {
	transports(t, func(t *testing.T, open func(string, func(*remote.Config)) (*odd, error)) {
		o, err := open("", nil)
		require.NoError(t, err)
		now := time.Date(2031, 5, 4, 12, 0, 0, 250_000_000, time.UTC)
		out, err := o.tell(t.Context(), &session.Invocation{Clock: func() time.Time { return now }}, "now")
		require.NoError(t, err)
		require.Equal(t, "2031-05-04T12:00:00.250Z", out.Emit[0].Text())
	})
}

// What the host does not send again is there all the same.
func TestNodeKeepsTheSession(t *testing.T) {
	transports(t, func(t *testing.T, open func(string, func(*remote.Config)) (*odd, error)) {
		o, err := open("", nil)
		require.NoError(t, err)
		inv := &session.Invocation{
			ID:     "i",
			Key:    session.Key{App: "a", User: "u", ID: "s"},
			Config: session.RunConfig{Create: true, Streaming: session.SSE},
			State: map[string]any{
				"gone": 1,
				"big":  json.Number("9007199254740993"),
				"list": []any{"x"},
			},
		}
		appended := func(e *session.Event) {
			e = e.Clone()
			inv.Position++
			e.Seq = inv.Position
			inv.Live = append(inv.Live[:len(inv.Live):len(inv.Live)], e)
			if inv.Input == nil {
				inv.Input = e
			}
			next := *inv
			inv = &next
		}
		what := func(want string) {
			t.Helper()
			out, err := o.tell(t.Context(), inv, "what")
			require.NoError(t, err)
			require.JSONEq(t, want, out.Emit[0].Text())
		}
		appended(agentSaid("hello")) // which it was never offered
		what(
			`["i",{"app":"a","user":"u","id":"s"},{"create":true,"streaming":"sse"},1,"of hello",["1:of hello"],{"gone":1,"big":"9007199254740993n","list":["x"]},true,""]`,
		)
		offered := agentSaid("nothing")
		_, err = o.Plugin().OnEvent(t.Context(), inv, offered)
		require.NoError(t, err)
		e := *offered
		e.Seq, inv.Position = 2, 2
		inv.Live = append(inv.Live[:1:1], &e)
		inv.State = map[string]any{"list": []any{"x", nil}, "new": nil}
		what(
			`["i",{"app":"a","user":"u","id":"s"},{"create":true,"streaming":"sse"},2,"of hello",["1:of hello","2:of nothing"],{"list":["x",null]},true,""]`,
		)
		appended(agentSaid("more"))
		inv.Live = []*session.Event{inv.Live[0], inv.Live[2]} // one was rewound
		what(
			`["i",{"app":"a","user":"u","id":"s"},{"create":true,"streaming":"sse"},3,"of hello",["1:of hello","3:of more"],{"list":["x",null]},true,""]`,
		)

		contents := []*genai.Content{
			genai.NewContentFromText("one", genai.RoleUser),
			genai.NewContentFromText("two", genai.RoleModel),
		}
		for range 3 {
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
			require.Equal(t, contents[:len(contents)-1], req.Contents[:len(contents)-1])
			require.Equal(t, string(rune('0'+len(contents)))+" contents",
				req.Contents[len(contents)-1].Parts[0].Text)
		}
		out, err := o.Plugin().
			AfterRun(t.Context(), inv, plugin.End{Kind: plugin.EndFailed, Err: context.Canceled, Plugin: "p", Reason: "r"})
		require.NoError(t, err)
		require.JSONEq(
			t,
			`{"kind":"failed","error":{"message":"context canceled","kinds":["canceled"]},"plugin":"p","reason":"r"}`,
			out.Emit[0].Text(),
		)
	})
}

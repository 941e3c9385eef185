package logger_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/logger"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// booker calls a tool, answers it, and sets state.
var booker = agent.New(
	"booker",
	"",
	func(ctx context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			_, err := host.BeforeModel(ctx, func(*session.Invocation) (*model.Request, error) {
				return &model.Request{Model: "small", Contents: []*genai.Content{{}}}, nil
			})
			if err != nil {
				return
			}
			call := &session.Event{
				Content: &genai.Content{
					Parts: []*genai.Part{
						{Text: "hm", Thought: true},
						genai.NewPartFromFunctionCall("book", map[string]any{"seat": "12A"}),
					},
				},
			}
			if !yield(call, nil) {
				return
			}
			done := session.Reply("seat 12A is yours")
			done.Actions.StateDelta = map[string]any{"seat": "12A", "paid": true}
			yield(done, nil)
		}
	},
)

func run(t interface{ Fatal(...any) }, a agent.Agent, p *plugin.Plugin) {
	r, err := runner.New(
		runner.Options{Agent: a, Sessions: memory.New(), Plugins: []*plugin.Plugin{p}})
	if err != nil {
		t.Fatal(err)
	}
	in := session.Message("seat 12A please")
	in.ID, in.InvocationID = "e1", "i1"
	for range r.Run(context.Background(), session.Key{App: "a", User: "u", ID: "s"}, in, session.RunConfig{Create: true}) {
	}
	if err := r.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// plain leaves out what differs from run to run.
func plain(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey || a.Key == "event" {
		return slog.Attr{}
	}
	return a
}

func Example() {
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: plain}))
	p, _ := logger.New(logger.Config{Log: log})
	run(panics{}, booker, p)
	// Output:
	// level=INFO msg=event session=a/u/s invocation=i1 author=user parts=text
	// level=INFO msg="run begins" session=a/u/s invocation=i1 position=1 live=1
	// level=INFO msg="model is called" session=a/u/s invocation=i1 model=small contents=1
	// level=INFO msg=event session=a/u/s invocation=i1 author=booker parts="thought functionCall"
	// level=INFO msg=event session=a/u/s invocation=i1 author=booker parts=text state="paid seat"
	// level=INFO msg="run ended" session=a/u/s invocation=i1 end=done
}

type panics struct{}

func (panics) Fatal(args ...any) { panic(args) }

func TestContentIsOffUnlessAskedFor(t *testing.T) {
	for _, content := range []bool{false, true} {
		var out bytes.Buffer
		p, err := logger.New(
			logger.Config{Content: content, Log: slog.New(slog.NewJSONHandler(&out, nil))})
		require.NoError(t, err)
		run(t, booker, p)
		require.Equal(t, content, strings.Contains(out.String(), "12A"), out.String())
		require.Equal(t, 6, strings.Count(out.String(), "\n"))
	}
}

// Content is JSON text, whichever handler writes it.
func TestContentIsJSONText(t *testing.T) {
	var text, object bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&text, nil), slog.NewJSONHandler(&object, nil)} {
		p, err := logger.New(logger.Config{Content: true, Log: slog.New(handler)})
		require.NoError(t, err)
		for _, args := range []map[string]any{{"seat": "<12A>"}, {"seat": func() {}}} {
			_, err = p.OnEvent(t.Context(), &session.Invocation{},
				&session.Event{Content: genai.NewContentFromFunctionCall("book", args, "model")})
			require.NoError(t, err)
		}
	}
	var got []string
	for line := range strings.Lines(text.String()) {
		_, quoted, _ := strings.Cut(strings.TrimSpace(line), " content=")
		content, err := strconv.Unquote(quoted)
		require.NoError(t, err, line)
		got = append(got, content)
	}
	for line := range strings.Lines(object.String()) {
		var record struct{ Content string }
		require.NoError(t, json.Unmarshal([]byte(line), &record), line)
		got = append(got, record.Content)
	}
	require.Len(t, got, 4)
	require.JSONEq(t,
		`{"role":"model","parts":[{"functionCall":{"name":"book","args":{"seat":"<12A>"}}}]}`,
		got[0])
	require.Contains(t, got[0], "<12A>", "for people")
	require.Contains(t, got[1], "it is not JSON: ")
	require.Equal(t, got[:2], got[2:])
}

func TestEndsAreLogged(t *testing.T) {
	var out bytes.Buffer
	p, err := logger.New(logger.Config{Log: slog.New(slog.NewTextHandler(&out, nil))})
	require.NoError(t, err)
	require.True(t, p.Observer)
	run(
		t,
		agent.New(
			"broken",
			"",
			func(context.Context, *agent.Host) iter.Seq2[*session.Event, error] {
				return func(yield func(*session.Event, error) bool) { yield(nil, errors.New("no luck")) }
			},
		),
		p,
	)
	require.Contains(t, out.String(), `end=failed`)
	require.Contains(t, out.String(), `no luck`)

	_, err = p.AfterRun(t.Context(), &session.Invocation{},
		plugin.End{Kind: plugin.EndStopped, Plugin: "guard", Reason: "rule 1"})
	require.NoError(t, err)
	require.Contains(t, out.String(), `end=stopped plugin=guard reason="rule 1"`)
}

func TestKindsOfParts(t *testing.T) {
	var out bytes.Buffer
	p, err := logger.New(logger.Config{Log: slog.New(slog.NewTextHandler(&out, nil))})
	require.NoError(t, err)
	e := &session.Event{
		Author:    "a",
		ErrorCode: "SAFETY",
		Content: &genai.Content{Parts: []*genai.Part{nil, {},
			{
				FunctionResponse: &genai.FunctionResponse{},
			}, {InlineData: &genai.Blob{}}, {FileData: &genai.FileData{}},
			{
				ExecutableCode: &genai.ExecutableCode{},
			}, {CodeExecutionResult: &genai.CodeExecutionResult{}}}},
		Actions: session.Actions{
			Compaction: &session.Compaction{Through: 1},
			Rewind:     &session.Rewind{},
		},
	}
	_, err = p.OnEvent(t.Context(), &session.Invocation{}, e)
	require.NoError(t, err)
	require.Contains(
		t,
		out.String(),
		`parts="functionResponse inlineData fileData executableCode codeExecutionResult compaction rewind" error_code=SAFETY`,
	)
}

// A record says which node an event is of, and what the node hands on only if what was said is
// asked for.
func TestNodes(t *testing.T) {
	e := &session.Event{
		Author:   "desk",
		Output:   map[string]any{"seat": "12A"},
		NodeInfo: &session.NodeInfo{Path: "desk@i/sort@1", Ended: true},
	}
	e.Actions.Route = "left"
	for _, content := range []bool{false, true} {
		var out bytes.Buffer
		p, err := logger.New(
			logger.Config{Content: content, Log: slog.New(slog.NewJSONHandler(&out, nil))})
		require.NoError(t, err)
		_, err = p.OnEvent(t.Context(), &session.Invocation{}, e)
		require.NoError(t, err)
		var record map[string]any
		require.NoError(t, json.Unmarshal(out.Bytes(), &record))
		require.Equal(t, "desk@i/sort@1", record["node"])
		require.Equal(t, "output route ended", record["parts"])
		require.Equal(t, content, record["output"] == `{"seat":"12A"}`)
		require.Equal(t, content, strings.Contains(out.String(), "12A"))
	}
}

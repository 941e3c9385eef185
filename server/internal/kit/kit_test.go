package kit_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/model/script"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/rewind"
	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/server/internal/servertest"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/tool"
)

// picture is a PNG of one pixel.
const picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// serveKit serves the agent of testdata/desk.yaml as the apps "desk" and "other", with the kit's routes.
func serveKit(t *testing.T, change func(*server.Options)) *service {
	t.Helper()
	model, err := script.Load("testdata/desk.yaml")
	require.NoError(t, err)
	files := artifact.NewMemory()
	desk, err := llm.New(llm.Config{
		Name:        "desk",
		Description: "It answers.",
		Model:       model,
		Artifacts:   files,
		Tools:       deskTools(),
	})
	require.NoError(t, err)
	sessions := memory.New()
	plugins := []*plugin.Plugin{kitPolicy(), rewind.New(sessions)}
	t.Cleanup(func() { require.NoError(t, sessions.Close()) })
	return &service{servertest.ServeOn(t, sessions, desk, func(o *server.Options) {
		other := o.Apps[0]
		other.Name = "other"
		o.Apps[0].Artifacts = files
		other.Artifacts = files
		o.Apps = append(o.Apps, other)
		o.Kit = true
		o.KitDev = true
		o.Version = "1.2.3"
		if change != nil {
			change(o)
		}
	}, plugins...)}
}

// deskTools are the tools of the desk.
func deskTools() []*tool.Tool {
	declare := func(name string, run func(context.Context, *tool.Call) (map[string]any, error)) *tool.Tool {
		return &tool.Tool{
			Declaration: &genai.FunctionDeclaration{
				Name:        name,
				Description: "It does " + name + ".",
			},
			Run: run,
		}
	}
	later := func(context.Context, *tool.Call) (map[string]any, error) { return nil, nil }
	weather := declare(
		"get_weather",
		func(_ context.Context, c *tool.Call) (map[string]any, error) {
			c.Set("lastCity", c.Args["city"])
			return map[string]any{"celsius": 19}, nil
		},
	)
	book := tool.Confirm(
		declare("book_table", func(_ context.Context, c *tool.Call) (map[string]any, error) {
			return map[string]any{"ok": true, "payload": c.Confirmation.Payload}, nil
		}),
		"An empty table costs 20 EUR.",
	)
	ask := declare("adk_request_input", later)
	ask.LongRunning = true
	report := declare("send_report", later)
	report.LongRunning = true
	draw := declare("draw", func(ctx context.Context, c *tool.Call) (map[string]any, error) {
		data, err := base64.StdEncoding.DecodeString(picture)
		if err != nil {
			return nil, err
		}
		for name, part := range map[string]*genai.Part{
			"map.png":   {InlineData: &genai.Blob{MIMEType: "image/png", Data: data}},
			"notes.txt": {Text: "first"},
		} {
			if _, err := c.Save(ctx, name, part); err != nil {
				return nil, err
			}
		}
		_, err = c.Save(ctx, "notes.txt", &genai.Part{Text: "second"})
		return map[string]any{"ok": true}, err
	})
	fail := declare("fail", func(context.Context, *tool.Call) (map[string]any, error) {
		return map[string]any{"ok": true}, nil
	})
	return []*tool.Tool{weather, book, ask, report, draw, fail}
}

// kitPolicy is a plugin that denies what has the word "denied" in it, without any content in its answer,
// compacts when it is told to, and fails at the tool "fail".
func kitPolicy() *plugin.Plugin {
	return &plugin.Plugin{
		Name:     "policy",
		Partials: true,
		OnEvent: func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			for _, r := range e.FunctionResponses() {
				if r.Name == "fail" && r.Response["ok"] == true {
					return plugin.Outcome{}, errors.New("it is the tool that fails")
				}
			}
			if e.Author != session.User || !strings.Contains(e.Text(), "denied") {
				return plugin.Outcome{}, nil
			}
			no := &session.Event{
				ErrorCode:    session.Denied,
				ErrorMessage: "the policy does not allow this",
			}
			return plugin.Outcome{Withhold: true, Stop: true, Emit: []*session.Event{no}}, nil
		},
		BeforeRun: func(_ context.Context, inv *session.Invocation) (plugin.Outcome, error) {
			if inv.Input == nil || inv.Input.Text() != "compact please" {
				return plugin.Outcome{}, nil
			}
			summary := &session.Event{}
			summary.Actions.Compaction = &session.Compaction{
				Through:  2,
				Frontier: inv.Frontier,
				Content:  genai.NewContentFromText("Summary of before.", genai.RoleUser),
			}
			return plugin.Outcome{Emit: []*session.Event{summary}}, nil
		},
	}
}

// recorded is a request that a client of the kit has sent, and an answer that it has accepted.
type recorded struct {
	Request struct {
		Method, Path, Query string
		Body                json.RawMessage
	}
	Response struct {
		Status int
		Body   any
		Text   *string
		SSE    []map[string]any
	}
}

// readRecorded reads a file of them. Requests for artifacts are moved behind the run that makes these: the
// page asks while the run is under way.
func readRecorded(t *testing.T, file string) []recorded {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var list, early []recorded
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r recorded
		require.NoError(t, json.Unmarshal(lines.Bytes(), &r))
		if strings.HasPrefix(filepath.Base(file), "ui-") &&
			strings.Contains(r.Request.Path, "/artifacts/") {
			early = append(early, r)
			continue
		}
		list = append(list, r)
	}
	return append(list, early...)
}

// What real clients have sent is answered in a shape that they have accepted.
func TestKitAnswersItsClients(t *testing.T) {
	files, err := filepath.Glob("testdata/adk-web/*.jsonl")
	require.NoError(t, err)
	require.Len(t, files, 4)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".jsonl"), func(t *testing.T) {
			s := serveKit(t, nil)
			ids := map[string]string{} // ours, by those that were recorded
			for _, r := range readRecorded(t, file) {
				s.replay(r, ids)
			}
		})
	}
}

// replay sends a recorded request and compares the answer with the recorded one.
func (s *service) replay(r recorded, ids map[string]string) {
	s.Helper()
	ours := func(text string) string {
		for was, is := range ids {
			text = regexp.MustCompile(`\b`+regexp.QuoteMeta(was)+`\b`).
				ReplaceAllLiteralString(text, is)
		}
		return text
	}
	path := ours(r.Request.Path)
	if r.Request.Query != "" {
		path += "?" + r.Request.Query
	}
	what := r.Request.Method + " " + path + " " + ours(string(r.Request.Body))
	status, body := s.Do(r.Request.Method, path, ours(string(r.Request.Body)), "Content-Type",
		"application/json")
	require.Equal(s, r.Response.Status, status, "%s: %s", what, body)
	switch {
	case r.Response.Text != nil:
		require.Equal(s, *r.Response.Text, body, what)
	case r.Response.SSE != nil:
		var got []map[string]any
		for _, f := range servertest.Frames(s.T, strings.NewReader(body), nil) {
			require.Empty(s, f.Name+f.ID,
				"%s: the kit's JavaScript client skips frames that begin otherwise than with data",
				what)
			got = append(got, decoded[map[string]any](s.T, f.Data))
		}
		s.sameEvents(what, r.Response.SSE, got, ids)
	default:
		is := decoded[any](s.T, body)
		if list, ok := r.Response.Body.([]any); ok && strings.HasPrefix(path, "/run") {
			s.sameEvents(what, asMaps(list), asMaps(is.([]any)), ids)
			return
		}
		s.sameShape(what, r.Response.Body, is)
		was, _ := r.Response.Body.(map[string]any)
		if id, ok := was["id"].(string); ok {
			ids[id] = is.(map[string]any)["id"].(string)
			for _, e := range asMaps(is.(map[string]any)["events"].([]any)) {
				strictEvent(s.T, e)
			}
		}
		if strings.Contains(path, "/trace/session/") {
			strictSpans(s.T, asMaps(is.([]any)))
		}
	}
}

// sameEvents holds the events of a run to those that were recorded: the same calls, of which the same wait,
// the same failures, and text where there was text. It notes which ids of ours are in the place of which.
func (s *service) sameEvents(what string, was, is []map[string]any, ids map[string]string) {
	s.Helper()
	wasTold := told(was)
	isTold := told(is)
	for _, e := range is {
		if e["error"] == nil {
			strictEvent(s.T, e)
		}
	}
	require.Equal(s, wasTold.failed, isTold.failed, "%s: %v", what, is)
	require.Equal(s, wasTold.code, isTold.code, what)
	require.True(s, isTold.text || !wasTold.text || len(wasTold.waits) > 0, "%s: no text: %v", what,
		is)
	for name, id := range wasTold.calls {
		require.Contains(s, isTold.calls, name, what)
		ids[id] = isTold.calls[name]
		require.Equal(s, wasTold.waits[id], isTold.waits[isTold.calls[name]],
			"%s: whether %s waits: %v", what, name, is)
		ids[wasTold.events[id]] = isTold.events[isTold.calls[name]]
	}
	require.Equal(s, wasTold.artifacts, isTold.artifacts, what)
	require.True(s, isTold.partial || !wasTold.partial, what)
}

// tells is what the events of a run say.
type tells struct {
	calls     map[string]string // ids by names
	events    map[string]string // the event that has a call
	waits     map[string]bool   // the ids of calls that wait
	artifacts map[string]any
	text      bool
	partial   bool
	failed    bool
	code      string
}

func told(events []map[string]any) tells {
	t := tells{
		calls:     map[string]string{},
		events:    map[string]string{},
		waits:     map[string]bool{},
		artifacts: map[string]any{},
	}
	for _, e := range events {
		if e["error"] != nil {
			t.failed = true
			continue
		}
		if code, ok := e["errorCode"].(string); ok {
			t.code = code
		}
		t.partial = t.partial || e["partial"] == true
		content, _ := e["content"].(map[string]any)
		parts, _ := content["parts"].([]any)
		for _, p := range asMaps(parts) {
			t.text = t.text || p["text"] != nil
			if call, ok := p["functionCall"].(map[string]any); ok {
				id := call["id"].(string)
				t.calls[call["name"].(string)] = id
				t.events[id] = e["id"].(string)
			}
		}
		for name, version := range e["actions"].(map[string]any)["artifactDelta"].(map[string]any) {
			t.artifacts[name] = version
		}
		list, _ := e["longRunningToolIds"].([]any)
		for _, id := range list {
			t.waits[id.(string)] = true
		}
	}
	return t
}

// free are the keys below which names are the user's.
var free = map[string]bool{
	"state":          true,
	"stateDelta":     true,
	"args":           true,
	"response":       true,
	"customMetadata": true,
}

// sameShape holds an answer to a recorded one: it has the same keys with values of the same types, and no
// others.
func (s *service) sameShape(what string, was, is any) {
	s.Helper()
	if was != nil {
		require.Equal(s, fmt.Sprintf("%T", was), fmt.Sprintf("%T", is), "%s: %v in place of %v",
			what, is, was)
	}
	switch was := was.(type) {
	case map[string]any:
		for key, value := range was {
			now, ok := is.(map[string]any)[key]
			if !ok && strings.Contains(key, ".") {
				continue // an attribute of a span that is not known from the log
			}
			require.True(s, ok, "%s: no key %q in %v", what, key, is)
			if free[key] || key == "events" {
				continue
			}
			s.sameShape(what+" "+key, value, now)
		}
	case []any:
		now := is.([]any)
		if len(was) == 0 && !strings.HasSuffix(what, " tools") { // the recorded agent had none
			require.Empty(s, now, what)
		}
		for i := range was {
			if i < len(now) {
				s.sameShape(fmt.Sprintf("%s [%d]", what, i), was[i], now[i])
			}
		}
	}
}

func decoded[V any](t *testing.T, text string) V {
	t.Helper()
	var v V
	require.NoError(t, json.Unmarshal([]byte(text), &v), text)
	return v
}

func asMaps(list []any) []map[string]any {
	var maps []map[string]any
	for _, v := range list {
		m, _ := v.(map[string]any)
		maps = append(maps, m)
	}
	return maps
}

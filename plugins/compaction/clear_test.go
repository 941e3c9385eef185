package compaction_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent/llm"
	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/plugins/compaction/internal/meter"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// Old results become lines in the prompt, without a summary; the latest ones, those of excepted tools
// and small ones stay. The tool recall reads them whole.
func TestOldResultsAreCleared(t *testing.T) {
	type page struct {
		Page int `json:"page"`
	}
	returns := func(name string, words int) *tool.Tool {
		f, err := tool.New(
			name,
			"reads",
			func(_ context.Context, _ *tool.Call, p page) (string, error) {
				return fmt.Sprintf("%s %d begins %s ends", name, p.Page,
					strings.Repeat("word ", words)), nil
			},
		)
		require.NoError(t, err)
		return f
	}
	names := []string{"read", "policy", "short"}
	m := &speaker{answer: func(n int, _ *model.Request) (*model.Response, error) {
		if n%2 == 0 {
			return said("done"), nil
		}
		return called(fmt.Sprint("c", n), names[n/2%3], map[string]any{"page": n}), nil
	}}
	c := compaction.Config{
		Window:     20_000,
		Foreground: true,
		Clear:      compaction.Clear{Trigger: 4000, Keep: 2, Except: []string{"policy"}},
	}
	s := stage(t, c, m, returns("read", 600), returns("policy", 600), returns("short", 3))
	for i := range 15 {
		s.say("go on %d", i)
	}
	require.Empty(t, s.compactions())

	// The prompt, by the tool of each result.
	whole := map[string]int{}
	lines := map[string]int{}
	for _, content := range m.last().Contents {
		for _, p := range content.Parts {
			if p.FunctionResponse == nil {
				continue
			}
			data, err := json.Marshal(p.FunctionResponse.Response)
			require.NoError(t, err)
			if strings.Contains(string(data), "ends") {
				whole[p.FunctionResponse.Name]++
			} else {
				require.Contains(t, string(data), "begins")
				lines[p.FunctionResponse.Name]++
			}
		}
	}
	require.Equal(t, 5, whole["policy"])
	require.Equal(t, 5, whole["short"])
	require.Positive(t, lines["read"])
	require.Equal(t, 5, lines["read"]+whole["read"])

	// The whole result is in the log, and the tool reads it.
	var first *session.Event
	for _, e := range s.live() {
		if first == nil && len(e.FunctionResponses()) > 0 {
			first = e
		}
	}
	got, err := ask(t, s.sessions, "", map[string]any{"from": first.Seq, "to": first.Seq})
	require.NoError(t, err)
	require.Len(t, got.Events, 1)
	require.Contains(t, got.Events[0].Text, "begins")
	require.Contains(t, got.Events[0].Text, "ends")
	require.Zero(t, got.Events[0].Left)
}

// A long loop of one run, whose caller waits for summaries, needs none as long as clearing is enough.
func TestALoopIsClearedBeforeItIsSummarized(t *testing.T) {
	read, err := tool.New(
		"read",
		"reads",
		func(_ context.Context, _ *tool.Call, _ struct{}) (string, error) {
			return strings.Repeat("word ", 600), nil
		},
	)
	require.NoError(t, err)
	m := &speaker{answer: func(n int, _ *model.Request) (*model.Response, error) {
		if n > 30 {
			return said("done"), nil
		}
		return called(fmt.Sprint("c", n), "read", nil), nil
	}}
	c := compaction.Config{
		Window:     20_000,
		Trigger:    8000,
		Foreground: true,
		Clear:      compaction.Clear{Trigger: 4000, Keep: 2},
	}
	s := stage(t, c, m, read)
	s.say("read the book")
	require.Len(t, m.asked, 31)
	require.Empty(t, s.compactions())
	data, err := json.Marshal(m.last().Contents)
	require.NoError(t, err)
	require.Contains(t, string(data), "reads them")
}

// What waits for the session's turn to be cleared is not cleared a second time by runs that follow quickly.
func TestResultsAreClearedOnce(t *testing.T) {
	read, err := tool.New(
		"read",
		"reads",
		func(_ context.Context, _ *tool.Call, _ struct{}) (string, error) {
			return strings.Repeat("word ", 600), nil
		},
	)
	require.NoError(t, err)
	m := &speaker{answer: func(n int, _ *model.Request) (*model.Response, error) {
		if n%2 == 0 {
			return said("done"), nil
		}
		return called(fmt.Sprint("c", n), "read", nil), nil
	}}
	s := stage(t, compaction.Config{Window: 100_000}, m, read)
	for range 8 {
		s.say("go on")
	}

	p, err := compaction.New(compaction.Config{
		Window: 20_000,
		Clear:  compaction.Clear{Trigger: 3000, Keep: 2},
		Log:    slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	inv := &session.Invocation{Key: key, ID: "i", Live: s.live()}
	first, err := p.AfterRun(ctx, inv, plugin.End{})
	require.NoError(t, err)
	require.Len(t, first.Emit, 1)

	// The next run has said more, and ends before the clearing is appended.
	s.say("go on")
	next := &session.Invocation{Key: key, ID: "j", Live: s.live()}
	out, err := p.AfterRun(ctx, next, plugin.End{})
	require.NoError(t, err)
	require.Empty(t, out.Emit, "the first is about to be appended")

	// Once it is appended, what has become old since is cleared.
	next.Live = append(next.Live, first.Emit[0])
	out, err = p.AfterRun(ctx, next, plugin.End{})
	require.NoError(t, err)
	require.Len(t, out.Emit, 1)
}

// Large results that are cleared are artifacts too, as they are in the log: without what a later plugin
// has taken out. Smaller ones are not, and neither is what cannot be saved.
func TestLargeResultsAreArtifacts(t *testing.T) {
	long := tool.Tool{
		Declaration: &genai.FunctionDeclaration{
			Name:                 "read",
			ParametersJsonSchema: map[string]any{"type": "object"},
		},
		Run: func(_ context.Context, c *tool.Call) (map[string]any, error) {
			n := c.Args["words"].(int)
			return map[string]any{
				"text": fmt.Sprintf("SECRET begins %s ends", strings.Repeat("word ", n)),
			}, nil
		},
	}
	redact := &plugin.Plugin{
		Name: "redact",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if len(e.FunctionResponses()) == 0 {
				return plugin.Outcome{}, nil
			}
			changed := e.Clone()
			clean(changed.Content)
			return plugin.Outcome{Replace: changed}, nil
		},
	}
	for _, broken := range []bool{false, true} {
		t.Run(fmt.Sprint("broken store ", broken), func(t *testing.T) {
			files := artifact.NewMemory()
			c := compaction.Config{
				Window:     20_000,
				Foreground: true,
				Artifacts:  files,
				Clear:      compaction.Clear{Trigger: 2000, Keep: 1, Artifacts: 500},
			}
			if broken {
				c.Artifacts = full{files}
			}
			m := &speaker{answer: func(n int, _ *model.Request) (*model.Response, error) {
				if n%2 == 0 {
					return said("done"), nil
				}
				return called(fmt.Sprint("c", n), "read",
					map[string]any{"words": 300 + 600*(n/2%2)}), nil
			}}
			a, err := llm.New(llm.Config{Name: "agent", Model: m, Tools: []*tool.Tool{&long}})
			require.NoError(t, err)
			s := stageAgent(t, c, a, redact)
			for range 8 {
				s.say("go on")
			}
			require.Empty(t, s.compactions())
			names, err := files.List(ctx, key)
			require.NoError(t, err)
			s.say("go on")

			// What is saved is what the log has.
			prompt, err := json.Marshal(m.last().Contents)
			require.NoError(t, err)
			require.Contains(t, string(prompt), "reads them")
			if broken {
				require.Empty(t, names)
				require.NotContains(t, string(prompt), "the artifact")
				require.Contains(t, s.log.String(), "not saved")
				return
			}
			noted := map[string]int64{}
			for _, e := range s.events(session.Selection{}) {
				maps.Copy(noted, e.Actions.ArtifactDelta)
			}
			require.Subset(t, slices.Collect(maps.Keys(noted)), names)
			require.NotEmpty(t, names)
			for _, name := range names {
				require.Zero(t, noted[name], "it is saved once")
				require.Contains(t, string(prompt), "the artifact "+name)
				part, err := files.Load(ctx, key, name, artifact.Latest)
				require.NoError(t, err)
				require.Equal(t, "application/json", part.InlineData.MIMEType)
				var got map[string]string
				require.NoError(t, json.Unmarshal(part.InlineData.Data, &got))
				require.Equal(t, fmt.Sprintf("[gone] begins %s ends", strings.Repeat("word ", 900)),
					got["text"])
			}
		})
	}
}

// What a model has reported of a prompt in which a result was whole does not count the result once it is
// cleared: the view is counted as the model would.
func TestReportsFromBeforeAClearing(t *testing.T) {
	m := &speaker{}
	m.answer = func(n int, req *model.Request) (*model.Response, error) {
		r := said("done")
		if n%2 == 1 {
			r = called(fmt.Sprint("c", n), "read", nil)
		}
		sum := 500 // instruction and tools
		for _, c := range req.Contents {
			sum += meter.Tokens(c)
		}
		r.UsageMetadata = &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: int32(sum)}
		return r, nil
	}
	read := &tool.Tool{
		Declaration: &genai.FunctionDeclaration{
			Name:                 "read",
			ParametersJsonSchema: map[string]any{"type": "object"},
		},
		Run: func(context.Context, *tool.Call) (map[string]any, error) {
			return map[string]any{"text": strings.Repeat("word ", 1000)}, nil
		},
	}
	c := compaction.Config{
		Window:     100_000,
		Foreground: true,
		Clear:      compaction.Clear{Trigger: 4500, Keep: 1},
	}
	s := stage(t, c, m, read)
	for range 12 {
		s.say("go on")
	}
	reported := 0
	most := 0.0
	for _, e := range s.events(session.Selection{}) {
		if e.UsageMetadata != nil {
			reported = max(reported, int(e.UsageMetadata.PromptTokenCount))
		}
		if n, ok := e.CustomMetadata["compaction"].(map[string]any); ok {
			most = max(most, n["before"].(float64))
		}
	}
	require.InEpsilon(t, reported, most, 0.05)
}

// Calls that nobody answers do not fill the prompt, however many there are.
func TestManyOpenCallsLeaveRoom(t *testing.T) {
	var log []*session.Event
	for i := range 600 {
		call := &genai.FunctionCall{
			ID:   fmt.Sprint("c", i),
			Name: "pay",
			Args: map[string]any{"amount": i},
		}
		log = append(log, &session.Event{
			Author:       "agent",
			InvocationID: fmt.Sprint("i", i),
			Content: &genai.Content{
				Role:  genai.RoleModel,
				Parts: []*genai.Part{{FunctionCall: call}},
			},
			LongRunningToolIDs: []string{call.ID},
		})
	}
	pay := &tool.Tool{
		Declaration: &genai.FunctionDeclaration{Name: "pay", ParametersJsonSchema: anyObject},
		LongRunning: true,
		Run:         func(context.Context, *tool.Call) (map[string]any, error) { return nil, nil },
	}
	a, err := llm.New(llm.Config{Name: "agent", Model: echo(10), Tools: []*tool.Tool{pay}})
	require.NoError(t, err)
	s := newScene(t)
	s.sessions = logged(t, log...)
	c := compaction.Config{Window: 2000, Foreground: true, Log: slog.New(s.records)}
	p, err := compaction.New(c)
	require.NoError(t, err)
	s.start(a, p)
	for range 3 {
		events, err := s.run(session.Message("go on"))
		require.NoError(t, err)
		last := events[len(events)-1]
		require.Empty(t, last.ErrorCode, last.ErrorMessage)
	}
}

// full is a store of artifacts in which there is no room.
type full struct{ artifact.Service }

func (full) Save(context.Context, session.Key, string, *genai.Part) (int64, error) {
	return 0, errors.New("no room")
}

// A configuration that saves results needs a place for them.
func TestArtifactsNeedAPlace(t *testing.T) {
	_, err := compaction.New(compaction.Config{Clear: compaction.Clear{Artifacts: 1000}})
	require.ErrorContains(t, err, "Config.Artifacts")
}

// What Config.Keep names stays up to Keep.Tokens. Of the rest, the oldest, the summary has the first
// lines and the positions.
func TestPinsAreBounded(t *testing.T) {
	c := small()
	c.Summary = 200
	c.Keep = compaction.Keep{Authors: []string{"notes"}, Tokens: 60}
	inv := &session.Invocation{Key: key, ID: "now"}
	for i := range 40 {
		e := says(session.User, "", fmt.Sprintf("message %d %s", i, filler(12)))
		if i%4 == 1 {
			e = says("notes", "", fmt.Sprintf("note %d %s", i, filler(18)))
		}
		e.Seq = int64(i) + 1
		e.InvocationID = fmt.Sprint(i)
		inv.Live = append(inv.Live, e)
		inv.Position = e.Seq
	}
	plan, err := c.Preview(ctx, inv, "")
	require.NoError(t, err)
	require.Empty(t, plan.Declined, plan.Why)
	require.Equal(t, 200, plan.Pinned)
	require.Len(t, plan.InFirstLine["tokens"], 7)
	require.Len(t, plan.Stays["pinned"], 3)
	require.Contains(t, plan.Text, "Kept in part")
	require.Contains(t, plan.Text, "26–26 note 25")
}

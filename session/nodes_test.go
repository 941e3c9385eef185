package session_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/session"
)

// toldRun is a node run in the words of testdata/flow/expected-runs.jsonl.
type toldRun struct {
	Invocation string         `json:"invocation,omitempty"`
	Path       string         `json:"path"`
	Status     string         `json:"status"`
	Failures   int            `json:"failures,omitempty"`
	Error      string         `json:"error,omitempty"`
	Answers    map[string]any `json:"answers,omitempty"`
	Waits      []string       `json:"waits,omitempty"`
	Output     any            `json:"output,omitempty"`
	Route      any            `json:"route,omitempty"`
}

func told(runs []*session.NodeRun) []toldRun {
	var list []toldRun
	for _, r := range runs {
		one := toldRun{
			Invocation: r.Invocation,
			Path:       r.Path,
			Status:     string(r.Status()),
			Failures:   r.Failures,
			Output:     r.Output,
			Route:      r.Route,
		}
		if r.Status() == session.Failed {
			one.Error = r.Failure.ErrorCode
		}
		for _, q := range r.Questions {
			if q.Response == nil {
				one.Waits = append(one.Waits, q.Name)
				continue
			}
			if one.Answers == nil {
				one.Answers = map[string]any{}
			}
			one.Answers[q.Name] = q.Answer
		}
		list = append(list, one)
	}
	return list
}

// flowLogs returns the sessions of testdata/flow by their ids.
func flowLogs(t testing.TB) map[string]*session.Recording {
	found := map[string]*session.Recording{}
	names, err := filepath.Glob(filepath.Join("testdata", "flow", "*.jsonl"))
	require.NoError(t, err)
	for _, name := range names {
		if filepath.Base(name) == "expected-runs.jsonl" {
			continue
		}
		f, err := os.Open(name)
		require.NoError(t, err)
		for rec, err := range session.ReadRecordings(name, f) {
			require.NoError(t, err)
			found[rec.Key.ID] = rec
		}
		require.NoError(t, f.Close())
	}
	return found
}

// What the kits write of workflows folds to the runs that they meant.
func TestNodesOfOtherKits(t *testing.T) {
	sessions := flowLogs(t)
	f, err := os.Open(filepath.Join("testdata", "flow", "expected-runs.jsonl"))
	require.NoError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	seen := 0
	for lines.Scan() {
		var want struct {
			Session string
			State   map[string]any
			Runs    []toldRun
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &want))
		rec := sessions[want.Session]
		require.NotNil(t, rec, want.Session)
		seen++
		t.Run(want.Session, func(t *testing.T) {
			require.Equal(t, want.Runs,
				told(session.NewWorkflowRuns(session.Live(rec.Events)).List()))
			require.Equal(t, want.State, session.State(rec.State, rec.Events))
		})
	}
	require.NoError(t, lines.Err())
	require.Equal(t, len(sessions), seen, "every session is expected to be something")
}

// drawnLog draws a log of one workflow's events, and others, with rewinds.
func drawnLog(rt *rapid.T) []*session.Event {
	paths := rapid.SampledFrom([]string{
		"w@i1",
		"w@i1/a@1",
		"w@i1/a@2",
		"w@i1/b@1",
		"w@i1/b@1/c@1",
		"w@i2",
		"w@i2/a@1",
		"w@1/a@1",
		"w@1",
		"old/a",
	})
	branches := rapid.SampledFrom([]string{"", "", "x", "x.y@c1"})
	var log []*session.Event
	for i := range rapid.IntRange(0, 30).Draw(rt, "events") {
		e := &session.Event{
			ID:           fmt.Sprint(i),
			Author:       "w",
			InvocationID: rapid.SampledFrom([]string{"i1", "i2"}).Draw(rt, "invocation"),
			Branch:       branches.Draw(rt, "branch"),
		}
		path := paths.Draw(rt, "path")
		e.NodeInfo = &session.NodeInfo{Path: path}
		switch rapid.IntRange(0, 8).Draw(rt, "kind") {
		case 0:
			e.NodeInfo.Ended = true
			e.Output = rapid.SampledFrom([]any{nil, 0.0, "out"}).Draw(rt, "output")
		case 1:
			e.ErrorCode = "FAILED"
		case 2:
			e.Content = session.Reply("said").Content
		case 3:
			call := &genai.FunctionCall{ID: path + "#q", Name: session.AskTool}
			e.Content = &genai.Content{Parts: []*genai.Part{{FunctionCall: call}}}
			e.LongRunningToolIDs = []string{call.ID}
		case 4:
			e.NodeInfo = nil
			e.Author = session.User
			e.Content = session.Respond(&genai.FunctionCall{ID: path + "#q", Name: session.AskTool},
				map[string]any{"result": "yes"}).Content
		case 5:
			*e = session.Event{
				ID:           e.ID,
				InvocationID: e.InvocationID,
				Author:       session.User,
				Content:      session.Message("go").Content,
			}
		case 6:
			e.Output = "more"
			e.NodeInfo.OutputFor = []string{path, "w@1"}
		case 7:
			e.Actions.Route = "r"
		case 8:
			if len(log) > 0 {
				*e = session.Event{ID: e.ID, Author: "plugin/rewind"}
				e.Actions.Rewind = &session.Rewind{
					To: rapid.Int64Range(0, int64(len(log))).Draw(rt, "to"),
				}
			}
		}
		e.Seq = int64(i) + 1
		log = append(log, e)
	}
	return log
}

// A fold knows positions only: what a rewind leaves folds as the shorter log does, and a fold that takes in one event
// after the other is that of the whole.
func TestNodesFoldByPosition(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		log := drawnLog(rt)
		at := rapid.IntRange(0, len(log)).Draw(rt, "at")
		rewound := append(log[:len(log):len(log)], &session.Event{
			Seq:     int64(len(log)) + 1,
			Actions: session.Actions{Rewind: &session.Rewind{To: int64(at)}},
		})
		require.Equal(rt, session.NewWorkflowRuns(session.Live(log[:at])),
			session.NewWorkflowRuns(session.Live(rewound)))

		live := session.Live(log)
		part := rapid.IntRange(0, len(live)).Draw(rt, "part")
		fold := session.NewWorkflowRuns(live[:part])
		require.Equal(rt, session.NewWorkflowRuns(live[:part]).List(), fold.List())
		for _, e := range live[part:] {
			fold.Add(e)
		}
		require.Equal(rt, session.NewWorkflowRuns(live), fold)

		// What holds for every fold.
		ended := map[string]bool{}
		for _, r := range fold.List() {
			require.False(rt, r.Ended() && r.Status() != session.Completed && r.End.ErrorCode == "")
			if r.Invocation == "" {
				require.Same(rt, r, fold.Run(r.Path))
				require.False(rt, ended[r.Path], "one run has one path")
				ended[r.Path] = true
			}
		}
		for _, w := range fold.Workflows() {
			for _, e := range w.Events {
				require.Contains(rt, live, e)
			}
			require.True(rt, w.Input == nil || w.Input.Seq < w.Events[0].Seq)
		}
	})
}

// FuzzNodes holds the fold to this: no log makes it panic, and the law of the rewind holds for what other programs write.
func FuzzNodes(f *testing.F) {
	for _, rec := range flowLogs(f) {
		var log []byte
		for _, e := range rec.Events {
			log = append(append(log, encode(f, e)...), '\n')
		}
		f.Add(log, len(rec.Events)/2)
	}
	f.Fuzz(func(t *testing.T, data []byte, at int) {
		var log []*session.Event
		for line := range bytes.Lines(data) {
			var e session.Event
			if e.UnmarshalJSON(line) != nil || e.Marker() {
				continue
			}
			e.Seq = int64(len(log)) + 1
			log = append(log, &e)
		}
		fold := new(session.WorkflowRuns)
		for i, e := range log {
			fold.Add(e)
			if i == at {
				require.Equal(t, session.NewWorkflowRuns(log[:i+1]), fold)
			}
		}
		for _, r := range fold.List() {
			require.NotEmpty(t, r.Status())
			require.GreaterOrEqual(t, r.Attempts(), r.Failures)
		}
	})
}

// BenchmarkNodes shows what an ended node costs when a workflow goes on.
func BenchmarkNodes(b *testing.B) {
	for _, ended := range []int{10, 100, 1000, 10_000} {
		log := []*session.Event{
			{Seq: 1, Author: session.User, Content: session.Message("go").Content},
		}
		for i := range ended {
			log = append(
				log,
				&session.Event{Seq: int64(i) + 2, Author: "w", InvocationID: "i1", Output: "out",
					NodeInfo: &session.NodeInfo{Path: fmt.Sprintf("w@i1/n@%d", i+1), Ended: true}},
			)
		}
		b.Run(fmt.Sprint(ended), func(b *testing.B) {
			for b.Loop() {
				session.NewWorkflowRuns(log)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(ended),
				"ns/node")
		})
	}
}

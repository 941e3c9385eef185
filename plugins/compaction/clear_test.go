package compaction_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// Old results become lines in the prompt, without a summary; the latest ones, those of excepted tools and small ones stay.
// The tool recall reads them whole.
func TestOldResultsAreCleared(t *testing.T) {
	type page struct {
		Page int `json:"page"`
	}
	returns := func(name string, words int) *tool.Tool {
		f, err := tool.New(name, "reads", func(_ context.Context, _ *tool.Call, p page) (string, error) {
			return fmt.Sprintf("%s %d begins %s ends", name, p.Page, strings.Repeat("word ", words)), nil
		})
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
	c := compaction.Config{Window: 20_000, Foreground: true, Clear: compaction.Clear{Trigger: 4000, Keep: 2, Except: []string{"policy"}}}
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

// What Config.Keep names stays up to Keep.Tokens. Of the rest, the oldest, the summary has the first lines and the positions.
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
	plan, err := compaction.Draft(ctx, c, inv, "")
	require.NoError(t, err)
	require.Empty(t, plan.Declined, plan.Why)
	require.Equal(t, 200, plan.Pinned)
	require.Len(t, plan.Shortened, 7)
	pinned := 0
	for _, why := range plan.Stays {
		if why == "pinned" {
			pinned++
		}
	}
	require.Equal(t, 3, pinned)
	require.Contains(t, plan.Draft.After, "Kept in part")
	require.Contains(t, plan.Draft.After, "26–26 note 25")
}

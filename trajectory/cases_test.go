package trajectory_test

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/trajectory"
)

// What the functions answer is what gepa-adk's answer ("seed"), or "want" where the doc comments say why not.
func TestCases(t *testing.T) {
	f, err := os.Open("testdata/trajectory-cases.jsonl")
	require.NoError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	n := 0
	for ; lines.Scan(); n++ {
		var c struct {
			Fn, Name    string
			In          json.RawMessage
			Seed, Want  any
			Keys        []string
			Max         *int
			Key         string
			Concatenate bool
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &c))
		var members map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(lines.Bytes(), &members))
		want := c.Seed
		if _, ok := members["want"]; ok {
			want = c.Want
		}
		t.Run(c.Fn+" "+c.Name, func(t *testing.T) {
			keys := c.Keys
			if _, ok := members["keys"]; !ok {
				keys = trajectory.SensitiveKeys()
			}
			limit := trajectory.NoLimit
			if c.Max != nil {
				limit = *c.Max
			}
			switch c.Fn {
			case "redact":
				v := decoded(t, c.In)
				require.Equal(t, want, trajectory.Redact(v, keys))
				require.Equal(t, decoded(t, c.In), v, "the input is not changed")
			case "truncate":
				v := decoded(t, c.In)
				require.Equal(t, want, trajectory.Truncate(v, limit))
				require.Equal(t, decoded(t, c.In), v, "the input is not changed")
			case "redact+truncate":
				require.Equal(t, want,
					trajectory.Truncate(trajectory.Redact(decoded(t, c.In), keys), limit))
			case "finalOutput":
				output := trajectory.FinalOutput
				if c.Concatenate {
					output = trajectory.JoinedOutput
				}
				require.Equal(t, want, output(eventsOf(t, c.In)))
			case "reasoning":
				require.Equal(t, want, orNil(trajectory.Reasoning(eventsOf(t, c.In))))
			case "outputFromState":
				text, ok := trajectory.OutputFromState(decoded(t, c.In).(map[string]any), c.Key)
				require.Equal(t, want != nil, ok)
				if ok {
					require.Equal(t, want, text)
				}
			case "partition":
				got := map[string]any{}
				for agent, events := range trajectory.ByAgent(eventsOf(t, c.In)) {
					texts := []any{}
					for _, e := range events {
						texts = append(texts, e.Text())
					}
					got[agent] = texts
				}
				require.Equal(t, want, got)
			default:
				t.Fatalf("no function %q", c.Fn)
			}
		})
	}
	require.NoError(t, lines.Err())
	require.Equal(t, 53, n)
}

func decoded(t *testing.T, data []byte) any {
	var v any
	require.NoError(t, json.Unmarshal(data, &v))
	return v
}

func eventsOf(t *testing.T, data []byte) []*session.Event {
	var events []*session.Event
	require.NoError(t, json.Unmarshal(data, &events))
	return events
}

func orNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

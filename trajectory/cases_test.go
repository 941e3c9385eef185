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
			Fn, Name   string
			In         json.RawMessage
			Seed, Want any
			Keys       []string
			Max        *int
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
			case "redact", "truncate", "redact+truncate":
				var v any
				require.NoError(t, json.Unmarshal(c.In, &v))
				e := session.Reply("done")
				e.Actions.StateDelta = map[string]any{"v": v}
				x := extract(t, &session.Recording{Events: []*session.Event{e}},
					trajectory.Config{SensitiveKeys: keys, MaxString: limit})
				require.Equal(t, []any{map[string]any{"v": want}}, written(t, x)["state_deltas"])
				require.Equal(t, decoded(t, c.In), v, "the input is not changed")
			case "finalOutput":
				require.Equal(t, want, trajectory.FinalOutput(eventsOf(t, c.In)))
			case "reasoning":
				require.Equal(t, want, orNil(trajectory.Reasoning(eventsOf(t, c.In))))
			default:
				t.Fatalf("no function %q", c.Fn)
			}
		})
	}
	require.NoError(t, lines.Err())
	require.Equal(t, 41, n)
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

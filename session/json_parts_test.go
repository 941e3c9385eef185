package session_test

import (
	stdjson "encoding/json"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// Actions, confirmations, compactions and what is said of nodes are alone what they are in an event, with either package for JSON.
func TestPartsOfAnEventAlone(t *testing.T) {
	raw := map[string]jsontext.Value{"theirs": jsontext.Value(`{"a":1.0}`)}
	compaction := session.Compaction{
		Through: 2,
		Content: genai.NewContentFromText("so far", genai.RoleUser),
		Extra:   raw,
	}
	confirmation := session.Confirmation{
		Hint:    "sure?",
		Payload: stdjson.Number("9007199254740993"),
		Extra:   raw,
	}
	actions := session.Actions{
		StateDelta: map[string]any{
			"n":    stdjson.Number("9007199254740993"),
			"gone": nil,
			"s":    "a<b",
		},
		Compaction:                 &compaction,
		RequestedToolConfirmations: map[string]session.Confirmation{"c": confirmation},
		Extra:                      raw,
	}
	event, err := (&session.Event{Actions: actions}).MarshalJSON()
	require.NoError(t, err)
	var in struct{ Actions stdjson.RawMessage }
	require.NoError(t, stdjson.Unmarshal(event, &in))

	data, err := stdjson.Marshal(actions)
	require.NoError(t, err)
	require.JSONEq(t, string(in.Actions), string(data))
	require.NotContains(t, string(data), "Extra")
	require.Contains(t, string(data), `"theirs":{"a":1.0}`)
	for name, read := range map[string]func(data []byte, v any) error{
		"std":   func(data []byte, v any) error { return stdjson.Unmarshal(data, v) },
		"codec": func(data []byte, v any) error { return json.Unmarshal(data, v) },
	} {
		var again session.Actions
		require.NoError(t, read(data, &again), name)
		require.Equal(t, raw, again.Extra, name)
		require.Equal(t, raw, again.Compaction.Extra, name)
		require.Equal(t, raw, again.RequestedToolConfirmations["c"].Extra, name)
		require.Contains(t, again.StateDelta, "gone", name)
	}
	var again session.Actions
	require.NoError(t, stdjson.Unmarshal(data, &again))
	require.Equal(t, actions, again, "numbers included")

	for _, v := range []any{confirmation, &confirmation, compaction, &compaction, session.NodeInfo{Path: "p", Extra: raw}, &session.NodeInfo{Extra: raw}} {
		data, err := stdjson.Marshal(v)
		require.NoError(t, err)
		require.NotContains(t, string(data), "Extra")
		require.Contains(t, string(data), `"theirs":{"a":1.0}`)
	}
	c := session.Confirmation{Hint: "old", Confirmed: true}
	require.NoError(t, stdjson.Unmarshal([]byte(`{"payload":1,"theirs":[]}`), &c))
	require.Equal(
		t,
		session.Confirmation{
			Payload: 1.0,
			Extra:   map[string]jsontext.Value{"theirs": jsontext.Value("[]")},
		},
		c,
	)
	require.Error(t, stdjson.Unmarshal([]byte(`[]`), &c))
	n := session.NodeInfo{Ended: true}
	require.NoError(t, stdjson.Unmarshal([]byte(`{"path":"p","executionId":"1"}`), &n))
	require.Equal(
		t,
		session.NodeInfo{
			Path:  "p",
			Extra: map[string]jsontext.Value{"executionId": jsontext.Value(`"1"`)},
		},
		n,
	)
	m := session.Compaction{Keep: []int64{1}}
	require.NoError(t, stdjson.Unmarshal([]byte(`{"through":3,"startTimestamp":1.5}`), &m))
	require.Equal(
		t,
		session.Compaction{
			Through: 3,
			Extra:   map[string]jsontext.Value{"startTimestamp": jsontext.Value("1.5")},
		},
		m,
	)
}

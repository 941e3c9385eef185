package remote

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

// many returns an event in JSON with n parts.
func many(n int) []byte {
	return []byte(`{"content":{"parts":[` + strings.Repeat("{},", n-1) + `{}]}}`)
}

// A message with too many fields is not decoded; if it is an answer, that fails and nothing else.
func TestMessagesWithTooManyFields(t *testing.T) {
	none := make([]string, maxValues+1)
	for _, m := range []*wire.PluginMessage{
		{Seq: 7, Message: &wire.PluginMessage_Failure{Failure: &wire.Failure{Error: &wire.Error{Kinds: none}}}},
		{Seq: 7, Message: &wire.PluginMessage_Outcome{Outcome: &wire.Outcome{Emit: make([][]byte, len(none))}}},
	} {
		data, err := proto.Marshal(m)
		require.NoError(t, err)
		got := new(wire.PluginMessage)
		require.NoError(t, unmarshal(data, got))
		require.EqualValues(t, 7, got.Seq)
		_, _, err = decodeAnswer(got, args{hook: plugin.OnEvent}, Secrets{})
		require.ErrorIs(t, err, ErrTooLarge)
	}
	for _, m := range []proto.Message{
		&wire.Subscription{Filter: &wire.Filter{Has: none}},
		&wire.Subscription{Hooks: make([]wire.Hook, len(none))},
	} {
		data, err := proto.Marshal(m)
		require.NoError(t, err)
		require.ErrorIs(t, unmarshal(data, new(wire.Subscription)), ErrTooLarge)
	}
	large := &wire.PluginMessage{Seq: 7, Message: &wire.PluginMessage_Outcome{Outcome: &wire.Outcome{Reason: strings.Repeat("x", 1<<20)}}}
	data, err := proto.Marshal(large)
	require.NoError(t, err)
	got := new(wire.PluginMessage)
	require.NoError(t, unmarshal(data, got))
	require.True(t, proto.Equal(large, got), "bytes alone are not too many")
}

// What is too much is everywhere counted that JSON is in an answer.
func TestAnswersWithTooManyValues(t *testing.T) {
	parts, list := many(maxValues), []byte(`{"tools":[`+strings.Repeat("{},", maxValues)+`{}]}`)
	emits, half := make([][]byte, maxValues/perEvent), many(maxValues/2)
	for i := range emits {
		emits[i] = []byte(`{}`)
	}
	for name, o := range map[string]*wire.Outcome{
		"replace":  {Replace: parts},
		"emit":     {Emit: [][]byte{half, half}},
		"events":   {Emit: emits},
		"config":   {Request: &wire.ModelRequest{Config: list}},
		"contents": {Request: &wire.ModelRequest{Contents: [][]byte{half, half}}},
	} {
		t.Run(name, func(t *testing.T) {
			a := args{hook: plugin.OnEvent, event: session.Reply("small")}
			if o.Request != nil {
				a = args{hook: plugin.BeforeModel, request: &model.Request{}}
			}
			_, _, err := decodeAnswer(&wire.PluginMessage{Message: &wire.PluginMessage_Outcome{Outcome: o}}, a, Secrets{})
			require.ErrorIs(t, err, ErrTooLarge)
		})
	}
	t.Run("an event that has as many itself", func(t *testing.T) {
		e, err := decodeEvent(parts)
		require.NoError(t, err)
		answer := &wire.PluginMessage{Message: &wire.PluginMessage_Outcome{Outcome: &wire.Outcome{Replace: parts}}}
		out, _, err := decodeAnswer(answer, args{hook: plugin.OnEvent, event: e}, Secrets{})
		require.NoError(t, err)
		require.Len(t, out.Replace.Content.Parts, maxValues)
	})
}

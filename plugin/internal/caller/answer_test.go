package caller

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

// many returns an event in JSON with n parts.
func many(n int) []byte {
	return []byte(`{"content":{"parts":[` + strings.Repeat("{},", n-1) + `{}]}}`)
}

// A message with too many fields is not decoded; if it is an answer, that fails and nothing else.
func TestMessagesWithTooManyFields(t *testing.T) {
	none := make([]string, message.MaxValues+1)
	for _, m := range []*wire.PluginMessage{
		{Seq: 7, Message: &wire.PluginMessage_Failure{Failure: &wire.Failure{Error: &wire.Error{Kinds: none}}}},
		{Seq: 7, Message: &wire.PluginMessage_Outcome{Outcome: &wire.Outcome{Emit: make([][]byte, len(none))}}},
	} {
		data, err := proto.Marshal(m)
		require.NoError(t, err)
		got := new(wire.PluginMessage)
		require.NoError(t, message.Unmarshal(data, got))
		require.EqualValues(t, 7, got.Seq)
		_, _, err = DecodeAnswer(got, plugin.Args{Hook: plugin.OnEvent}, message.Secrets{})
		require.ErrorIs(t, err, message.ErrTooLarge)
	}
	for _, m := range []proto.Message{
		&wire.Subscription{Filter: &wire.Filter{Has: none}},
		&wire.Subscription{Hooks: make([]wire.Hook, len(none))},
	} {
		data, err := proto.Marshal(m)
		require.NoError(t, err)
		require.ErrorIs(t, message.Unmarshal(data, new(wire.Subscription)), message.ErrTooLarge)
	}
	large := &wire.PluginMessage{
		Seq: 7,
		Message: &wire.PluginMessage_Outcome{
			Outcome: &wire.Outcome{Reason: strings.Repeat("x", 1<<20)},
		},
	}
	data, err := proto.Marshal(large)
	require.NoError(t, err)
	got := new(wire.PluginMessage)
	require.NoError(t, message.Unmarshal(data, got))
	require.True(t, proto.Equal(large, got), "bytes alone are not too many")
}

// What is too much is everywhere counted that JSON is in an answer.
func TestAnswersWithTooManyValues(t *testing.T) {
	parts, list := many(message.MaxValues), []byte(`{"tools":[`+strings.Repeat("{},", message.MaxValues)+`{}]}`)
	emits, half := make([][]byte, message.MaxValues/message.PerEvent), many(message.MaxValues/2)
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
			a := plugin.Args{Hook: plugin.OnEvent, Event: session.Reply("small")}
			if o.Request != nil {
				a = plugin.Args{Hook: plugin.BeforeModel, Request: &model.Request{}}
			}
			_, _, err := DecodeAnswer(
				&wire.PluginMessage{Message: &wire.PluginMessage_Outcome{Outcome: o}}, a,
				message.Secrets{})
			require.ErrorIs(t, err, message.ErrTooLarge)
		})
	}
	t.Run("an event that has as many itself", func(t *testing.T) {
		e, err := message.DecodeEvent(parts)
		require.NoError(t, err)
		answer := &wire.PluginMessage{
			Message: &wire.PluginMessage_Outcome{Outcome: &wire.Outcome{Replace: parts}},
		}
		out, _, err := DecodeAnswer(answer, plugin.Args{Hook: plugin.OnEvent, Event: e},
			message.Secrets{})
		require.NoError(t, err)
		require.Len(t, out.Replace.Content.Parts, message.MaxValues)
	})
}

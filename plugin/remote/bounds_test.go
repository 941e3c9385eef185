package remote

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

// many returns an event in JSON with n parts.
func many(n int) []byte {
	return []byte(`{"content":{"parts":[` + strings.Repeat("{},", n-1) + `{}]}}`)
}

func anyJSON(depth int) *rapid.Generator[any] {
	texts := rapid.Map(rapid.SliceOf(rapid.SampledFrom([]string{`"`, `\`, `,`, `[`, `{`, `é`, "x"})), func(s []string) any { return strings.Join(s, "") })
	scalars := rapid.OneOf(texts, rapid.Just[any](nil), rapid.Just[any](true), rapid.Just[any](1.5))
	if depth == 0 {
		return scalars
	}
	below := anyJSON(depth - 1)
	return rapid.OneOf(scalars, rapid.Map(rapid.SliceOf(below), func(l []any) any { return l }),
		rapid.Map(rapid.MapOf(rapid.Map(texts, func(v any) string { return v.(string) }), below), func(m map[string]any) any { return m }))
}

func count(v any) int {
	n := 1
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			n += count(x)
		}
	case map[string]any:
		for _, x := range v {
			n += count(x)
		}
	}
	return n
}

// What is counted before it is decoded is what there is: never less, and no more than twice as much.
func TestValuesAreCounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyJSON(4).Draw(t, "value")
		data, err := json.Marshal(v)
		require.NoError(t, err)
		require.GreaterOrEqual(t, values(data), count(v))
		require.LessOrEqual(t, values(data), 2*count(v))
	})
	for _, broken := range []string{``, `"`, `"\`, `"\"`, `[[[`, `{"a`} {
		require.LessOrEqual(t, values([]byte(broken)), 1+len(broken))
	}
}

func FuzzFields(f *testing.F) {
	f.Add([]byte{8, 1, 18, 2, 10, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		m := new(wire.PluginMessage)
		n := fields(data, m.ProtoReflect().Descriptor())
		require.LessOrEqual(t, n, 1+4*len(data))
		if proto.Unmarshal(data, m) == nil {
			require.Equal(t, m.Seq, lastSeq(data))
			require.GreaterOrEqual(t, n, len(m.GetOutcome().GetEmit())+len(m.GetFailure().GetError().GetKinds()))
		}
	})
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
		_, _, err = decodeAnswer(got, args{hook: plugin.OnEvent}, strings.NewReplacer())
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
			_, _, err := decodeAnswer(&wire.PluginMessage{Message: &wire.PluginMessage_Outcome{Outcome: o}}, a, strings.NewReplacer())
			require.ErrorIs(t, err, ErrTooLarge)
		})
	}
	t.Run("an event that has as many itself", func(t *testing.T) {
		e, err := decodeEvent(parts)
		require.NoError(t, err)
		answer := &wire.PluginMessage{Message: &wire.PluginMessage_Outcome{Outcome: &wire.Outcome{Replace: parts}}}
		out, _, err := decodeAnswer(answer, args{hook: plugin.OnEvent, event: e}, strings.NewReplacer())
		require.NoError(t, err)
		require.Len(t, out.Replace.Content.Parts, maxValues)
	})
}

// An answer that is there in time, and decoded only later, is late, and changes nothing.
func TestAnAnswerThatIsDecodedLate(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	c := newConn(nowhere{ctx}, defaultMaxMessage, func(*wire.Log) {})
	defer c.all.Wait()
	defer c.end(io.EOF)
	defer cancel(nil)
	answer := &wire.PluginMessage{Message: &wire.PluginMessage_Outcome{Outcome: &wire.Outcome{Request: &wire.ModelRequest{Model: "another"}}}}
	a := args{hook: plugin.BeforeModel, request: &model.Request{Model: "asked", Contents: []*genai.Content{}}}
	_, err := c.take(ctx, answer, a)
	require.NoError(t, err)
	require.Equal(t, "another", a.request.Model)
	a.request.Model = "asked"
	cancel(plugin.ErrTimeout)
	_, err = c.take(ctx, answer, a)
	require.ErrorIs(t, err, plugin.ErrTimeout)
	require.Equal(t, "asked", a.request.Model)
}

// nowhere is a stream on which nothing comes.
type nowhere struct{ ctx context.Context }

func (nowhere) Send(*wire.HostMessage) error { return nil }
func (n nowhere) Recv() (*wire.PluginMessage, error) {
	<-n.ctx.Done()
	return nil, errors.New("over")
}

package message

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugin/remote/wire"
)

func anyJSON(depth int) *rapid.Generator[any] {
	texts := rapid.Map(
		rapid.SliceOf(rapid.SampledFrom([]string{`"`, `\`, `,`, `[`, `{`, `é`, "x"})),
		func(s []string) any { return strings.Join(s, "") })
	scalars := rapid.OneOf(texts, rapid.Just[any](nil), rapid.Just[any](true), rapid.Just[any](1.5))
	if depth == 0 {
		return scalars
	}
	below := anyJSON(depth - 1)
	return rapid.OneOf(
		scalars,
		rapid.Map(rapid.SliceOf(below), func(l []any) any { return l }),
		rapid.Map(rapid.MapOf(rapid.Map(texts, func(v any) string { return v.(string) }), below),
			func(m map[string]any) any { return m }),
	)
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

// What is counted before it is decoded is what there is: never less, and no more than twice as
// much.
func TestValuesAreCounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyJSON(4).Draw(t, "value")
		data, err := json.Marshal(v)
		require.NoError(t, err)
		require.GreaterOrEqual(t, Values(data), count(v))
		require.LessOrEqual(t, Values(data), 2*count(v))
	})
	for _, broken := range []string{``, `"`, `"\`, `"\"`, `[[[`, `{"a`} {
		require.LessOrEqual(t, Values([]byte(broken)), 1+len(broken))
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
			require.GreaterOrEqual(t, n,
				len(m.GetOutcome().GetEmit())+len(m.GetFailure().GetError().GetKinds()))
		}
	})
}

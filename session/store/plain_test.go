package store_test

import (
	"encoding/json"
	"maps"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// A free value is, as it is stored, what an event has that was written and read: whether it is copied or encoded. It
// shares no map and no list with the value that was given.
func TestValueAsStored(t *testing.T) {
	leaf := rapid.SampledFrom([]any{nil, true, "", "text", "<ü>\u2028", "\xff", 0.0, math.Copysign(0, -1), 1.5, 1e300, 7,
		int64(1) << 60, float64(1 << 53), []string{"a"}, map[string]any(nil), []any(nil), json.Number("12")})
	key := rapid.SampledFrom([]string{"a", "b", "", "\xff"})
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		if depth == 0 {
			return leaf
		}
		below := value(depth - 1)
		return rapid.OneOf(leaf, rapid.MapOfN(key, below, 0, 3).AsAny(), rapid.SliceOfN(below, 0, 3).AsAny())
	}
	rapid.Check(t, func(rt *rapid.T) {
		given := map[string]any{"v": value(3).Draw(rt, "value")}
		e := &session.Event{ID: "e"}
		e.Actions.StateDelta = maps.Clone(given)
		data, err := json.Marshal(e)
		if err != nil { // two keys are the same in UTF-8
			rt.Skip(err)
		}
		read, err := session.DecodeEvent(data)
		require.NoError(rt, err)
		stored := store.AsStored(given)
		require.Equal(rt, read.Actions.StateDelta, stored)
		if list, ok := given["v"].([]any); ok && len(list) > 0 {
			list[0] = "changed"
			require.Equal(rt, read.Actions.StateDelta, stored)
		}
		if object, ok := given["v"].(map[string]any); ok && object != nil {
			object["changed"] = true
			require.Equal(rt, read.Actions.StateDelta, stored)
		}
	})
	circle := map[string]any{}
	circle["self"] = circle
	require.NotPanics(t, func() { store.ValueAsStored(circle) })
}

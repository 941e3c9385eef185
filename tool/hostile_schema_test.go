package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/tool"
)

// soon is how long anything may take here, on a slow machine and with the race detector.
const soon = 2 * time.Minute

// within fails the test if f takes too long, and does not wait for it then.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	start := time.Now()
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
		t.Logf("%s: %v", what, time.Since(start).Round(time.Millisecond))
	case <-time.After(soon):
		require.FailNow(t, "it takes too long", what)
	}
}

// doubling is a schema of n definitions that each refer twice to the next.
func doubling(n int) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","allOf":[{"$ref":"#/$defs/a0"}],"$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]},`, i, i+1,
			i+1)
	}
	fmt.Fprintf(&b, `"a%d":{}}}`, n)
	return b.String()
}

// nested is a schema of schemas in each other, of which each has a long name.
func nested(levels, name int) string {
	schema := `{"type":"object"}`
	for range levels {
		schema = `{"type":"object","properties":{"` + strings.Repeat("n",
			name) + `":` + schema + `}}`
	}
	return schema
}

func TestHostileSchemasAreRefused(t *testing.T) {
	chain := `{"type":"object","$ref":"#/$defs/c0","$defs":{`
	for i := range 300 {
		chain += fmt.Sprintf(`"c%d":{"$ref":"#/$defs/c%d"},`, i, i+1)
	}
	chain += `"c300":{}}}`
	for name, c := range map[string]struct{ schema, want string }{
		"fan-out, 60":         {doubling(60), "more than the 1000000 steps"},
		"fan-out, 40":         {doubling(40), "more than the 1000000 steps"},
		"depth":               {nested(480, 1000), "more than 100 other schemas"},
		"depth and bytes":     {nested(480, 5000), "at most 1048576 are allowed"},
		"many":                {`{"type":"object","anyOf":[` + strings.Repeat(`{},`, 100_000) + `{}]}`, "more than 5000 schemas"},
		"a chain":             {chain, "more than 200 schemas"},
		"a pattern":           {`{"type":"object","properties":{"a":{"pattern":"(abcdefghijklmnopqrst){1,1000}"}}}`, "instructions"},
		"a pattern of names":  {`{"type":"object","patternProperties":{"(abcdefghijklmnopqrst){1,1000}":{}}}`, "instructions"},
		"patterns":            {`{"type":"object","anyOf":[` + strings.Repeat(`{"pattern":"(abcdefghi){1,1000}"},`, 100) + `{}]}`, "instructions"},
		"case hides no cycle": {`{"type":"object","$REF":"#","ALLOF":[{"$Ref":"#"}]}`, ""},
	} {
		within(t, name, func() {
			check, err := declare("f", c.schema).Check()
			if c.want != "" {
				require.ErrorContains(t, err, c.want, name)
				require.Less(t, len(err.Error()), 1000)
				return
			}
			require.NoError(t, err, name)
			require.NoError(t, check(t.Context(), map[string]any{"a": 1}))
		})
	}
}

// What the bounds allow is checked in a bounded time, whatever the schema and the value.
func TestChecksThatTakeLongAreRefused(t *testing.T) {
	deep := func(depth int, name string) map[string]any {
		value := map[string]any{}
		for range depth {
			value = map[string]any{name: value}
		}
		return value
	}
	numbers := func(n int) []any {
		list := make([]any, n)
		for i := range list {
			list[i] = float64(i)
		}
		return list
	}
	alternatives := func(n int, schema string) string {
		return strings.TrimSuffix(strings.Repeat(schema+",", n), ",")
	}
	enum, err := json.Marshal(numbers(100_000))
	require.NoError(t, err)
	for name, c := range map[string]struct {
		schema string
		args   map[string]any
		slow   bool // it is refused for its steps
	}{
		"twice each level":   {`{"type":"object","allOf":[{"properties":{"x":{"$ref":"#"}}},{"properties":{"x":{"$ref":"#"}}}]}`, deep(60, "x"), true},
		"twice each pattern": {`{"type":"object","patternProperties":{"x":{"$ref":"#"},"^x":{"$ref":"#"}}}`, deep(60, "x"), true},
		"many alternatives":  {`{"type":"object","properties":{"x":{"anyOf":[` + alternatives(4000, `{"type":"string"}`) + `]}}}`, map[string]any{"x": numbers(100_000)}, true},
		"a long text":        {`{"type":"object","properties":{"x":{"anyOf":[` + alternatives(4000, `{"maxLength":1}`) + `]}}}`, map[string]any{"x": strings.Repeat("a", 1<<20)}, true},
		"a slow pattern":     {`{"type":"object","properties":{"x":{"pattern":"(x?y?z?){1000}$"}}}`, map[string]any{"x": strings.Repeat("xyz", 1<<20)}, true},
		"a text that fits":   {`{"type":"object","properties":{"x":{"allOf":[` + alternatives(4000, `{"minLength":1}`) + `]}}}`, map[string]any{"x": strings.Repeat("é", 1<<19)}, true},
		"unique texts":       {`{"type":"object","properties":{"x":{"allOf":[` + alternatives(4000, `{"uniqueItems":true}`) + `]}}}`, map[string]any{"x": []any{strings.Repeat("a", 1<<20), "b"}}, true},
		"many unique items":  {`{"type":"object","properties":{"x":{"uniqueItems":true}}}`, map[string]any{"x": numbers(300_000)}, true},
		"fractions":          {`{"type":"object","properties":{"x":{"items":{"allOf":[` + alternatives(4000, `{"multipleOf":5e-324}`) + `]}}}}`, map[string]any{"x": []any{1e308, 1e307, 1e306, 1e305, 1e304, 1e303, 1e302, 1e301, 1e300}}, true},
		"a large enum":       {`{"type":"object","additionalProperties":{"items":{"enum":` + string(enum) + `}}}`, map[string]any{"x": numbers(1000)}, true},
		"a number":           {`{"type":"object","properties":{"x":{"enum":[1,2,3]}}}`, map[string]any{"x": json.Number("1e999999")}, false},
		"unique items":       {`{"type":"object","properties":{"x":{"uniqueItems":true,"contains":{"const":"no"}}}}`, map[string]any{"x": numbers(5_000)}, false},
		"a deep value":       {`{"type":"object","properties":{"x":{"$ref":"#"},"y":{"type":"string"}}}`, deep(300, "x"), false},
		"a long name":        {`{"type":"object","properties":{"x":{"$ref":"#"},"y":{"type":"string"}}}`, deep(300, strings.Repeat("y", 1000)), false},
		"wide":               {`{"type":"object","oneOf":[` + alternatives(1000, `{"allOf":[{"not":{}},{}]}`) + `]}`, map[string]any{"x": "y"}, false},
		"many bad items":     {`{"type":"object","properties":{"x":{"items":{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}}}}`, map[string]any{"x": bad(2000)}, false},
	} {
		check, err := declare("f", c.schema).Check()
		require.NoError(t, err, name)
		within(t, name, func() {
			err := check(t.Context(), c.args)
			if c.slow {
				require.ErrorContains(t, err, "more than the 1000000 steps that are allowed", name)
			} else if err != nil {
				require.NotContains(t, err.Error(), "steps", name)
				require.Less(t, len(err.Error()), 10_000, name)
			}
		})
	}
}

// bad returns items that do not fit.
func bad(n int) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = map[string]any{"a": float64(i), "b": "some text that is a little longer"}
	}
	return list
}

// The memory for a schema with long names is bounded.
func TestLongNamesTakeLittleMemory(t *testing.T) {
	schema := nested(95, 10_000)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	check, err := declare("f", schema).Check()
	require.NoError(t, err)
	runtime.ReadMemStats(&after)
	allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
	t.Logf("%d MiB were allocated for a schema of %d KiB", allocated, len(schema)>>10)
	require.Less(t, allocated, uint64(300), "MiB")
	require.NoError(t, check(t.Context(), map[string]any{}))
}

// Arguments that do not fit are explained without compiling the schema for each value in them.
func TestLargeArgumentsAreExplained(t *testing.T) {
	properties := make([]string, 300)
	for i := range properties {
		properties[i] = fmt.Sprintf(
			`"p%d":{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`,
			i,
		)
	}
	check, err := declare(
		"f",
		`{"type":"object","properties":{"x":{"items":{"$ref":"#/$defs/i"}}},"$defs":{"i":{"type":"object","properties":{`+strings.Join(
			properties, ",")+`}}}}`,
	).Check()
	require.NoError(t, err)
	items := make([]any, 1500) // about 78 KB
	for i := range items {
		items[i] = map[string]any{
			fmt.Sprintf("p%d", i%300): map[string]any{"a": "a text of some length"},
		}
	}
	items[1400] = map[string]any{"p1": map[string]any{"a": float64(1)}}
	within(t, "78 KB", func() {
		require.EqualError(t, check(t.Context(), map[string]any{"x": items}),
			"the arguments do not fit: /x/*/p1/a: fits none of the alternatives")
	})
}

func TestACheckEndsWithItsContext(t *testing.T) {
	check, err := declare("f", `{"type":"object","properties":{"a":{"type":"string"}}}`).Check()
	require.NoError(t, err)
	fits, err := tool.Schema(json.RawMessage(`{"type":"object"}`))
	require.NoError(t, err)
	gone := errors.New("the user has gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	require.Equal(t, gone, check(ctx, map[string]any{"a": "x"}))
	require.Equal(t, gone, fits(ctx, map[string]any{"a": "x"}))

	// Nor does the caller wait for a check that has begun.
	items := make([]any, 20_000)
	for i := range items {
		items[i] = float64(i)
	}
	long, err := tool.Schema(
		json.RawMessage(`{"uniqueItems":true,"items":{"type":"number"},"contains":{"const":"no"}}`))
	require.NoError(t, err)
	start := time.Now()
	require.ErrorContains(t, long(t.Context(), items), "contains")
	for after := time.Since(start) / 20; ; after /= 2 { // the first check may have been slow by chance
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(after, func() { cancel(gone) })
		if err := long(ctx, items); err == gone {
			break
		}
		require.NotZero(t, after, "the check is waited for")
	}
}

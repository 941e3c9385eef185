package expression_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/expression"
)

type env struct {
	expression.Meter
	Text  string         `expr:"text"`
	State map[string]any `expr:"state"`
}

func compute(t *testing.T, source, text string) (any, error) {
	t.Helper()
	_, program, err := expression.Compile(source, env{}, expr.AsBool())
	require.NoError(t, err)
	return vm.Run(program, env{
		Meter: expression.NewMeter(),
		Text:  text,
		State: map[string]any{"list": []any{"a", "b"}, "n": 3},
	})
}

func TestConditionsAreComputed(t *testing.T) {
	for source, want := range map[string]bool{
		`replace(text, " ", "") matches "^4[0-9]+$"`:             true,
		`any(split(text, " "), # == "11")`:                       true,
		`join(map(split(text, " "), # + "!"), "-") == "41!-11!"`: true,
		`join(state.list, ",") == "a,b"`:                         true,
		`replace(text, "1", "2", 1) == "42 11"`:                  true,
		`len(filter(split(text, ""), # == "1")) == 3`:            true,
		`(state?.n ?? 0) > 2`:                                    true,
		`let a = text + text; a contains "114"`:                  true,
		`sum(map(split(text, " "), int(#))) > 100`:               false,
	} {
		out, err := compute(t, source, "41 11")
		require.NoError(t, err, source)
		require.Equal(t, want, out, source)
	}
}

// Whatever a text is, a condition about it does not take the machine.
func TestAComputationHasABudget(t *testing.T) {
	text := strings.Repeat("a", 100_000)
	for _, source := range []string{
		`len(map(split(text, ""), split(text, ""))) > 0`,
		`any(split(text, ""), any(split(text, ""), any(split(text, ""), # == "b")))`,
		`replace(text, "a", text) == ""`,
		`join(split(text, ""), text) == ""`,
		`let a = text+text+text+text; let b = a+a+a+a; let c = b+b+b+b; let d = c+c+c+c; let e = d+d+d+d; e+e+e == ""`,
		`reduce(split(text, ""), #acc + text, "") == ""`,
		`any(split(text, ""), text contains "ab" or lower(text) == "b")`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := compute(t, source, text)
		require.ErrorIs(t, err, expression.ErrBudget, source)
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<30), source)
	}
	for _, source := range []string{`repeat(text, 9) == ""`, `uniq(split(text, "")) == []`} {
		_, _, err := expression.Compile(source, env{}, expr.AsBool())
		require.Error(t, err, source)
	}
}

// What an expression reads of the state is known before it is computed.
func TestKeys(t *testing.T) {
	for source, keys := range map[string]string{
		`state.city == "Paris"`:                               "[city]",
		`state?.city?.name == state["user:tenant"]`:           "[city user:tenant]",
		`"paid" in state && tool == "pay"`:                    "[paid]",
		`any(keys(state), # startsWith "x")`:                  "[*]",
		`state[tool] == 1`:                                    "[*]",
		`$env["state"].city == 1`:                             "[*]",
		`tool == "state"`:                                     "[]",
		`(state.city ?? "") matches "x" and len(state.a) > 0`: "[a city]",
	} {
		env := struct {
			expression.Meter
			State map[string]any `expr:"state"`
			Tool  string         `expr:"tool"`
		}{}
		checked, _, err := expression.Compile(source, env)
		require.NoError(t, err, source)
		require.Equal(t, keys, fmt.Sprint(expression.Keys(checked.Node(), "state")), source)
	}
}

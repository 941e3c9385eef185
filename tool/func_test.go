package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"net/netip"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

type unit string

func (unit) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Enum: []any{"celsius", "fahrenheit"}}
}

type place struct {
	Name string   `json:"name"`
	Tags []string `json:"tags"`
}

type base struct {
	ID int `json:"id"`
}

type query struct {
	base
	Place  place                 `json:"place" jsonschema:"where to look"`
	Unit   unit                  `json:"unit"`
	Other  *unit                 `json:"other"`
	Limit  *int                  `json:"limit" jsonschema:"how many"`
	More   *place                `json:"more"`
	Raw    *json.RawMessage      `json:"raw"`
	From   time.Time             `json:"from"`
	Addr   netip.Addr            `json:"addr"`
	Data   []byte                `json:"data"`
	Scores map[string]float64    `json:"scores"`
	Small  uint8                 `json:"small,omitempty"`
	Any    any                   `json:"any,omitempty"`
	Anys   map[string][]any      `json:"anys,omitempty"`
	Pair   [2]bool               `json:"pair,omitempty"`
	Big    *big.Int              `json:"big,omitempty"`
	Places map[netip.Addr]*place `json:"places,omitempty"`
	Hidden string                `json:"-"`
	secret string
}

func must[In, Out any](
	t testing.TB,
	f func(context.Context, *tool.Call, In) (Out, error),
) *tool.Tool {
	made, err := tool.New("f", "does it", f)
	require.NoError(t, err)
	return made
}

// The schema is what a provider gets: no null, no true, the order of the fields.
func TestParametersOfAStruct(t *testing.T) {
	made := must(t,
		func(context.Context, *tool.Call, query) (string, error) { return query{}.secret, nil })
	data, err := json.Marshal(made.Declaration.ParametersJsonSchema)
	require.NoError(t, err)
	require.Equal(t, `{"type":"object","properties":{"id":{"type":"integer"},`+
		`"place":{"type":"object","properties":{"name":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}}},"description":"where to look","required":["name","tags"],"additionalProperties":false},`+
		`"unit":{"type":"string","enum":["celsius","fahrenheit"]},"other":{"type":"string","enum":["celsius","fahrenheit"]},`+
		`"limit":{"type":"integer","description":"how many"},`+
		`"more":{"type":"object","properties":{"name":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}}},"required":["name","tags"],"additionalProperties":false},`+
		`"raw":{"description":"any JSON value"},`+
		`"from":{"type":"string","format":"date-time"},"addr":{"type":"string"},"data":{"type":"string","description":"base64"},`+
		`"scores":{"type":"object","additionalProperties":{"type":"number"}},"small":{"type":"integer","minimum":0,"maximum":255},`+
		`"any":{"description":"any JSON value"},"anys":{"type":"object","additionalProperties":{"type":"array","items":{"description":"any JSON value"}}},`+
		`"pair":{"type":"array","items":{"type":"boolean"},"minItems":2,"maxItems":2},"big":{"type":"string"},`+
		`"places":{"type":"object","additionalProperties":{"type":"object","properties":{"name":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}}},"required":["name","tags"],"additionalProperties":false}}},`+
		`"required":["id","place","unit","from","addr","data","scores"],"additionalProperties":false}`, string(data))

	none := must(t, func(context.Context, *tool.Call, *struct{}) (string, error) { return "", nil })
	require.Nil(t, none.Declaration.ParametersJsonSchema)
	require.Equal(t, "f", none.Name())
	require.Equal(t, "does it", none.Declaration.Description)
}

type own struct{ N int }

func (*own) UnmarshalJSON([]byte) error { return nil }

type noSchema string

func (noSchema) JSONSchema() *jsonschema.Schema { return nil }

func try[In any](name string) error {
	_, err := tool.New(name, "",
		func(context.Context, *tool.Call, In) (string, error) { return "", nil })
	return err
}

type ID int

type node struct{ Next []node }

func TestParametersThatJSONReadsOtherwise(t *testing.T) {
	require.ErrorContains(t, try[string]("f"),
		"tool f: parameters: they are of type string; a model passes arguments by name")
	require.ErrorContains(t, try[map[string]any]("f"), "so use a struct")
	require.ErrorContains(t, try[own]("f"), "decodes JSON with a method of its own")
	require.ErrorContains(t, try[struct{ F func() }]("f"), "tool f: parameters: ")
	require.ErrorContains(t, try[struct{ E error }]("f"), "error is an interface")
	require.ErrorContains(t, try[struct{ N noSchema }]("f"), "returns nil")
	require.ErrorContains(t, try[node]("f"), "cycle")
	require.ErrorContains(t, try[struct {
		place `json:"place"`
	}]("f"), "give the field a name")
	require.ErrorContains(t, try[struct{ ID }]("f"), "give the field a name")
	require.ErrorContains(t, try[struct{}]("has space"), `tool "has space"`)
}

// What encoding/json writes of a value fits the schema of its type, and arrives as it was.
func TestArgumentsArrive(t *testing.T) {
	var got query
	made := must(t,
		func(_ context.Context, _ *tool.Call, in query) (query, error) { got = in; return in, nil })
	check, err := made.Check()
	require.NoError(t, err)
	text := rapid.StringMatching(`[a-zé"\\/ ]{0,8}`)
	drawPlace := func(t *rapid.T) place {
		return place{
			Name: text.Draw(t, "name"),
			Tags: append([]string{}, rapid.SliceOfN(text, 0, 3).Draw(t, "tags")...),
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		// Up to 2^53, as numbers come from a model.
		q := query{
			base:  base{ID: int(rapid.Int64Range(-1<<53, 1<<53).Draw(t, "id"))},
			Place: drawPlace(t),
			Unit:  unit(rapid.SampledFrom([]string{"celsius", "fahrenheit"}).Draw(t, "unit")),
		}
		more, limit, raw, other := drawPlace(t), rapid.IntRange(-9, 9).
			Draw(t, "limit"),
			json.RawMessage(`[1,{"a":null}]`), unit("celsius")
		q.More, q.Limit, q.Raw, q.Other = &more, &limit, &raw, &other
		q.From = time.Unix(rapid.Int64Range(0, math.MaxInt32).Draw(t, "from"), 5).UTC()
		q.Addr = netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "addr")))
		q.Data = append([]byte{}, rapid.SliceOf(rapid.Byte()).Draw(t, "data")...)
		q.Scores = rapid.MapOf(text, rapid.Float64()).Draw(t, "scores")
		q.Small = rapid.Byte().Draw(t, "small")
		q.Any = rapid.SampledFrom([]any{nil, true, "x", 1.5, []any{"y", nil}, map[string]any{"z": 1.0}}).
			Draw(t, "any")
		q.Places = map[netip.Addr]*place{q.Addr: &more}
		data, err := json.Marshal(q)
		require.NoError(t, err)
		var args map[string]any
		require.NoError(t, json.Unmarshal(data, &args))
		require.NoError(t, check(t.Context(), args), string(data))
		response, err := made.Run(context.Background(), &tool.Call{Args: args})
		require.NoError(t, err)
		require.Equal(t, q, got)
		want, err := session.DecodeValue(data)
		require.NoError(t, err)
		require.Equal(t, want, response)
	})
}

func TestNumbers(t *testing.T) {
	type in struct {
		N int64 `json:"n"`
	}
	made := must(t, func(_ context.Context, _ *tool.Call, i in) (in, error) { return i, nil })
	check, err := made.Check()
	require.NoError(t, err)
	for _, c := range []struct {
		arg, want any
		err       string
	}{
		{3.0, 3.0, ""},
		{float64(1 << 53), json.Number("9007199254740992"), ""},
		{json.Number("9007199254740993"), json.Number("9007199254740993"), ""}, // as the log has it
		{1e30, nil, "arguments: "},                                             // fits the schema, and not an int64
	} {
		args := map[string]any{"n": c.arg}
		require.NoError(t, check(t.Context(), args))
		response, err := made.Run(context.Background(), &tool.Call{Args: args})
		if c.err != "" {
			require.ErrorContains(t, err, c.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, map[string]any{"n": c.want}, response)
	}
}

func TestResponses(t *testing.T) {
	type object struct {
		A int `json:"a"`
	}
	for name, c := range map[string]struct {
		out  any
		want map[string]any
	}{
		"object":    {object{A: 1}, map[string]any{"a": 1.0}},
		"pointer":   {&object{A: 1}, map[string]any{"a": 1.0}},
		"map":       {map[string]int{"a": 1}, map[string]any{"a": 1.0}},
		"text":      {"hi", map[string]any{"result": "hi"}},
		"list":      {[]int{1, 2}, map[string]any{"result": []any{1.0, 2.0}}},
		"no items":  {[]int(nil), map[string]any{"result": []any{}}},
		"number":    {7, map[string]any{"result": 7.0}},
		"big":       {int64(math.MaxInt64), map[string]any{"result": json.Number("9223372036854775807")}},
		"bool":      {false, map[string]any{"result": false}},
		"nil":       {nil, nil},
		"nil map":   {map[string]any(nil), nil},
		"nil ptr":   {(*object)(nil), nil},
		"nothing":   {struct{}{}, map[string]any{}},
		"raw":       {json.RawMessage(`{"x":[null]}`), map[string]any{"x": []any{nil}}},
		"marshaler": {time.Unix(0, 0).UTC(), map[string]any{"result": "1970-01-01T00:00:00Z"}},
	} {
		got, err := must(
			t,
			func(context.Context, *tool.Call, struct{}) (any, error) { return c.out, nil },
		).Run(context.Background(), &tool.Call{})
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
	}
	_, err := must(
		t,
		func(context.Context, *tool.Call, struct{}) (any, error) { return func() {}, nil },
	).Run(context.Background(), &tool.Call{})
	require.ErrorContains(t, err, "cannot be written as JSON")
	broken := errors.New("broken")
	_, err = must(
		t,
		func(context.Context, *tool.Call, struct{}) (any, error) { return 1, broken },
	).Run(context.Background(), &tool.Call{})
	require.Equal(t, broken, err)
}

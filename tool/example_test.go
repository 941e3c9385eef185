package tool_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/plughook/plughook/tool"
)

// Unit is an enum: its method says what it can be.
type Unit string

func (Unit) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Enum: []any{"celsius", "fahrenheit"}}
}

// A function becomes a tool: the model reads its parameters from the struct, and arguments that do not
// fit are answered to it.
func ExampleNew() {
	type Query struct {
		City string `json:"city" jsonschema:"the city, in English"`
		Unit Unit   `json:"unit,omitempty"`
	}
	type Weather struct {
		Sky  string  `json:"sky"`
		Temp float64 `json:"temp"`
	}
	weather, err := tool.New(
		"weather",
		"Tells the weather of today.",
		func(_ context.Context, call *tool.Call, q Query) (Weather, error) {
			call.Set("last_city", q.City)
			return Weather{Sky: "clear over " + q.City, Temp: 21.5}, nil
		},
	)
	if err != nil {
		panic(err)
	}
	parameters, _ := json.Marshal(weather.Declaration.ParametersJsonSchema)
	fmt.Println(string(parameters))

	check, err := weather.Check() // as an agent does when it is made
	if err != nil {
		panic(err)
	}
	fmt.Println(check(context.Background(), map[string]any{"town": "Oslo", "unit": "kelvin"}))

	call := &tool.Call{Args: map[string]any{"city": "Oslo"}}
	response, err := weather.Run(context.Background(), call)
	fmt.Println(response, call.Actions.StateDelta, err)
	// Output:
	// {"type":"object","properties":{"city":{"type":"string","description":"the city, in English"},"unit":{"type":"string","enum":["celsius","fahrenheit"]}},"required":["city"],"additionalProperties":false}
	// the arguments do not fit: /unit: must be one of celsius fahrenheit
	// map[sky:clear over Oslo temp:21.5] map[last_city:Oslo] <nil>
}

// Command server has a tool, get_weather, for whoever speaks the Model Context Protocol with it on standard
// input and output. Its weather is made up, and the same every day.
package main

import (
	"context"
	"fmt"
	"log"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type question struct {
	City string `json:"city" jsonschema:"the city, in English"`
}

type weather struct {
	Celsius int    `json:"celsius" jsonschema:"the temperature"`
	Sky     string `json:"sky" jsonschema:"what is to be seen of the sky"`
}

var stations = map[string]weather{
	"berlin":   {17, "cloudy"},
	"lagos":    {31, "sunny"},
	"london":   {14, "rainy"},
	"paris":    {19, "rainy"},
	"tokyo":    {23, "sunny"},
	"valencia": {27, "sunny"},
}

func getWeather(_ context.Context, _ *mcp.CallToolRequest, q question) (*mcp.CallToolResult, weather, error) {
	now, ok := stations[strings.ToLower(strings.TrimSpace(q.City))]
	if !ok { // the model reads it
		return nil, now, fmt.Errorf("there is no station in %q; there are stations in %s", q.City, strings.Join(slices.Sorted(maps.Keys(stations)), ", "))
	}
	return nil, now, nil
}

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "get_weather", Description: "Returns the weather in a city, as it is now."}, getWeather)
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}

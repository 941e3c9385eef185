package mcp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plughook/plughook/tool"
	"github.com/plughook/plughook/tool/mcp"
)

// The tools of a server are tools like any other.
func ExampleOpen() {
	type sum struct {
		A, B int
	}
	server := sdk.NewServer(&sdk.Implementation{Name: "calculator", Version: "1"}, nil)
	sdk.AddTool(
		server,
		&sdk.Tool{Name: "add", Description: "Adds two numbers."},
		func(_ context.Context, _ *sdk.CallToolRequest, s sum) (*sdk.CallToolResult, map[string]int, error) {
			return nil, map[string]int{"sum": s.A + s.B}, nil
		},
	)
	endpoint := httptest.NewServer(
		sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	defer endpoint.Close()

	ctx := context.Background()
	client, err := mcp.Open(ctx, mcp.Config{URL: endpoint.URL, Prefix: "calc_"})
	if err != nil {
		panic(err)
	}
	defer client.Close()
	for _, t := range client.Tools() { // what an agent gets as llm.Config.Tools
		fmt.Println(t.Name(), "-", t.Declaration.Description)
		fmt.Println(t.Run(ctx, &tool.Call{Name: t.Name(), Args: map[string]any{"A": 1, "B": 2}}))
	}
	// Output:
	// calc_add - Adds two numbers.
	// map[sum:3] <nil>
}

//go:build unix

package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/plughook/plughook/tool"
	"github.com/plughook/plughook/tool/mcp"
)

const mode = "PLUGHOOK_MCP_TEST_SERVER"

// The test binary is also the server: a process of its own, in one of these modes.
func TestMain(m *testing.M) {
	switch os.Getenv(mode) {
	case "":
		goleak.VerifyTestMain(m)
	case "serve":
		if err := server().Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	case "exit":
		fmt.Fprintln(os.Stderr, "bad key", os.Getenv("SERVER_KEY"))
		os.Exit(3)
	case "garbage":
		fmt.Println("Hello, I am starting")
		_, _ = bufio.NewReader(os.Stdin).ReadString(0)
	case "silent":
		_, _ = bufio.NewReader(os.Stdin).ReadString(0)
	case "line without an end":
		line := strings.Repeat("x", 1<<20)
		for _, err := fmt.Print(`{"jsonrpc":"2.0","id":1,"result":"`); err == nil; _, err = fmt.Print(line) {
		}
	case "deep":
		fmt.Println(strings.Repeat("[", 4<<20))
		_, _ = bufio.NewReader(os.Stdin).ReadString(0)
	case "deaf",
		"odd",
		"pages",
		"same page",
		"crowd",
		"mute",
		"fan-out",
		"wordy",
		"much",
		"asks",
		"asks and reads":
		handmade()
	case "host": // of a server, until it is killed
		client, err := mcp.Open(context.Background(),
			mcp.Config{Command: os.Args[:1], Env: []string{mode + "=stubborn"}})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, made := range client.Tools() {
			if made.Name() == "pid" {
				r, _ := made.Run(context.Background(), &tool.Call{})
				fmt.Println(r["result"])
			}
		}
		select {}
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		_ = server().Run(context.Background(), &sdk.StdioTransport{})
		select {}
	}
}

// handmade is a server that answers a call with what is no result, reads nothing once its tools are listed,
// or has no end of tools, or of time to list them.
func handmade() {
	if os.Getenv(mode) == "mute" {
		signal.Ignore(syscall.SIGTERM)
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var req struct {
			ID     any    `json:"id"`
			Method string `json:"method"`
		}
		if json.Unmarshal(in.Bytes(), &req) != nil || req.ID == nil {
			continue
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": req.ID}
		switch req.Method {
		case "initialize":
			answer["result"] = map[string]any{
				"protocolVersion": "2025-06-18",
				"capabilities":    map[string]any{"tools": map[string]any{}},
				"serverInfo":      map[string]any{"name": "deaf", "version": "1"},
			}
		case "tools/list":
			write := map[string]any{
				"name":        "write",
				"inputSchema": map[string]any{"type": "object"},
			}
			list := map[string]any{"tools": []any{write}}
			switch os.Getenv(mode) {
			case "pages":
				list["nextCursor"] = fmt.Sprint(req.ID)
			case "same page":
				list["nextCursor"] = "next"
			case "crowd":
				list["tools"] = slices.Repeat([]any{write}, 10_001)
			case "fan-out": // each definition refers twice to the next
				definitions := map[string]any{"a40": true}
				for i := range 40 {
					next := map[string]any{"$ref": fmt.Sprintf("#/$defs/a%d", i+1)}
					definitions[fmt.Sprintf("a%d", i)] = map[string]any{"allOf": []any{next, next}}
				}
				write["inputSchema"] = map[string]any{
					"type":  "object",
					"allOf": []any{map[string]any{"$ref": "#/$defs/a0"}},
					"$defs": definitions,
				}
			case "wordy":
				write["description"] = strings.Repeat("Writes. ", 1<<20)
			case "much":
				many := map[string]any{
					"type": "object",
					"enum": slices.Repeat([]any{[]any{}}, 20_000),
				}
				list["tools"] = slices.Repeat(
					[]any{map[string]any{"name": "write", "inputSchema": many}}, 10)
			case "mute":
				select {}
			}
			answer["result"] = list
		case "tools/call":
			answer["result"] = map[string]any{"content": []any{map[string]any{"type": "hologram"}}}
			switch os.Getenv(mode) {
			case "asks": // and reads no answer
				for i := range 100_000 {
					fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}\n", i)
				}
			case "asks and reads":
				var heard []any
				for _, method := range []string{"ping", "sampling/createMessage"} {
					fmt.Printf(
						"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n",
					)
					fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":\"s\",\"method\":%q,\"params\":{}}\n",
						method)
					in.Scan()
					heard = append(heard, map[string]any{"type": "text", "text": in.Text()})
				}
				answer["result"] = map[string]any{"content": heard}
			}
		default:
			answer["error"] = map[string]any{"code": -32601, "message": "no such method"}
		}
		data, _ := json.Marshal(answer)
		fmt.Println(string(data))
		if req.Method == "tools/list" && os.Getenv(mode) == "deaf" {
			select {}
		}
	}
}

type in struct {
	Text string `json:"text,omitempty"`
}

// server returns a server with a tool for each thing that a tool can do.
func server() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	add := func(name string, f func(context.Context, in) (*sdk.CallToolResult, error)) {
		sdk.AddTool(
			s,
			&sdk.Tool{
				Name:        name,
				Description: "does " + name,
				Annotations: &sdk.ToolAnnotations{ReadOnlyHint: name == "echo"},
			},
			func(ctx context.Context, _ *sdk.CallToolRequest, i in) (*sdk.CallToolResult, any, error) {
				r, err := f(ctx, i)
				return r, nil, err
			},
		)
	}
	text := func(t string) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: t}}}
	}
	add("echo",
		func(_ context.Context, i in) (*sdk.CallToolResult, error) { return text(i.Text), nil })
	add("lines", func(context.Context, in) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{
			Content: []sdk.Content{&sdk.TextContent{Text: "a"}, &sdk.TextContent{Text: "b"}},
		}, nil
	})
	add("nothing", func(context.Context, in) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{}}, nil
	})
	add("env", func(context.Context, in) (*sdk.CallToolResult, error) {
		return text(strings.Join(os.Environ(), "\n")), nil
	})
	add(
		"pid",
		func(context.Context, in) (*sdk.CallToolResult, error) { return text(fmt.Sprint(os.Getpid())), nil },
	)
	add(
		"fail",
		func(_ context.Context, i in) (*sdk.CallToolResult, error) { return nil, errors.New("no: " + i.Text) },
	)
	add("speechless", func(context.Context, in) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{}}, nil
	})
	add("object", func(context.Context, in) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{
			Content:           []sdk.Content{&sdk.TextContent{Text: `{"sky":"blue"}`}},
			StructuredContent: map[string]any{"sky": "blue"},
		}, nil
	})
	add("list", func(context.Context, in) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{}, StructuredContent: []any{1, "x"}}, nil
	})
	add("media", func(_ context.Context, i in) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{
			StructuredContent: map[string]any{"n": 4},
			Content: []sdk.Content{
				&sdk.ImageContent{MIMEType: "image/png", Data: []byte("PNG" + i.Text)},
				&sdk.AudioContent{MIMEType: "audio/x-odd", Data: []byte("odd")},
				&sdk.ResourceLink{URI: "file:///a", Name: "a", MIMEType: "text/plain"},
				&sdk.EmbeddedResource{
					Resource: &sdk.ResourceContents{
						URI:      "file:///b",
						MIMEType: "text/plain",
						Text:     "bee",
					},
				},
				&sdk.EmbeddedResource{
					Resource: &sdk.ResourceContents{
						URI:      "file:///c",
						MIMEType: "application/pdf",
						Blob:     []byte("PDF"),
					},
				},
			},
		}, nil
	})
	add("log", func(_ context.Context, i in) (*sdk.CallToolResult, error) {
		fmt.Fprint(os.Stderr, i.Text)
		return text("written"), nil
	})
	add("die", func(context.Context, in) (*sdk.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "dying")
		os.Exit(7)
		return nil, nil
	})
	add(
		"child",
		func(_ context.Context, i in) (*sdk.CallToolResult, error) { // with standard output open
			cmd := exec.Command("sleep", "1000")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: i.Text == "away"} // from the group
			cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
			err := cmd.Start()
			return text(fmt.Sprint(cmd.Process.Pid)), err
		},
	)
	add("hang", func(ctx context.Context, i in) (*sdk.CallToolResult, error) {
		<-ctx.Done()
		return nil, os.WriteFile(i.Text, []byte("cancelled"), 0o600)
	})
	add("a/b.c", func(context.Context, in) (*sdk.CallToolResult, error) { return text("odd"), nil })
	return s
}

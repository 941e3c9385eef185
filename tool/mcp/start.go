package mcp

import (
	"context"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// shakeHands sets the session and the tools. If it fails, there may be a session all the same.
func (c *Client) shakeHands(made *conn, transport sdk.Transport) error {
	ctx, cancel := context.WithTimeoutCause(c.life, c.config.StartTimeout, fmt.Errorf("it was not ready within %s", c.config.StartTimeout))
	defer cancel()
	client := sdk.NewClient(&sdk.Implementation{Name: "plughook", Version: "1"}, &sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{}})
	var err error
	if made.session, err = client.Connect(ctx, transport, nil); err == nil {
		made.tools, err = list(ctx, made.session)
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return err
}

// list returns the tools of the server.
func list(ctx context.Context, session *sdk.ClientSession) ([]*sdk.Tool, error) {
	var tools []*sdk.Tool
	params := &sdk.ListToolsParams{}
	for range maxPages {
		page, err := session.ListTools(ctx, params)
		if err != nil {
			return nil, err
		}
		tools = append(tools, page.Tools...)
		switch {
		case len(tools) > maxTools:
			return nil, fmt.Errorf("it lists more than %d tools", maxTools)
		case page.NextCursor == "":
			return tools, nil
		}
		params.Cursor = page.NextCursor
	}
	return nil, fmt.Errorf("its list of tools has more than %d pages", maxPages)
}

package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/propagation"

	"github.com/plughook/plughook/internal/inbound"
	"github.com/plughook/plughook/internal/telemetry"
	"github.com/plughook/plughook/tool"
)

// call calls a tool of the server. The model reads its errors.
func (c *Client) call(ctx context.Context, name string, call *tool.Call) (map[string]any, error) {
	slow := fmt.Errorf("it did not answer within %s, and was told to stop", c.config.Timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, c.config.Timeout, slow)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	params := &sdk.CallToolParams{Name: name, Arguments: call.Args}
	if call.Args == nil {
		params.Arguments = map[string]any{}
	}
	carrier := propagation.MapCarrier{}
	telemetry.Inject(ctx, carrier)
	for name, value := range carrier {
		if params.Meta == nil {
			params.Meta = sdk.Meta{}
		}
		params.Meta[name] = value
	}
	result, err := c.ask(ctx, params)
	if errors.Is(err, errUnknown) {
		result, err = c.ask(ctx, params)
	}
	if err == nil {
		made, err := response(ctx, call, result)
		if err != nil && result.IsError {
			err = c.secrets.redact(err) // the text is the server's
		}
		return made, err
	}
	switch {
	case c.life.Err() != nil:
		err = errClosed
	case context.Cause(ctx) == slow:
		err = slow
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, fmt.Errorf("MCP server %s: %w", c.label, c.secrets.redact(err))
}

// errUnknown says that the server does not know the session, so that it has done nothing.
var errUnknown = errors.New("it does not know the session, although the session is new")

// errGivenUp says that the connection was ended during a call.
var errGivenUp = errors.New("the connection was ended, since it did not take what was sent to it; it is not known " +
	"whether the tool was executed")

// ask makes one attempt to call a tool.
func (c *Client) ask(ctx context.Context, params *sdk.CallToolParams) (*sdk.CallToolResult, error) {
	var seen exchange
	ctx = context.WithValue(ctx, exchangeKey{}, &seen)
	ctx, decoded := inbound.Hold(ctx)
	defer decoded()
	made, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	callContext, end := context.WithCancelCause(ctx)
	defer end(nil)
	var watch sync.WaitGroup
	defer watch.Wait()
	returned := make(chan struct{})
	defer close(returned)
	watch.Go(func() { // a long request to a server that does not read ignores the end of the context
		select {
		case <-returned:
			return
		case <-made.broken: // the connection waits for the call
			end(errGivenUp)
			return
		case <-ctx.Done():
		}
		select {
		case <-returned:
		case <-time.After(patience):
			made.giveUp()
		}
	})
	result, err := made.session.CallTool(callContext, params)
	switch {
	case err != nil && context.Cause(callContext) == errGivenUp:
		<-made.ended
		return nil, errGivenUp
	case err == nil || ctx.Err() != nil:
		return result, err
	case seen.refused.Load():
		made.giveUp()
		<-made.ended
		return nil, errUnknown
	case answers(err) || answers(made.session.Ping(ctx, nil)):
		return nil, errors.New(strings.TrimPrefix(err.Error(), `calling "tools/call": `))
	case ctx.Err() != nil: // the ping took too long
		return nil, err
	}
	made.giveUp()
	<-made.ended // soon: see run
	if large := seen.large.Load(); large != nil {
		return nil, *large
	}
	return nil, fmt.Errorf("it ended, and it is not known whether the tool was executed; the next call starts it again: %s", made.why)
}

// answers reports whether a request with this error, or none, shows that the server answers: also
// if it answers with an error.
func answers(err error) bool {
	var answer *jsonrpc.Error
	return err == nil || errors.As(err, &answer) && !errors.Is(err, sdk.ErrConnectionClosed)
}

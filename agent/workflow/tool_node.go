package workflow

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// toolNode is a node of a tool.
type toolNode struct {
	untyped
	tool  *tool.Tool
	check func(ctx context.Context, args map[string]any) error
	wrong error
}

// toolNode returns the kind of a node that calls a tool, once or for each item; nil if it is another.
func (n *Node) toolNode() *toolNode {
	switch k := n.kind.(type) {
	case *toolNode:
		return k
	case *each:
		return k.node.toolNode()
	}
	return nil
}

func (n *toolNode) agents() []agent.Agent { return nil }

func (n *toolNode) attempt(ctx context.Context, t *task) result {
	args, err := toolArgs(t.input)
	if err != nil {
		return t.failedForGood(NodeInput, err)
	}
	return t.once(ctx, n.tool.Name(), args, func(ctx context.Context, c *session.Call) (effect, error) {
		if err := n.check(ctx, c.Args); err != nil {
			return effect{}, err
		}
		args, _ := plain(c.Args) // those of the log must not be changed
		given, _ := args.(map[string]any)
		if given == nil {
			given = map[string]any{}
		}
		tc := &tool.Call{
			ID:         c.ID,
			Name:       c.Name,
			Args:       given,
			Agent:      t.graph.Name(),
			Branch:     t.host.Branch,
			Invocation: t.host.Now(),
			Artifacts:  t.graph.Artifacts,
		}
		// An approval that a plugin asked for does not count for the tool.
		if c.Decision != nil && c.Held.Author == t.graph.Name() {
			yes := c.Decision.Actions.RequestedToolConfirmations[c.ID]
			tc.Confirmation = &yes
		}
		response, err := safely(func() (map[string]any, error) { return n.tool.Run(ctx, tc) })
		var ask *tool.Ask
		switch {
		case errors.As(err, &ask):
			return effect{ask: ask}, nil
		case err != nil:
			return effect{}, err
		case n.tool.LongRunning && !tc.Final:
			return effect{later: true, response: response}, nil
		case response == nil:
			response = map[string]any{}
		}
		out := effect{response: response, actions: tc.Actions}
		if len(response) > 0 {
			out.output = unwrapped(response)
		}
		return out, nil
	})
}

// toolArgs returns the arguments of a tool that an input is.
func toolArgs(input any) (map[string]any, error) {
	if content, ok := input.(*genai.Content); ok {
		input = (&session.Event{Content: content}).Text()
	}
	switch v := input.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return v, nil
	case string:
		if strings.TrimSpace(v) == "" {
			return nil, nil
		}
		value, err := session.DecodeValue([]byte(v))
		if args, ok := value.(map[string]any); ok && err == nil {
			return args, nil
		}
	}
	return nil, fmt.Errorf("the parameter %q does not fit: the arguments of a tool are an object, and it is %s; "+
		"make them of it with args: in a configuration, with Node.Input in Go", nodeInput, inJSON(input))
}

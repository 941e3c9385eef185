package plugintest

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// fixed returns a tool that always answers the same.
func fixed(name string, answer map[string]any) *tool.Tool {
	return &tool.Tool{Declaration: &genai.FunctionDeclaration{Name: name}, Serial: true,
		Run: func(context.Context, *tool.Call) (map[string]any, error) { return maps.Clone(answer), nil }}
}

// scripted returns an agent that says what the turns say. Before each event it seems to ask a
// model, so BeforeModel is called; if a plugin answers in place of the model, the agent does not
// say that event. It executes the tool calls that have no response and do not wait for a
// confirmation.
func scripted(turns []turn, tools []*tool.Tool) agent.Agent {
	name := "bot"
	for _, t := range turns {
		for _, s := range t.steps {
			name = cmp.Or(s.event.Author, name)
		}
	}
	return agent.New(name, "", func(ctx context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			n := 0
			if _, err := fmt.Sscanf(host.Now().ID, "turn-%d", &n); err != nil {
				yield(nil, err)
				return
			}
			for i, s := range turns[n-1].steps {
				answer, err := ask(ctx, host)
				if err != nil {
					yield(nil, err)
					return
				}
				if answer == nil {
					continue
				}
				e := s.event.Clone()
				for j, call := range e.FunctionCalls() {
					call.ID = cmp.Or(call.ID, fmt.Sprintf("call-%d.%d.%d", n, i+1, j+1))
				}
				if !yield(e, nil) || !execute(ctx, host, tools, yield) {
					return
				}
			}
		}
	})
}

// execute answers the open calls of this run.
func execute(ctx context.Context, host *agent.Host, tools []*tool.Tool, yield func(*session.Event, error) bool) bool {
	done := &genai.Content{Role: genai.RoleUser}
	for _, c := range session.Calls(host.Now().Live) {
		if c.Response != nil || c.Event.Seq <= host.Began || c.Waits() && !c.Approved() {
			continue
		}
		response := map[string]any{"error": "there is no tool " + c.Name + " in tools.yaml"}
		for _, t := range tools {
			if t.Declaration.Name == c.Name {
				response, _ = t.Run(ctx, nil)
			}
		}
		done.Parts = append(done.Parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: c.ID, Name: c.Name, Response: response}})
	}
	return len(done.Parts) == 0 || yield(&session.Event{Content: done}, nil)
}

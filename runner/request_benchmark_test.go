package runner_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/session"
)

// BenchmarkRequest is what a model request takes on a session of 1,000 events in memory, texts of 1
// KB and calls with their responses in turn, without a model: first is a run with one request,
// which reads the events; again is one more request and one more event in the same run.
func BenchmarkRequest(b *testing.B) {
	fill := func(b *testing.B) *scene {
		s := stage(b, nil)
		text := strings.Repeat("plain words ", 80)
		var log []*session.Event
		for i := 0; len(log) < 1000; i++ {
			e := session.Message(text)
			call := &genai.FunctionCall{
				ID:   fmt.Sprint("c", i),
				Name: "f",
				Args: map[string]any{"city": "Paris", "days": 3.0},
			}
			asks := &session.Event{
				Author: "bot",
				Content: &genai.Content{
					Role:  genai.RoleModel,
					Parts: []*genai.Part{{FunctionCall: call}},
				},
			}
			responds := session.Respond(call,
				map[string]any{"weather": "dry, with clouds", "degrees": 21.0})
			responds.Author = "bot"
			said := session.Reply(text)
			said.Author = "bot"
			log = append(log, e, asks, responds, said)
		}
		_, err := s.sessions.Append(ctx, session.AppendTarget{Key: key}, log...)
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
	b.Run("first", func(b *testing.B) {
		s := fill(b)
		s.agent = requests(b, 1)
		for b.Loop() {
			runNothing(b, s)
		}
	})
	b.Run("again", func(b *testing.B) {
		s := fill(b)
		s.agent = requests(b, b.N)
		b.ResetTimer()
		runNothing(b, s)
	})
}

func runNothing(b *testing.B, s *scene) {
	for _, err := range s.start().Run(ctx, key, nil, s.cfg) {
		if err != nil {
			b.Fatal(err)
		}
	}
}

// requests returns an agent that has a request built so often, as an llm agent does.
func requests(b *testing.B, n int) agent.Agent {
	return does(func(ctx context.Context, h *agent.Host, yield func(*session.Event, error) bool) {
		for range n {
			_, err := h.BeforeModel(ctx, func(inv *session.Invocation) (*model.Request, error) {
				req := &model.Request{}
				for _, e := range inv.Live {
					c := &genai.Content{Role: e.Content.Role}
					for _, p := range e.Content.Parts {
						c.Parts = append(c.Parts, new(*p))
					}
					req.Contents = append(req.Contents, c)
				}
				return req, nil
			})
			if err != nil || !yield(session.Reply("hello"), nil) {
				return
			}
		}
	})
}

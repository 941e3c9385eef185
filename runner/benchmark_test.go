package runner_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// BenchmarkEvent is what the runner takes per agent event of 1 KB on a session in memory, under
// that many plugins whose OnEvent does nothing, and under ten without OnEvent.
func BenchmarkEvent(b *testing.B) {
	nop := func(i int) *plugin.Plugin {
		return &plugin.Plugin{
			Name: fmt.Sprint("p", i),
			OnEvent: func(context.Context, *session.Invocation, *session.Event) (plugin.Outcome, error) {
				return plugin.Outcome{}, nil
			},
		}
	}
	unsubscribed := func(i int) *plugin.Plugin {
		return &plugin.Plugin{
			Name: fmt.Sprint("p", i),
			BeforeRun: func(context.Context, *session.Invocation) (plugin.Outcome, error) {
				return plugin.Outcome{}, nil
			},
		}
	}
	observer := func(i int) *plugin.Plugin {
		p := nop(i)
		p.Observer = true
		return p
	}
	for _, c := range []struct {
		name string
		n    int
		make func(i int) *plugin.Plugin
	}{{"0plugins", 0, nop}, {"1plugin", 1, nop}, {"10plugins", 10, nop}, {"10unsubscribed", 10, unsubscribed}, {"1observer", 1, observer}} {
		b.Run(c.name, func(b *testing.B) {
			var plugins []*plugin.Plugin
			for i := range c.n {
				plugins = append(plugins, c.make(i))
			}
			text := strings.Repeat("plain words ", 80)
			s := stage(
				b,
				does(
					func(_ context.Context, _ *agent.Host, yield func(*session.Event, error) bool) {
						content := session.Reply(text).Content
						for range b.N {
							if !yield(&session.Event{Content: content}, nil) {
								return
							}
						}
					},
				),
				plugins...)
			r := s.start()
			b.ReportAllocs()
			b.ResetTimer()
			for _, err := range r.Run(ctx, key, nil, s.cfg) {
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkInvocation is a whole run of one input and one answer on a session in memory.
func BenchmarkInvocation(b *testing.B) {
	s := stage(b, says("hello"))
	r := s.start()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		// A session of its own each time, so that the live view stays short.
		k := session.Key{App: "app", User: "ann", ID: fmt.Sprint(i)}
		for _, err := range r.Run(ctx, k, session.Message("hi"), session.RunConfig{Create: true}) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

package remote

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// seen is what a hook was called with, as text that can be compared.
func seen(inv *session.Invocation, e *session.Event, r *model.Request) string {
	text := fmt.Sprintf("%s %v %d %v", inv.ID, inv.Key, inv.Position, inv.State)
	if inv.Input != nil {
		text += " input " + inv.Input.ID
	}
	for _, l := range append(inv.Live, e) {
		if l == nil {
			continue
		}
		text += fmt.Sprintf("\n%d %s %s %v", l.Seq, l.ID, l.Text(), l.Timestamp)
	}
	if r != nil {
		for _, c := range r.Contents {
			text += "\n" + c.Parts[0].Text
		}
	}
	return text
}

// keptSession is a session of a store, as far as plugins see it.
type keptSession struct {
	log   []*session.Event
	live  []*session.Event
	state map[string]any
	last  *session.Event // that was offered
}

// Whatever happens to sessions, a plugin sees each invocation as it is, although it is not sent
// whole.
func TestAPluginSeesEachInvocationAsItIs(t *testing.T) {
	var got string
	look := func(inv *session.Invocation, e *session.Event, r *model.Request) (plugin.Outcome, error) {
		got = seen(inv, e, r)
		return plugin.Outcome{}, nil
	}
	rapid.Check(t, func(r *rapid.T) {
		p := Loopback(&plugin.Plugin{
			Name: "looks",
			BeforeModel: func(_ context.Context, inv *session.Invocation, r *model.Request) (plugin.Outcome, error) {
				return look(inv, nil, r)
			},
			OnEvent: func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
				return look(inv, e, nil)
			},
			AfterRun: func(_ context.Context, inv *session.Invocation, _ plugin.End) (plugin.Outcome, error) {
				return look(inv, nil, nil)
			},
		})
		defer p.Close(context.Background())
		sessions := map[string]*keptSession{}
		made := 0
		event := func() *session.Event {
			made++
			e := session.Reply(fmt.Sprint("text ", made))
			e.ID = rapid.SampledFrom([]string{fmt.Sprint("e", made), "again"}).Draw(r, "id")
			e.Author = "bot"
			e.Timestamp = time.Unix(int64(1700000000+made), 0).UTC()
			return e
		}
		for range rapid.IntRange(1, 60).Draw(r, "steps") {
			name := rapid.SampledFrom([]string{"a", "b"}).Draw(r, "session")
			s := sessions[name]
			if s == nil {
				s = &keptSession{state: map[string]any{}}
				sessions[name] = s
			}
			inv := &session.Invocation{
				ID:       rapid.SampledFrom([]string{"i1", "i2"}).Draw(r, "invocation"),
				Key:      session.Key{App: "app", User: "ann", ID: name},
				Live:     s.live,
				State:    s.state,
				Position: int64(len(s.log)),
			}
			if len(s.log) > 0 && rapid.Bool().Draw(r, "has an input") {
				inv.Input = rapid.SampledFrom(s.log).Draw(r, "input")
			}
			var err error
			var want string
			switch rapid.SampledFrom([]string{"offer", "append", "append other", "compact", "rewind", "state", "model", "end", "delete"}).Draw(r, "step") {
			case "offer":
				s.last = event()
				want = seen(inv, s.last, nil)
				_, err = p.OnEvent(r.Context(), inv, s.last)
			case "append other":
				s.last = event()
				fallthrough
			case "append":
				if s.last != nil {
					e := s.last.Clone()
					e.Seq = int64(len(s.log) + 1)
					s.log = append(s.log, e)
					s.live = append(s.live[:len(s.live):len(s.live)], e)
					s.last = nil
				}
			case "compact":
				s.live = s.live[rapid.IntRange(0, len(s.live)).Draw(r, "covered"):]
			case "rewind":
				s.live = s.log[rapid.IntRange(0, len(s.log)).Draw(r, "first"):]
			case "state":
				s.state = maps.Clone(s.state)
				key := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "key")
				if rapid.Bool().Draw(r, "gone") {
					delete(s.state, key)
				} else {
					s.state[key] = map[string]any{"n": float64(made), "text": "a\"b"}
				}
			case "model":
				request := &model.Request{Agent: "bot"}
				for _, e := range s.live {
					request.Contents = append(request.Contents,
						genai.NewContentFromText(e.Text(), genai.RoleUser))
				}
				want = seen(inv, nil, request)
				_, err = p.BeforeModel(r.Context(), inv, request)
			case "end":
				want = seen(inv, nil, nil)
				_, err = p.AfterRun(r.Context(), inv, plugin.End{Kind: plugin.EndDone})
			case "delete":
				delete(sessions, name)
			}
			require.NoError(r, err)
			if want != "" {
				require.Equal(r, want, got)
			}
		}
	})
}

// A session that was deleted is gone for plugins, too: the next one under its key begins with
// nothing.
func TestAPluginSeesNothingOfADeletedSession(t *testing.T) {
	var got []string
	p := Loopback(&plugin.Plugin{
		Name: "looks",
		BeforeRun: func(_ context.Context, inv *session.Invocation) (plugin.Outcome, error) {
			got = append(got, inv.Input.Text())
			return plugin.Outcome{}, nil
		},
	})
	store := memory.New()
	bot := agent.New(
		"bot",
		"",
		func(context.Context, *agent.Host) iter.Seq2[*session.Event, error] {
			return func(yield func(*session.Event, error) bool) { yield(session.Reply("yes"), nil) }
		},
	)
	r, err := runner.New(runner.Options{Agent: bot, Sessions: store, Plugins: []*plugin.Plugin{p}})
	require.NoError(t, err)
	defer r.Close(context.Background())
	key := session.Key{App: "app", User: "ann", ID: "s"}
	for _, text := range []string{"a secret", "hello"} {
		input := session.Message(text)
		input.ID = "m1"
		for _, err := range r.Run(t.Context(), key, input, session.RunConfig{Create: true}) {
			require.NoError(t, err)
		}
		require.NoError(t, store.Delete(t.Context(), key))
	}
	require.Equal(t, []string{"a secret", "hello"}, got)
}

package plugintest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// A turn is one run: an input, and what the agent does.
type turn struct {
	what  string
	input *session.Event
	steps []step
	user  string    // whose session it is; ann's if empty
	now   time.Time // what the clock shows; zero is the machine's
}

// A step is something that an agent does: it yields an event, or it asks a model and says so, or
// it calls do.
type step struct {
	event *session.Event
	ask   bool
	do    func() error
}

// began is what the clock shows in the conversations of cases, so that a plugin's answers are the same
// each time.
var began = time.Unix(1_700_000_000, 0).UTC()

var key = session.Key{App: "plugintest", User: "ann", ID: "s1"}

// trial is what a conversation with a plugin has shown.
type trial struct {
	watcher
	errs []error // of each turn
	log  []*session.Event
}

// try has a conversation with a plugin; p may be nil.
func try(ctx context.Context, p *plugin.Plugin, sessions session.Service, turns ...turn) (*trial, error) {
	t := new(trial)
	o := runner.Options{Agent: player(turns), Sessions: sessions, Now: func() time.Time { return began }}
	if p != nil {
		o.Plugins = []*plugin.Plugin{watched(p, &t.watcher)}
	}
	r, err := runner.New(o)
	if err != nil {
		return nil, err
	}
	for i := range turns {
		t.errs = append(t.errs, play(ctx, r, i, turns[i]))
	}
	if err := r.Close(ctx); err != nil {
		return nil, err
	}
	log, err := session.ReadAll(ctx, sessions, key, session.Selection{})
	if err != nil && !errors.Is(err, session.ErrNotFound) {
		return nil, err
	}
	t.log = log
	return t, ctx.Err()
}

// play runs one turn.
func play(ctx context.Context, r *runner.Runner, i int, t turn) error {
	in := t.input.Clone()
	in.InvocationID = fmt.Sprint(i)
	at := key
	at.User = cmp.Or(t.user, key.User)
	for _, err := range r.Run(ctx, at, in, session.RunConfig{Create: true, Streaming: session.SSE}) {
		if err != nil {
			return err
		}
	}
	return nil
}

// player returns an agent that does what the turns say. The ID of an invocation is the number of
// its turn.
func player(turns []turn) agent.Agent {
	return agent.New("bot", "", func(ctx context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			n := 0
			if _, err := fmt.Sscan(host.Now().ID, &n); err != nil {
				yield(nil, err)
				return
			}
			for _, s := range turns[n].steps {
				var err error
				e := s.event
				switch {
				case s.do != nil:
					err = s.do()
				case s.ask:
					e, err = ask(ctx, host)
				}
				if err != nil {
					yield(nil, err)
					return
				}
				if e != nil && !yield(e.Clone(), nil) {
					return
				}
			}
		}
	})
}

// ask prepares a request for a model, which no model gets, and returns an answer. It returns nil
// if a plugin has answered.
func ask(ctx context.Context, host *agent.Host) (*session.Event, error) {
	req, err := host.BeforeModel(ctx, func(inv *session.Invocation) (*model.Request, error) {
		req := &model.Request{Agent: "bot", Branch: host.Branch, Model: "none", Config: &genai.GenerateContentConfig{
			SystemInstruction: genai.NewContentFromText("Be brief.", genai.RoleUser)}}
		for _, e := range inv.Live {
			if e.Content != nil {
				req.Contents = append(req.Contents, e.Content)
			}
		}
		return req, nil
	})
	if err != nil || req == nil {
		return nil, err
	}
	return session.Reply(fmt.Sprintf("asked with %d contents", len(req.Contents))), nil
}

// talk is an ordinary conversation.
func talk() []turn {
	call := event(`{"content":{"role":"model","parts":[{"functionCall":{"id":"w1","name":"get_weather","args":{"city":"Rome"}}}]}}`)
	response := event(`{"content":{"role":"user","parts":[{"functionResponse":{"id":"w1","name":"get_weather","response":{"celsius":21}}}]}}`)
	return []turn{
		{what: "a question", input: session.Message("Hello"), steps: []step{{ask: true}}},
		{what: "a tool", input: session.Message("What is the weather in Rome?"), steps: []step{{ask: true}, {event: call}, {event: response}, {ask: true}}},
		{what: "a secret", input: session.Message("My card is 4111 1111 1111 1111, write to ann@example.com"), steps: []step{{ask: true}, {event: session.Reply("I have noted 4111 1111 1111 1111")}}},
		{what: "thanks", input: session.Message("Thanks"), steps: []step{{event: session.Reply("You are welcome")}}},
	}
}

// oddTurns is a conversation of all odd events, and then each of them again in a session of its
// own: a plugin may have ended the first conversation early.
func oddTurns() []turn {
	turns := []turn{{what: "a command", input: session.Command{Name: "plugintest", Args: map[string]any{"n": 1.0}}.Event()}}
	for _, o := range oddRows("odd_inputs.txt") {
		turns = append(turns, turn{what: o.what, input: event(o.json), steps: []step{{ask: true}}})
	}
	for _, o := range oddEvents() {
		turns = append(turns, turn{what: o.what, input: session.Message("go on"), steps: []step{{event: event(o.json)}, {ask: true}}})
	}
	for i, t := range turns[:len(turns):len(turns)] {
		t.user = fmt.Sprint("user-", i)
		turns = append(turns, t)
	}
	return turns
}

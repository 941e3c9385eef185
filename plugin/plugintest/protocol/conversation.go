//go:build unix

package protocol

import (
	"errors"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// moment is one call in a made-up conversation.
type moment struct {
	plugin.Args
	inv *session.Invocation
}

// speech returns an event of the conversation.
func speech(id, author string, content *genai.Content) *session.Event {
	return &session.Event{
		ID:           id,
		Author:       author,
		InvocationID: "i-" + id[:1],
		Timestamp:    time.Unix(1_700_000_000, 0).UTC(),
		Content:      content,
	}
}

// content returns a content of one part.
func content(role string, part *genai.Part) *genai.Content {
	return &genai.Content{Role: role, Parts: []*genai.Part{part}}
}

// moments returns the calls of a conversation of three runs, with a tool, a compaction and a
// rewind: those of hooks that p has, and of events that its filter selects.
func moments(p *plugin.Plugin, key session.Key) []moment {
	var all []moment
	var log, live []*session.Event
	state := map[string]any{"mood": "fine", "n": 1.0}
	inv := &session.Invocation{Key: key, Config: session.RunConfig{Create: true}}
	frontier := int64(0)
	now := func() *session.Invocation {
		c := *inv
		c.Live = live[:len(live):len(live)]
		c.State = state
		c.Position = int64(len(log))
		c.Frontier = frontier
		return &c
	}
	add := func(hook plugin.Hook, a plugin.Args) {
		a.Hook = hook
		all = append(all, moment{Args: a, inv: now()})
	}
	put := func(e *session.Event) *session.Event { // it is offered, and appended as it is
		if p.Filter.Match(e) {
			add(plugin.OnEvent, plugin.Args{Event: e})
		}
		c := *e
		c.Seq = int64(len(log) + 1)
		log = append(log, &c)
		live = append(live, &c)
		return &c
	}
	run := func(id, text string) {
		inv = &session.Invocation{ID: "i-" + id[:1], Key: key, Config: inv.Config}
		inv.Input = put(speech(id, session.User, genai.NewContentFromText(text, genai.RoleUser)))
		add(plugin.BeforeRun, plugin.Args{})
	}
	ask := func() {
		instruction := genai.NewContentFromText("Be brief.", genai.RoleUser)
		req := &model.Request{
			Agent:  "bot",
			Model:  "none",
			Config: &genai.GenerateContentConfig{SystemInstruction: instruction},
		}
		for _, e := range live {
			if e.Content != nil {
				req.Contents = append(req.Contents, e.Content)
			}
		}
		add(plugin.BeforeModel, plugin.Args{Request: req})
	}
	say := func(id, text string) { put(speech(id, "bot", genai.NewContentFromText(text, genai.RoleModel))) }

	// The first run: a tool, and an event that a later plugin has changed.
	run("a1", "What is the weather in Rome?")
	ask()
	put(speech("a2", "bot", content(genai.RoleModel, &genai.Part{FunctionCall: &genai.FunctionCall{
		ID:   "c1",
		Name: "get_weather",
		Args: map[string]any{"city": "Rome", "days": 1.0},
	}})))
	state = map[string]any{"mood": "fine", "city": "Rome"} // a key has come, and one has gone
	put(speech("a3", "bot", content(genai.RoleUser, &genai.Part{FunctionResponse: &genai.FunctionResponse{
		ID:       "c1",
		Name:     "get_weather",
		Response: map[string]any{"celsius": 21.0},
	}})))
	ask()
	say("a4", "It is 21 degrees")
	changed := *live[3] // a later plugin has changed it
	changed.Content = genai.NewContentFromText("It is 21 degrees in Rome", genai.RoleModel)
	live = append(live[:3:3], &changed)
	log[3] = &changed
	add(plugin.AfterRun, plugin.Args{End: plugin.End{Kind: plugin.EndDone}})

	// The second run: a secret, a compaction, and an end by a failure.
	run("b5", "My card is 4111 1111 1111 1111, write to ann@example.com")
	say("b6", "I have noted 4111 1111 1111 1111")
	sum := &session.Event{
		ID:           "b7",
		Author:       "plugin/compactor",
		InvocationID: "i-b",
		Seq:          7,
		Timestamp:    time.Unix(1_700_000_001, 0).UTC(),
		Actions: session.Actions{Compaction: &session.Compaction{
			Through: 4,
			Content: genai.NewContentFromText("They spoke of the weather.", genai.RoleUser),
		}},
	}
	before := live
	log = append(log, sum)
	live = append([]*session.Event{sum}, live[4:]...)
	frontier = 7
	ask()
	say("b8", "Anything else?")
	failure := &plugin.Error{Plugin: "other", Hook: plugin.OnEvent, Err: errors.New("no luck")}
	add(plugin.AfterRun, plugin.Args{End: plugin.End{Kind: plugin.EndFailed, Err: failure}})

	// The third run, after a rewind.
	back := &session.Event{
		ID:           "c9",
		Author:       "plugin/rewind",
		InvocationID: "i-c",
		Seq:          9,
		Timestamp:    sum.Timestamp,
		Actions:      session.Actions{Rewind: &session.Rewind{To: 4}},
	}
	log = append(log, back)
	live = before[:4:4]
	frontier = 9
	run("c0", "And in Paris?")
	ask()
	say("ca", "I do not know")
	add(plugin.AfterRun, plugin.Args{End: plugin.End{Kind: plugin.EndStopped, Plugin: "other", Reason: "enough"}})

	subscribed := map[plugin.Hook]bool{}
	for _, h := range p.Subscribes() {
		subscribed[h] = true
	}
	kept := all[:0]
	for _, m := range all {
		if subscribed[m.Hook] {
			kept = append(kept, m)
		}
	}
	return kept
}

//go:build unix

package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"google.golang.org/genai"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

// moment is a call in a made-up conversation.
type moment struct {
	args
	inv *session.Invocation
}

// speech returns an event of the conversation.
func speech(id, author string, content *genai.Content) *session.Event {
	return &session.Event{ID: id, Author: author, InvocationID: "i-" + id[:1], Timestamp: time.Unix(1_700_000_000, 0).UTC(), Content: content}
}

// moments are the calls of a conversation of three runs, with a tool, a compaction and a rewind, that a plugin
// with all hooks gets: those that p has are returned.
func moments(p *plugin.Plugin, key session.Key) []moment {
	var all []moment
	var log, live []*session.Event
	state := map[string]any{"mood": "fine", "n": 1.0}
	inv := &session.Invocation{Key: key, Config: session.RunConfig{Create: true}}
	frontier := int64(0)
	now := func() *session.Invocation {
		c := *inv
		c.Live, c.State, c.Position, c.Frontier = live[:len(live):len(live)], state, int64(len(log)), frontier
		return &c
	}
	add := func(hook plugin.Hook, a args) {
		a.hook = hook
		all = append(all, moment{a, now()})
	}
	put := func(e *session.Event) *session.Event { // it is offered, and appended as it is
		if p.Filter.Match(e) {
			add(plugin.OnEvent, args{event: e})
		}
		c := *e
		c.Seq = int64(len(log) + 1)
		log, live = append(log, &c), append(live, &c)
		return &c
	}
	run := func(id, text string) {
		inv = &session.Invocation{ID: "i-" + id[:1], Key: key, Config: inv.Config}
		inv.Input = put(speech(id, session.User, genai.NewContentFromText(text, genai.RoleUser)))
		add(plugin.BeforeRun, args{})
	}
	ask := func() {
		req := &model.Request{Agent: "bot", Model: "none", Config: &genai.GenerateContentConfig{SystemInstruction: genai.NewContentFromText("Be brief.", genai.RoleUser)}}
		for _, e := range live {
			if e.Content != nil {
				req.Contents = append(req.Contents, e.Content)
			}
		}
		add(plugin.BeforeModel, args{request: req})
	}
	say := func(id, text string) { put(speech(id, "bot", genai.NewContentFromText(text, genai.RoleModel))) }

	run("a1", "What is the weather in Rome?")
	ask()
	call := &genai.FunctionCall{ID: "c1", Name: "get_weather", Args: map[string]any{"city": "Rome", "days": 1.0}}
	put(speech("a2", "bot", &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{{FunctionCall: call}}}))
	state = map[string]any{"mood": "fine", "city": "Rome"} // a key has come, and one has gone
	put(speech("a3", "bot", &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{FunctionResponse: &genai.FunctionResponse{ID: "c1", Name: "get_weather", Response: map[string]any{"celsius": 21.0}}}}}))
	ask()
	say("a4", "It is 21 degrees")
	changed := *live[3] // a later plugin has changed it
	changed.Content = genai.NewContentFromText("It is 21 degrees in Rome", genai.RoleModel)
	live = append(live[:3:3], &changed)
	log[3] = &changed
	add(plugin.AfterRun, args{end: plugin.End{Kind: plugin.EndDone}})

	run("b5", "My card is 4111 1111 1111 1111, write to ann@example.com")
	say("b6", "I have noted 4111 1111 1111 1111")
	sum := &session.Event{ID: "b7", Author: "plugin/compactor", InvocationID: "i-b", Seq: 7, Timestamp: time.Unix(1_700_000_001, 0).UTC(),
		Actions: session.Actions{Compaction: &session.Compaction{Through: 4, Content: genai.NewContentFromText("They spoke of the weather.", genai.RoleUser)}}}
	before := live
	log, live, frontier = append(log, sum), append([]*session.Event{sum}, live[4:]...), 7
	ask()
	say("b8", "Anything else?")
	add(plugin.AfterRun, args{end: plugin.End{Kind: plugin.EndFailed, Err: &plugin.Error{Plugin: "other", Hook: plugin.OnEvent, Err: errors.New("no luck")}}})

	back := &session.Event{ID: "c9", Author: "plugin/rewind", InvocationID: "i-c", Seq: 9, Timestamp: sum.Timestamp, Actions: session.Actions{Rewind: &session.Rewind{To: 4}}}
	log, live, frontier = append(log, back), before[:4:4], 9
	run("c0", "And in Paris?")
	ask()
	say("ca", "I do not know")
	add(plugin.AfterRun, args{end: plugin.End{Kind: plugin.EndStopped, Plugin: "other", Reason: "enough"}})

	subscribed := map[plugin.Hook]bool{}
	for _, h := range p.Subscribes() {
		subscribed[h] = true
	}
	kept := all[:0]
	for _, m := range all {
		if subscribed[m.hook] {
			kept = append(kept, m)
		}
	}
	return kept
}

// encoding encodes calls as a host does: what the plugin has is not sent again.
type encoding struct{ known known }

func (x *encoding) call(m moment) (*wire.Call, error) {
	w := &wire.Call{Hook: wireHook[m.hook], Remaining: durationpb.New(answerLimit)}
	var err error
	if w.Invocation, err = x.known.invocation(m.inv); err != nil {
		return nil, err
	}
	s := x.known.session(m.inv.Key)
	if m.event != nil {
		if w.Event, err = events.encode(m.event); err != nil {
			return nil, err
		}
		s.offered[m.event.ID] = offered{m.event, len(w.Event)}
	}
	if m.request != nil {
		if w.Request, err = encodeRequest(m.request, s.kept(m.request.Contents)); err != nil {
			return nil, err
		}
	}
	if m.hook == plugin.AfterRun {
		w.End = &wire.End{Kind: string(m.end.Kind), Plugin: m.end.Plugin, Reason: m.end.Reason}
		if m.end.Err != nil {
			w.End.Error = encodeError(m.end.Err)
		}
		clear(s.offered)
	}
	return w, nil
}

// talk has a conversation, and returns what was answered, without what may differ from one time to the other.
// each may change a call before it is sent; anew has everything sent with each call.
func (s *suspect) talk(ctx context.Context, all []moment, anew bool, each func(*wire.Call) *wire.Call) (answers []string, err error) {
	var x encoding
	for _, m := range all {
		if anew {
			x = encoding{}
		}
		w, err := x.call(m)
		if err != nil {
			return nil, err
		}
		if each != nil {
			w = each(w)
		}
		seq, err := s.send(w)
		if err != nil {
			return nil, err
		}
		if m.request != nil {
			m.request = m.request.Clone() // an answer changes it
		}
		answer, err := s.answer(ctx, seq, m.args)
		if err != nil {
			return nil, err
		}
		answers = append(answers, fmt.Sprintf("%s %s", m.hook, steady(answer)))
	}
	return answers, s.once(ctx)
}

// steady returns an answer without what may differ from one time to the other.
func steady(m *wire.PluginMessage) string {
	o := m.GetOutcome()
	if o == nil {
		return "failure: " + m.GetFailure().GetError().GetMessage()
	}
	o = proto.CloneOf(o)
	events := append([][]byte{o.Replace}, o.Emit...)
	for i, data := range events {
		var e map[string]any
		if json.Unmarshal(data, &e) == nil {
			delete(e, "id")
			delete(e, "timestamp")
			events[i], _ = json.Marshal(e)
		}
	}
	return fmt.Sprintf("%s withhold %t stop %t reason %q request %s", events, o.Withhold, o.Stop, o.Reason, o.Request)
}

// addUnknownBelow adds an unknown field to a message and to those in it.
func addUnknownBelow(m protoreflect.Message) {
	addUnknown(m.Interface())
	m.Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case field.Message() == nil || field.IsMap():
		case field.IsList():
			for i := range v.List().Len() {
				addUnknownBelow(v.List().Get(i).Message())
			}
		default:
			addUnknownBelow(v.Message())
		}
		return true
	})
}

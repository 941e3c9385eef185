//go:build unix

package protocol

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/genai"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/caller"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

// speech returns an event of a conversation.
func speech(id, author string, content *genai.Content) *session.Event {
	return &session.Event{
		ID:           id,
		Author:       author,
		InvocationID: "i-a",
		Timestamp:    time.Unix(1_700_000_000, 0).UTC(),
		Content:      content,
	}
}

// someCall returns a call of a hook that the plugin has, of a session of its own, and how it is
// answered.
func (s *probe) someCall(id string) (*wire.Call, plugin.Args) {
	all := moments(s.hooks, session.Key{App: "verify", User: "ann", ID: id})
	if len(all) == 0 { // its filter selects none of them
		return s.anyEvent(id, "Hello"), plugin.Args{Hook: plugin.OnEvent}
	}
	w, err := encodeCall(new(caller.Sent), all[0])
	if err != nil {
		panic(err) // it is ours
	}
	return w, all[0].Args
}

// anyEvent returns an ON_EVENT call with a text, whatever the plugin's filter says.
func (s *probe) anyEvent(id, text string) *wire.Call {
	e := speech("a1", session.User, genai.NewContentFromText(text, genai.RoleUser))
	w, err := encodeCall(new(caller.Sent), moment{plugin.Args{Hook: plugin.OnEvent, Event: e}, &session.Invocation{ID: "i-a", Key: session.Key{App: "verify", User: "ann", ID: id}}})
	if err != nil {
		panic(err) // it is ours
	}
	return w
}

// stillAnswers returns an error unless the plugin answers another call, and has answered all of
// them once.
func (s *probe) stillAnswers(ctx context.Context, after string) error {
	w, a := s.someCall("after")
	_, err := s.ask(ctx, w, a)
	if err == nil {
		err = s.answeredOnce(ctx)
	}
	if err != nil {
		return fmt.Errorf("after %s: %w", after, err)
	}
	return nil
}

func checkUnknownMessage(ctx context.Context, s *probe) error {
	m := &wire.HostMessage{}
	m.ProtoReflect().SetUnknown([]byte{0xa2, 0x06, 0x00}) // field 100, an empty message
	if err := s.message(m); err != nil {
		return err
	}
	return s.stillAnswers(ctx, "a message that it does not know")
}

func checkUnknownHook(ctx context.Context, s *probe) error {
	w := s.anyEvent("s1", "Hello")
	w.Hook = 77
	seq, err := s.send(w)
	if err != nil {
		return err
	}
	if err := s.until(ctx, "a call of hook 77", func() bool { return len(s.answers[seq]) > 0 }); err != nil {
		return err
	}
	return s.stillAnswers(ctx, "a hook that it does not know")
}

func checkLarge(ctx context.Context, s *probe) (err error) {
	if most := s.target.MaxMessage; most < 6<<20 {
		return skipped(fmt.Sprintf("its messages have %d bytes at most", most))
	}
	text := strings.Repeat("all work and no play ", 5<<20/21)
	var w *wire.Call
	a := plugin.Args{Hook: plugin.OnEvent}
	if s.hooks.OnEvent != nil {
		w = s.anyEvent("s1", text)
	} else { // it is in the live view
		all := moments(s.hooks, testKey)
		e := *speech("a0", session.User, genai.NewContentFromText(text, genai.RoleUser))
		e.Seq = 1
		inv := *all[0].inv
		inv.Live = []*session.Event{&e}
		inv.Input = &e
		inv.Position = 1
		a = all[0].Args
		w, err = encodeCall(new(caller.Sent), moment{Args: a, inv: &inv})
		if err != nil {
			return err
		}
	}
	w.Remaining = durationpb.New(answerLimit)
	if _, err := s.ask(ctx, w, a); err != nil {
		return fmt.Errorf("an event of 5 MB: %w", err)
	}
	return s.stillAnswers(ctx, "an event of 5 MB")
}

func checkMany(ctx context.Context, s *probe) error {
	const many = 200
	asked := map[uint64]plugin.Args{}
	for i := range many {
		w, a := s.someCall(fmt.Sprint("s", i))
		seq, err := s.send(w)
		if err != nil {
			return err
		}
		asked[seq] = a
	}
	for seq, a := range asked {
		if _, err := s.answer(ctx, seq, a); err != nil {
			return fmt.Errorf("%d calls at once: %w", many, err)
		}
	}
	return s.stillAnswers(ctx, "many calls at once")
}

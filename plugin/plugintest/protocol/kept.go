//go:build unix

package protocol

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/caller"
	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/internal/transport"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

// converse has the conversation in a process of its own.
func converse(ctx context.Context, c target, anew bool, each func(*wire.Call) *wire.Call) ([]string, error) {
	s, err := ready(ctx, c)
	if err != nil {
		return nil, err
	}
	defer s.free()
	return s.talk(ctx, moments(s.hooks, testKey), anew, each)
}

var testKey = session.Key{App: "verify", User: "ann", ID: "s1"}

func checkConversation(ctx context.Context, c target) error {
	_, err := converse(ctx, c, false, nil)
	return err
}

// sameAsAnew returns an error unless the answers of a conversation are those that the plugin
// gives if everything is sent with each call. each may change a call before it is sent.
func sameAsAnew(ctx context.Context, c target, each func(*wire.Call) *wire.Call) error {
	answers, err := converse(ctx, c, false, each)
	if err != nil {
		return err
	}
	want, err := converse(ctx, c, true, nil)
	if err != nil || slices.Equal(want, answers) {
		return err
	}
	again, err := converse(ctx, c, true, nil)
	if err != nil || !slices.Equal(want, again) {
		return errors.Join(err, skipped("it does not answer the same conversation in the same way twice"))
	}
	for i := range want {
		if want[i] != answers[i] {
			return fmt.Errorf("call %d is answered with\n    %.500s\nand if everything is sent with it\n    %.500s", i+1, answers[i], want[i])
		}
	}
	return nil
}

func checkKept(ctx context.Context, c target) error { return sameAsAnew(ctx, c, nil) }

func checkForget(ctx context.Context, s *probe) error {
	first, err := s.talk(ctx, moments(s.hooks, testKey), false, nil)
	if err != nil {
		return err
	}
	for _, key := range []session.Key{testKey, {App: "verify", User: "nobody", ID: "unknown"}} {
		if err := s.message(&wire.HostMessage{Message: &wire.HostMessage_Forget{Forget: &wire.Forget{Key: message.WireKey(key)}}}); err != nil {
			return err
		}
	}
	second, err := s.talk(ctx, moments(s.hooks, testKey), false, nil)
	if err != nil {
		return fmt.Errorf("after Forget: %w", err)
	}
	for i := range first {
		failed := strings.Contains(second[i], " failure: ")
		if failed && !strings.Contains(first[i], " failure: ") {
			return fmt.Errorf("after Forget, call %d fails: %s", i+1, second[i])
		}
	}
	return nil
}

func checkUnknown(ctx context.Context, s *probe) (err error) {
	host := withUnknown(&wire.Host{Protocol: transport.ProtocolVersion})
	s.about, err = s.service.Describe(ctx, host)
	if err != nil {
		return fmt.Errorf("calling Describe: %w", err)
	}
	settings := withUnknown(&wire.Configuration{Settings: s.target.Settings, Name: s.about.Name})
	s.sub, err = s.service.Configure(ctx, settings)
	if err != nil {
		return fmt.Errorf("calling Configure: %w", err)
	}
	return sameAsAnew(ctx, s.target, withUnknown)
}

func checkDuplicates(ctx context.Context, s *probe) error {
	if s.hooks.OnEvent != nil { // a run that was repeated offers its input again
		for range 2 {
			if _, err := s.ask(ctx, s.anyEvent("s1", "Hello"), plugin.Args{Hook: plugin.OnEvent}); err != nil {
				return fmt.Errorf("an event that was offered before: %w", err)
			}
		}
	}
	e := *speech("a1", session.User, genai.NewContentFromText("Hello", genai.RoleUser))
	e.Seq = 1
	for i := range 3 {
		all := moments(s.hooks, session.Key{App: "verify", User: "ann", ID: "s1"})
		if len(all) == 0 {
			return s.stillAnswers(ctx, "a duplicate")
		}
		m := all[0]
		m.inv = &session.Invocation{ID: fmt.Sprint("i-", i), Key: m.inv.Key, Input: &e, Live: []*session.Event{&e}, Position: 1}
		if m.Request != nil {
			m.Request = &model.Request{Agent: "bot", Contents: []*genai.Content{e.Content}}
		}
		w, err := encodeCall(new(caller.Sent), m) // the event comes each time
		if err != nil {
			return err
		}
		w.Invocation.Fresh = i == 0
		if _, err := s.ask(ctx, w, m.Args); err != nil {
			return fmt.Errorf("an event that it has: %w", err)
		}
	}
	return s.stillAnswers(ctx, "a duplicate")
}

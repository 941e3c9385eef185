//go:build unix

package protocol

import (
	"context"
	"errors"
	"fmt"
	"maps"
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

var testKey = session.Key{App: "verify", User: "ann", ID: "s1"}

func checkConversation(ctx context.Context, s *probe) error {
	_, err := s.talk(ctx, moments(s.hooks, testKey), false, nil)
	return err
}

func checkKept(ctx context.Context, c target) error { return sameAsAnew(ctx, c, nil, nil) }

// sameAsAnew has a conversation, into which gets what the plugin emits. It returns an error unless the answers are those
// that the plugin gives if everything is sent with each call. each may change a call before it is sent, and change the
// state before a call.
func sameAsAnew(
	ctx context.Context, c target, each func(*wire.Call) *wire.Call, change func(int, map[string]any),
) error {
	s, err := ready(ctx, c)
	if err != nil {
		return err
	}
	defer s.free()
	d := newDialog(s.hooks, testKey)
	d.change = change
	answers, err := s.follow(ctx, d, each)
	if err != nil {
		return err
	}
	return compare(ctx, c, d.moments, answers, anew, "if everything is sent with it")
}

// follow has the conversation, into which gets what the plugin emits, and returns the answers.
func (s *probe) follow(ctx context.Context, d *dialog, each func(*wire.Call) *wire.Call) (answers []string, err error) {
	var sent caller.Sent
	d.reply = func(m moment) (plugin.Outcome, error) {
		answer, err := s.tell(ctx, &sent, m, each)
		if err != nil {
			return plugin.Outcome{}, err
		}
		answers = append(answers, fmt.Sprintf("%s %s", m.Hook, stableText(answer)))
		out, _, _ := caller.DecodeAnswer(answer, m.Args, s.Secrets()) // a failure emits nothing
		return out, nil
	}
	d.converse(slices.All(runs))
	if d.err != nil {
		return nil, d.err
	}
	return answers, s.answeredOnce(ctx)
}

// anew makes the calls in a process of its own. Everything is sent with each call.
func anew(ctx context.Context, c target, all []moment) ([]string, error) {
	s, err := ready(ctx, c)
	if err != nil {
		return nil, err
	}
	defer s.free()
	return s.talk(ctx, all, true, nil)
}

// compare returns an error unless the answers to the calls are those that other gets to the same calls. how says what
// is different there. A plugin that does not answer other in the same way twice is skipped.
func compare(
	ctx context.Context, c target, all []moment, answers []string,
	other func(context.Context, target, []moment) ([]string, error), how string,
) error {
	want, err := other(ctx, c, all)
	if err != nil || slices.Equal(want, answers) {
		return err
	}
	again, err := other(ctx, c, all)
	if err != nil || !slices.Equal(want, again) {
		return errors.Join(err, skipped("it does not answer the same conversation in the same way twice"))
	}
	for i, m := range all {
		if want[i] != answers[i] {
			return fmt.Errorf("call %d, %v, is answered with\n    %.500s\nand %s with\n    %.500s", i+1, m, answers[i], how, want[i])
		}
	}
	return nil
}

// checkShared has the keys that the plugin writes change between calls, as other sessions change those with user: and
// app:.
func checkShared(ctx context.Context, c target) error {
	written, err := writtenBy(ctx, c)
	if err != nil {
		return err
	}
	for shift := range 2 { // the keys are there for two calls, and gone for two
		err := sameAsAnew(ctx, c, nil, func(call int, state map[string]any) {
			state["verify:calls"] = float64(call) // so that other keys change at each call
			for key, v := range written {
				if (call+shift)%4 < 2 {
					state[key] = v
				} else {
					delete(state, key)
				}
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// writtenBy returns the state that the plugin writes in a conversation, with sums that are far beyond all limits.
func writtenBy(ctx context.Context, c target) (map[string]any, error) {
	const much = 1_000_000.0
	s, err := ready(ctx, c)
	if err != nil {
		return nil, err
	}
	defer s.free()
	d := newDialog(s.hooks, testKey)
	if _, err := s.follow(ctx, d, nil); err != nil {
		return nil, err
	}
	written := map[string]any{}
	for _, e := range d.log {
		if name, emitted := e.Plugin(); !emitted || name != s.hooks.Name {
			continue
		}
		maps.Copy(written, e.Actions.StateDelta)
		for key := range e.Actions.StateIncrement {
			written[key] = much
		}
	}
	maps.DeleteFunc(written, func(_ string, v any) bool { return v == nil })
	return written, nil
}

// checkMadeAgain has a conversation in a session, and then another one in a session that was made under its key.
func checkMadeAgain(ctx context.Context, c target) error {
	written, err := writtenBy(ctx, c)
	if err != nil {
		return err
	}
	s, err := ready(ctx, c)
	if err != nil {
		return err
	}
	defer s.free()
	old := newDialog(s.hooks, testKey)
	maps.Copy(old.state, written)
	made := newDialog(s.hooks, testKey)
	made.inv.Number = 2
	made.converse(slices.Backward(runs))
	all := slices.Concat(old.converse(slices.All(runs)).moments, made.moments)
	answers, err := s.talk(ctx, all, false, nil)
	if err != nil {
		return err
	}
	n := len(old.moments)
	return compare(ctx, c, made.moments, answers[n:], anew, "in a process that had no other session under this key")
}

// checkSideBySide has conversations at once in sessions whose keys differ in one part.
func checkSideBySide(ctx context.Context, c target) error {
	written, err := writtenBy(ctx, c)
	if err != nil {
		return err
	}
	s, err := ready(ctx, c)
	if err != nil {
		return err
	}
	defer s.free()
	var dialogs []*dialog
	for i, key := range []session.Key{
		testKey,
		{App: testKey.App, User: "bob", ID: testKey.ID},
		{App: "other", User: testKey.User, ID: testKey.ID},
		{App: testKey.App, User: testKey.User, ID: "s2"},
	} {
		d := newDialog(s.hooks, key)
		order := slices.All(runs)
		if i%2 == 1 { // other events have the same positions, and the state is another
			order = slices.Backward(runs)
			maps.Copy(d.state, written)
		}
		dialogs = append(dialogs, d.converse(order))
	}
	var all []moment
	for i := range len(dialogs[0].moments) {
		for _, d := range dialogs {
			if i < len(d.moments) {
				all = append(all, d.moments[i])
			}
		}
	}
	answers, err := s.talk(ctx, all, false, nil)
	if err != nil {
		return err
	}
	return compare(ctx, c, all, answers, anew, "if everything is sent with it")
}

// checkEachByItself makes each call of a conversation once more, in a session of which the plugin has seen nothing.
func checkEachByItself(ctx context.Context, c target) error {
	s, err := ready(ctx, c)
	if err != nil {
		return err
	}
	defer s.free()
	d := newDialog(s.hooks, testKey)
	answers, err := s.follow(ctx, d, nil)
	if err != nil {
		return err
	}
	alone := func(ctx context.Context, c target, all []moment) ([]string, error) {
		var renamed []moment
		for i, m := range all {
			renamed = append(renamed, m.in(fmt.Sprintf("%s%d%s", aloneMark, i, aloneMark)))
		}
		answers, err := anew(ctx, c, renamed)
		for i := range answers {
			answers[i] = strings.ReplaceAll(answers[i], fmt.Sprintf("%s%d%s", aloneMark, i, aloneMark), "")
		}
		return answers, err
	}
	return compare(ctx, c, d.moments, answers, alone, "by itself, in a process that has seen no other call of the run,")
}

// aloneMark stands around what is added to the names of a session and an invocation.
const aloneMark = "~"

// in returns the call in another session, and another invocation, whose names have a text added.
func (m moment) in(added string) moment {
	rename := func(e *session.Event) *session.Event {
		if e == nil {
			return nil
		}
		c := *e
		c.InvocationID += added
		return &c
	}
	inv := *m.inv
	inv.ID += added
	inv.Key.ID += added
	inv.Input = rename(inv.Input)
	inv.Live = nil
	for _, e := range m.inv.Live {
		inv.Live = append(inv.Live, rename(e))
	}
	m.inv = &inv
	m.Event = rename(m.Event)
	return m
}

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
	return sameAsAnew(ctx, s.target, withUnknown, nil)
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

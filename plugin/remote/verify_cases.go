//go:build unix

package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

var verifyCases = slices.Concat([]verifyCase{
	{"starts", "Start: the plugin listens on a Unix socket in PLUGIN_UNIX_SOCKET_DIR and prints one line to standard output, 1|1|unix|PATH|grpc. What it prints before is noise.", true, verifyStarts},
	{"describe", "Start, 1: Describe needs no settings and is the same always: protocol 1, a name, the JSON Schema of the settings.", true, verifyDescribe},
	{"configure", "Start, 2: Configure answers with the subscription: hooks that there are, flags that fit together, a filter of what there is.", true, verifyConfigure},
	{"refuses settings", "Start, 2: settings that the plugin refuses are INVALID_ARGUMENT, with a message for a person; it does not end by them.", false, verifySettings},
	{"conversation", "Calls: each call is answered once, with its seq, by an Outcome that the hook may have or by a Failure.", true, verifyConversation},
	{"what is not sent again", "What the host does not send again: events, state and contents are sent once, and kept by their position; the plugin answers as if all of it were sent each time.", false, verifyKept},
	{"forget", "What the host does not send again: after Forget a session is sent anew, with fresh. What is told of a session that is not known changes nothing.", false, verifyForget},
	{"unknown fields", "Unknown fields: both sides ignore them, in every message.", false, verifyUnknown},
	{"unknown messages", "Unknown fields: a message of a kind that the plugin does not know is ignored.", false, verifyUnknownMessage},
	{"unknown hook", "Calls: each call is answered, and a hook must not end the process. A hook that the plugin does not know is no reason either.", false, verifyUnknownHook},
	{"large event", "Start: the plugin takes messages up to PLUGHOOK_MAX_MESSAGE bytes, which is far more than the 4 MB that gRPC takes by default.", false, verifyLarge},
	{"many calls", "Calls: calls of several invocations run at once and may be answered in any order.", false, verifyMany},
	{"cancel", "Calls: Cancel says that nobody waits any more. The call is answered all the same, as soon as may be, and the stream goes on. One that comes late, or is about no call, is ignored.", false, verifyCancel},
	{"no time left", "Calls: remaining is how long the host waits, and may be nothing by the time the call comes.", false, verifyRemaining},
	{"duplicates", "What the host does not send again: an event may come twice, under its id in ON_EVENT and by its position in events. It is kept once.", false, verifyDuplicates},
	{"ping", "Calls: Ping is answered with Pong at once, whatever else runs.", false, verifyPing},
}, verifyEnds)

func verifyStarts(ctx context.Context, c Config) error {
	s, err := suspected(ctx, c)
	if err != nil {
		return err
	}
	defer s.free()
	if !strings.HasPrefix(s.address, s.dir.path) {
		return fmt.Errorf("it listens at %s; PLUGIN_UNIX_SOCKET_DIR is %s", s.address, s.dir.path)
	}
	_, err = s.service.Describe(ctx, &wire.Host{Protocol: protocolVersion})
	return err
}

func verifyDescribe(ctx context.Context, c Config) error {
	var first *wire.Description
	for range 2 {
		s, err := suspected(ctx, c)
		if err != nil {
			return err
		}
		defer s.free()
		for range 2 {
			d, err := s.service.Describe(ctx, &wire.Host{Protocol: protocolVersion})
			if err != nil {
				return err
			}
			if first == nil {
				first = d
			}
			if !proto.Equal(first, d) {
				return fmt.Errorf("it was %v, and then %v", first, d)
			}
		}
	}
	if first.Protocol != protocolVersion {
		return fmt.Errorf("its protocol is %d; this one is %d", first.Protocol, protocolVersion)
	}
	if err := plugin.Validate(&plugin.Plugin{Name: first.Name, OnEvent: func(context.Context, *session.Invocation, *session.Event) (plugin.Outcome, error) {
		return plugin.Outcome{}, nil
	}}); err != nil {
		return err
	}
	if err := checkSettings(first.Settings, nil); err != nil && !errors.Is(err, ErrSettings) {
		return err
	}
	return nil
}

func verifyConfigure(ctx context.Context, c Config) error {
	s, err := suspected(ctx, c)
	if err != nil {
		return err
	}
	defer s.free()
	if err := s.configure(ctx); err != nil {
		if errors.Is(err, ErrSettings) || status.Code(errors.Unwrap(err)) == codes.InvalidArgument {
			return fmt.Errorf("%w\nGive it the settings that it needs", err)
		}
		return err
	}
	for _, h := range s.sub.Hooks {
		if wire.Hook_name[int32(h)] == "" || h == wire.Hook_HOOK_UNSPECIFIED {
			return fmt.Errorf("it subscribes to hook %d, which there is not", h)
		}
	}
	p := s.hooks
	p.Name = s.name
	return plugin.Validate(p)
}

// unfit returns settings that do not fit a schema; nil if everything seems to.
func unfit(schema []byte) []byte {
	for _, s := range []string{`{"plughook-no-such-setting":1}`, `{"":[]}`} {
		if errors.Is(checkSettings(schema, []byte(s)), ErrSettings) {
			return []byte(s)
		}
	}
	return nil
}

func verifySettings(ctx context.Context, c Config) error {
	s, err := suspected(ctx, c)
	if err != nil {
		return err
	}
	defer s.free()
	d, err := s.service.Describe(ctx, &wire.Host{Protocol: protocolVersion})
	if err != nil {
		return err
	}
	bad := unfit(d.Settings)
	if bad == nil {
		return skipped("its schema takes everything that was tried")
	}
	_, err = s.service.Configure(ctx, &wire.Configuration{Settings: bad, Name: d.Name})
	switch {
	case err == nil: // the host checks them before, so a plugin need not
		return skipped("it leaves the check to the host")
	case status.Code(err) != codes.InvalidArgument:
		return fmt.Errorf("with the settings %s it answers %v %q; it has to be INVALID_ARGUMENT", bad, status.Code(err), said(err))
	case said(err).Error() == "":
		return fmt.Errorf("with the settings %s it answers INVALID_ARGUMENT and does not say why", bad)
	}
	if _, err := s.service.Describe(ctx, &wire.Host{Protocol: protocolVersion}); err != nil {
		return fmt.Errorf("after it has refused settings: %w", err)
	}
	return nil
}

// had has the conversation in a process of its own.
func had(ctx context.Context, c Config, anew bool, each func(*wire.Call) *wire.Call) ([]string, error) {
	s, err := ready(ctx, c)
	if err != nil {
		return nil, err
	}
	defer s.free()
	return s.talk(ctx, moments(s.hooks, verifyKey), anew, each)
}

var verifyKey = session.Key{App: "verify", User: "ann", ID: "s1"}

func verifyConversation(ctx context.Context, c Config) error {
	_, err := had(ctx, c, false, nil)
	return err
}

// alike returns an error if a conversation does not come to what it comes to when everything is sent each time.
func alike(ctx context.Context, c Config, answers []string) error {
	want, err := had(ctx, c, true, nil)
	if err != nil || slices.Equal(want, answers) {
		return err
	}
	if again, err := had(ctx, c, true, nil); err != nil || !slices.Equal(want, again) {
		return errors.Join(err, skipped("it does not answer the same conversation in the same way twice"))
	}
	for i := range want {
		if want[i] != answers[i] {
			return fmt.Errorf("call %d is answered with\n    %.500s\nand if everything is sent with it\n    %.500s", i+1, answers[i], want[i])
		}
	}
	return nil
}

func verifyKept(ctx context.Context, c Config) error {
	answers, err := had(ctx, c, false, nil)
	if err != nil {
		return err
	}
	return alike(ctx, c, answers)
}

func verifyForget(ctx context.Context, c Config) error {
	s, err := ready(ctx, c)
	if err != nil {
		return err
	}
	defer s.free()
	first, err := s.talk(ctx, moments(s.hooks, verifyKey), false, nil)
	if err != nil {
		return err
	}
	for _, key := range []session.Key{verifyKey, {App: "verify", User: "nobody", ID: "unknown"}} {
		if err := s.message(&wire.HostMessage{Message: &wire.HostMessage_Forget{Forget: &wire.Forget{Key: wireKey(key)}}}); err != nil {
			return err
		}
	}
	second, err := s.talk(ctx, moments(s.hooks, verifyKey), false, nil)
	if err != nil {
		return fmt.Errorf("after Forget: %w", err)
	}
	for i := range first {
		if failed := strings.Contains(second[i], " failure: "); failed && !strings.Contains(first[i], " failure: ") {
			return fmt.Errorf("after Forget, call %d fails: %s", i+1, second[i])
		}
	}
	return nil
}

func verifyUnknown(ctx context.Context, c Config) error {
	s, err := suspected(ctx, c)
	if err != nil {
		return err
	}
	defer s.free()
	if s.about, err = s.service.Describe(ctx, withUnknown(&wire.Host{Protocol: protocolVersion})); err != nil {
		return fmt.Errorf("Describe: %w", err)
	}
	if s.sub, err = s.service.Configure(ctx, withUnknown(&wire.Configuration{Settings: c.Settings, Name: s.about.Name})); err != nil {
		return fmt.Errorf("Configure: %w", err)
	}
	answers, err := had(ctx, c, false, withUnknown)
	if err != nil {
		return err
	}
	return alike(ctx, c, answers)
}

// someCall returns a call of a hook that the plugin has, of a session of its own, and how it is answered.
func (s *suspect) someCall(id string) (*wire.Call, args) {
	all := moments(s.hooks, session.Key{App: "verify", User: "ann", ID: id})
	if len(all) == 0 { // its filter selects none of them
		return s.anyEvent(id, "Hello"), args{hook: plugin.OnEvent}
	}
	w, err := new(encoding).call(all[0])
	if err != nil {
		panic(err) // it is ours
	}
	return w, all[0].args
}

// anyEvent returns an ON_EVENT call with a text, whatever the plugin's filter says.
func (s *suspect) anyEvent(id, text string) *wire.Call {
	e := speech("a1", session.User, genai.NewContentFromText(text, genai.RoleUser))
	w, err := new(encoding).call(moment{args{hook: plugin.OnEvent, event: e}, &session.Invocation{ID: "i-a", Key: session.Key{App: "verify", User: "ann", ID: id}}})
	if err != nil {
		panic(err) // it is ours
	}
	return w
}

// goesOn returns an error unless the plugin answers another call, and has answered all of them once.
func (s *suspect) goesOn(ctx context.Context, after string) error {
	w, a := s.someCall("after")
	seq, err := s.send(w)
	if err == nil {
		_, err = s.answer(ctx, seq, a)
	}
	if err == nil {
		err = s.once(ctx)
	}
	if err != nil {
		return fmt.Errorf("after %s: %w", after, err)
	}
	return nil
}

func verifyUnknownMessage(ctx context.Context, c Config) error {
	s, err := ready(ctx, c)
	if err != nil {
		return err
	}
	defer s.free()
	m := &wire.HostMessage{}
	m.ProtoReflect().SetUnknown([]byte{0xa2, 0x06, 0x00}) // field 100, an empty message
	if err := s.message(m); err != nil {
		return err
	}
	return s.goesOn(ctx, "a message that it does not know")
}

func verifyUnknownHook(ctx context.Context, c Config) error {
	s, err := ready(ctx, c)
	if err != nil {
		return err
	}
	defer s.free()
	w := s.anyEvent("s1", "Hello")
	w.Hook = 77
	seq, err := s.send(w)
	if err != nil {
		return err
	}
	if err := s.until(ctx, "a call of hook 77", func() bool { return len(s.answers[seq]) > 0 }); err != nil {
		return err
	}
	return s.goesOn(ctx, "a hook that it does not know")
}

func verifyLarge(ctx context.Context, c Config) error {
	if c.MaxMessage < 6<<20 {
		return skipped(fmt.Sprintf("its messages have %d bytes at most", c.MaxMessage))
	}
	s, err := ready(ctx, c)
	if err != nil {
		return err
	}
	defer s.free()
	text := strings.Repeat("all work and no play ", 5<<20/21)
	var w *wire.Call
	a := args{hook: plugin.OnEvent}
	if s.hooks.OnEvent != nil {
		w = s.anyEvent("s1", text)
	} else { // it is in the live view
		all := moments(s.hooks, verifyKey)
		e := *speech("a0", session.User, genai.NewContentFromText(text, genai.RoleUser))
		e.Seq = 1
		inv := *all[0].inv
		inv.Live, inv.Input, inv.Position = []*session.Event{&e}, &e, 1
		a = all[0].args
		if w, err = new(encoding).call(moment{a, &inv}); err != nil {
			return err
		}
	}
	w.Remaining = durationpb.New(answerLimit)
	seq, err := s.send(w)
	if err != nil {
		return err
	}
	if _, err := s.answer(ctx, seq, a); err != nil {
		return fmt.Errorf("an event of 5 MB: %w", err)
	}
	return s.goesOn(ctx, "an event of 5 MB")
}

func verifyMany(ctx context.Context, c Config) error {
	s, err := ready(ctx, c)
	if err != nil {
		return err
	}
	defer s.free()
	const many = 200
	asked := map[uint64]args{}
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
	return s.goesOn(ctx, "many calls at once")
}

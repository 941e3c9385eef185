//go:build unix

package protocol

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/caller"
	"github.com/plughook/plughook/plugin/internal/transport"
	"github.com/plughook/plughook/plugin/remote/wire"
)

// receive keeps what the plugin sends, until the stream ends.
func (s *probe) receive() {
	for {
		m, err := s.calls.Recv()
		s.mu.Lock()
		switch {
		case err != nil:
			s.ended = err
		case m.GetPong() != nil:
			s.pongs++
		case m.GetLog() == nil:
			s.answers[m.Seq] = append(s.answers[m.Seq], m)
		}
		close(s.news)
		s.news = make(chan struct{})
		s.mu.Unlock()
		if err != nil {
			s.EndStdio() // a plugin ends when all its streams have
			return
		}
	}
}

// until waits until done returns true. what says in errors what it waits for. s.mu is held while
// done is called.
func (s *probe) until(ctx context.Context, what string, done func() bool) error {
	late := time.NewTimer(answerLimit)
	defer late.Stop()
	for {
		s.mu.Lock()
		isDone := done()
		ended := s.ended
		news := s.news
		s.mu.Unlock()
		switch {
		case isDone:
			return nil
		case ended != nil:
			if s.Ends(transport.LastWords) {
				return fmt.Errorf("%s: the process has ended with %s", what, s.HowItEnded())
			}
			return fmt.Errorf("%s: it has ended the stream: %w", what, ended)
		}
		select {
		case <-news:
		case <-late.C:
			return fmt.Errorf("%s: nothing came within %v", what, answerLimit)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// send sends a call under a new seq.
func (s *probe) send(call *wire.Call) (seq uint64, err error) {
	s.seq++
	return s.seq, s.message(&wire.HostMessage{Seq: s.seq, Message: &wire.HostMessage_Call{Call: call}})
}

// message sends a message.
func (s *probe) message(m *wire.HostMessage) error {
	if err := s.calls.Send(m); err != nil {
		return fmt.Errorf("it does not take messages any more: %w", err)
	}
	return nil
}

// answer waits for the answer to a call, and returns an error if it is none that the hook may give.
func (s *probe) answer(ctx context.Context, seq uint64, a plugin.Args) (*wire.PluginMessage, error) {
	var m *wire.PluginMessage
	if err := s.until(ctx, fmt.Sprintf("call %d (%s)", seq, a.Hook), func() bool {
		all := s.answers[seq]
		if len(all) > 0 {
			m = all[0]
		}
		return m != nil
	}); err != nil {
		return nil, err
	}
	out, _, err := caller.DecodeAnswer(m, a, s.Secrets())
	var panicked *plugin.PanicError
	switch {
	case errors.As(err, &panicked):
		return nil, fmt.Errorf("call %d (%s): %w\n%s", seq, a.Hook, err, panicked.Stack)
	case errors.Is(err, plugin.ErrOutcome):
		return nil, fmt.Errorf("call %d (%s): %w", seq, a.Hook, err)
	case err == nil:
		err = out.Check(a.Hook)
		if err != nil {
			return nil, fmt.Errorf("call %d (%s): %w", seq, a.Hook, err)
		}
	}
	return m, nil
}

// ask sends a call and waits for its answer.
func (s *probe) ask(ctx context.Context, call *wire.Call, a plugin.Args) (*wire.PluginMessage, error) {
	seq, err := s.send(call)
	if err != nil {
		return nil, err
	}
	return s.answer(ctx, seq, a)
}

// answeredOnce returns an error unless every call that was sent was answered once. It waits for a
// pong first, so that what the plugin has sent before has come.
func (s *probe) answeredOnce(ctx context.Context) error {
	if err := s.ping(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for seq, all := range s.answers {
		if seq == 0 || seq > s.seq {
			return fmt.Errorf("it answered call %d, which was never made: %v", seq, all[0])
		}
		if len(all) > 1 {
			return fmt.Errorf("it answered call %d %d times", seq, len(all))
		}
	}
	for seq := uint64(1); seq <= s.seq; seq++ {
		if len(s.answers[seq]) == 0 {
			return fmt.Errorf("it never answered call %d", seq)
		}
	}
	return nil
}

// ping sends a ping and waits for its pong.
func (s *probe) ping(ctx context.Context) error {
	s.mu.Lock()
	had := s.pongs
	s.mu.Unlock()
	if err := s.message(&wire.HostMessage{Message: &wire.HostMessage_Ping{Ping: &wire.Ping{}}}); err != nil {
		return err
	}
	return s.until(ctx, "ping", func() bool { return s.pongs > had })
}

// ends returns an error unless the process ends soon. after says in the error what it ends by.
func (s *probe) ends(after string) error {
	if s.Ends(endLimit) {
		return nil
	}
	return fmt.Errorf("it still runs %v after %s", endLimit, after)
}

// withUnknown returns a message with an unknown field in it and in all that is in it.
func withUnknown[M proto.Message](m M) M {
	m = proto.CloneOf(m)
	addUnknownBelow(m.ProtoReflect())
	return m
}

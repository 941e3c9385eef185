//go:build unix

package protocol

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/plughook/plughook/plugin/remote/wire"
)

func checkCancel(ctx context.Context, s *probe) error {
	cancel := func(seq uint64) error {
		return s.message(&wire.HostMessage{Seq: seq, Message: &wire.HostMessage_Cancel{Cancel: &wire.Cancel{}}})
	}
	w, a := s.someCall("s1")
	seq, err := s.send(w)
	if err != nil {
		return err
	}
	if err := errors.Join(cancel(seq), cancel(4711)); err != nil {
		return err
	}
	if _, err := s.answer(ctx, seq, a); err != nil {
		return fmt.Errorf("cancelled: %w", err)
	}
	if err := cancel(seq); err != nil { // it is answered
		return err
	}
	return s.stillAnswers(ctx, "a cancelled call")
}

func checkRemaining(ctx context.Context, s *probe) error {
	for _, left := range []*durationpb.Duration{durationpb.New(0), durationpb.New(-time.Second), nil} {
		w, a := s.someCall("s1")
		w.Remaining = left
		if _, err := s.ask(ctx, w, a); err != nil {
			return fmt.Errorf("with %v remaining: %w", left.AsDuration(), err)
		}
	}
	return s.stillAnswers(ctx, "calls without time")
}

func checkPing(ctx context.Context, s *probe) error {
	for i := range 20 {
		w, _ := s.someCall(fmt.Sprint("s", i))
		if _, err := s.send(w); err != nil {
			return err
		}
		if err := s.ping(ctx); err != nil {
			return fmt.Errorf("while %d calls run: %w", i+1, err)
		}
	}
	return nil
}

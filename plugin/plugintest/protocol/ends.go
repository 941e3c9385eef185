//go:build unix

package protocol

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/plughook/plughook/plugin/remote/wire"
)

func checkDrain(ctx context.Context, s *probe) error {
	const calls = 20
	for i := range calls {
		w, _ := s.someCall(fmt.Sprint("s", i))
		if _, err := s.send(w); err != nil {
			return err
		}
	}
	if err := s.message(&wire.HostMessage{Message: &wire.HostMessage_Drain{Drain: &wire.Drain{}}}); err != nil {
		return err
	}
	var ended error
	_ = s.until(ctx, "the end of the stream", func() bool { ended = s.ended; return ended != nil })
	switch {
	case ended == nil:
		return fmt.Errorf("it has not ended the stream %v after Drain", answerLimit)
	case !errors.Is(ended, io.EOF):
		return fmt.Errorf("it has ended the stream with an error: %w", ended)
	}
	for seq := uint64(1); seq <= calls; seq++ {
		n := len(s.answers[seq])
		if n != 1 {
			return fmt.Errorf("call %d, which came before Drain, was answered %d times", seq, n)
		}
	}
	return s.ends("the end of the stream")
}

func checkShutdown(ctx context.Context, s *probe) error {
	// The process may end before it answers, so an error means nothing by itself.
	failed := s.RPC.Invoke(ctx, "/plugin.GRPCController/Shutdown", &emptypb.Empty{}, &emptypb.Empty{})
	if err := s.ends("Shutdown"); err != nil {
		return errors.Join(err, failed)
	}
	return nil
}

func checkStdin(ctx context.Context, s *probe) error {
	if err := s.CloseStdin(); err != nil {
		return err
	}
	return s.ends("the end of its standard input")
}

func checkGone(ctx context.Context, s *probe) error {
	if err := s.stillAnswers(ctx, "the start"); err != nil {
		return err
	}
	_ = s.RPC.Close()
	if s.hangUp != nil {
		_ = s.hangUp()
	}
	return s.ends("the end of the connection")
}

func checkTerm(ctx context.Context, s *probe) error {
	if err := s.stillAnswers(ctx, "the start"); err != nil {
		return err
	}
	s.Terminate()
	return s.ends("SIGTERM")
}

//go:build unix

package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/genai"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

// verifyEnds are the cases of how a plugin ends.
var verifyEnds = []verifyCase{
	{"health", "Start: the plugin's server has grpc.health.v1.Health, as every go-plugin server, where the service plugin is SERVING.", false, verifyHealth},
	{"drain", "Calls: after Drain no call comes. The plugin answers what it has and ends the stream; then it ends.", false, verifyDrain},
	{"shutdown", "Start: GRPCController's Shutdown ends the process.", false, verifyShutdown},
	{"standard input ends", "Start: the host holds standard input open. Its end means that the host is gone: the plugin ends too.", false, verifyStdin},
	{"the connection ends", "Start: the end of the stream means that the host is gone, however that came: the plugin ends too.", false, verifyGone},
	{"SIGTERM", "Start: to end the plugin, the host drains it, then sends SIGTERM. (As process 1 of its namespace it has to handle that: the system does nothing.)", false, verifyTerm},
	{"killed and replaced", "A process that is killed is replaced, and what it had is sent anew: it must not need what another process left behind.", false, verifyKilled},
	{"started by hand", "Start: without the cookie PLUGHOOK_PLUGIN=v1 a plugin says what it is and ends.", false, verifyByHand},
}

func verifyCancel(ctx context.Context, c Config) error {
	s, err := ready(ctx, c)
	if err != nil {
		return err
	}
	defer s.free()
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
	return s.goesOn(ctx, "a cancelled call")
}

func verifyRemaining(ctx context.Context, c Config) error {
	s, err := ready(ctx, c)
	if err != nil {
		return err
	}
	defer s.free()
	for _, left := range []*durationpb.Duration{durationpb.New(0), durationpb.New(-time.Second), nil} {
		w, a := s.someCall("s1")
		w.Remaining = left
		seq, err := s.send(w)
		if err != nil {
			return err
		}
		if _, err := s.answer(ctx, seq, a); err != nil {
			return fmt.Errorf("with %v remaining: %w", left.AsDuration(), err)
		}
	}
	return s.goesOn(ctx, "calls without time")
}

func verifyDuplicates(ctx context.Context, c Config) error {
	s, err := ready(ctx, c)
	if err != nil {
		return err
	}
	defer s.free()
	if s.hooks.OnEvent != nil { // a run that was repeated offers its input again
		for range 2 {
			seq, err := s.send(s.anyEvent("s1", "Hello"))
			if err != nil {
				return err
			}
			if _, err := s.answer(ctx, seq, args{hook: plugin.OnEvent}); err != nil {
				return fmt.Errorf("an event that was offered before: %w", err)
			}
		}
	}
	e := *speech("a1", session.User, genai.NewContentFromText("Hello", genai.RoleUser))
	e.Seq = 1
	for i := range 3 {
		all := moments(s.hooks, session.Key{App: "verify", User: "ann", ID: "s1"})
		if len(all) == 0 {
			return s.goesOn(ctx, "a duplicate")
		}
		m := all[0]
		m.inv = &session.Invocation{ID: fmt.Sprint("i-", i), Key: m.inv.Key, Input: &e, Live: []*session.Event{&e}, Position: 1}
		if m.request != nil {
			m.request = &model.Request{Agent: "bot", Contents: []*genai.Content{e.Content}}
		}
		w, err := new(encoding).call(m) // the event comes each time
		if err != nil {
			return err
		}
		w.Invocation.Fresh = i == 0
		seq, err := s.send(w)
		if err != nil {
			return err
		}
		if _, err := s.answer(ctx, seq, m.args); err != nil {
			return fmt.Errorf("an event that it has: %w", err)
		}
	}
	return s.goesOn(ctx, "a duplicate")
}

func verifyPing(ctx context.Context, c Config) error {
	s, err := ready(ctx, c)
	if err != nil {
		return err
	}
	defer s.free()
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

func verifyHealth(ctx context.Context, c Config) error {
	s, err := ready(ctx, c)
	if err != nil {
		return err
	}
	defer s.free()
	r, err := grpc_health_v1.NewHealthClient(s.rpc).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: "plugin"})
	if err != nil {
		return err
	}
	if r.Status != grpc_health_v1.HealthCheckResponse_SERVING {
		return fmt.Errorf("it says %v", r.Status)
	}
	return nil
}

func verifyDrain(ctx context.Context, c Config) error {
	s, err := ready(ctx, c)
	if err != nil {
		return err
	}
	defer s.free()
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
		if n := len(s.answers[seq]); n != 1 {
			return fmt.Errorf("call %d, which came before Drain, was answered %d times", seq, n)
		}
	}
	return s.ends("the end of the stream")
}

func verifyShutdown(ctx context.Context, c Config) error {
	s, err := ready(ctx, c)
	if err != nil {
		return err
	}
	defer s.free()
	// It may be gone before it has answered.
	failed := s.rpc.Invoke(ctx, "/plugin.GRPCController/Shutdown", &emptypb.Empty{}, &emptypb.Empty{})
	if err := s.ends("Shutdown"); err != nil {
		return errors.Join(err, failed)
	}
	return nil
}

func verifyStdin(ctx context.Context, c Config) error {
	s, err := ready(ctx, c)
	if err != nil {
		return err
	}
	defer s.free()
	if err := s.child.stdin.Close(); err != nil {
		return err
	}
	return s.ends("the end of its standard input")
}

func verifyGone(ctx context.Context, c Config) error {
	s, err := ready(ctx, c)
	if err != nil {
		return err
	}
	defer s.free()
	if err := s.goesOn(ctx, "the start"); err != nil {
		return err
	}
	_ = s.rpc.Close()
	return s.ends("the end of the connection")
}

func verifyTerm(ctx context.Context, c Config) error {
	s, err := ready(ctx, c)
	if err != nil {
		return err
	}
	defer s.free()
	if err := s.goesOn(ctx, "the start"); err != nil {
		return err
	}
	s.child.signal(unix.SIGTERM)
	return s.ends("SIGTERM")
}

func verifyKilled(ctx context.Context, c Config) error {
	h, err := Open(ctx, c)
	if err != nil {
		return err
	}
	p := h.Plugin()
	defer func() { _ = p.Close(ctx) }()
	all := moments(p, verifyKey)
	if len(all) == 0 {
		return skipped("its filter selects nothing of a conversation")
	}
	for i, m := range all {
		if i == len(all)/2 {
			was := h.Health()
			if err := unix.Kill(was.PID, unix.SIGKILL); err != nil {
				return err
			}
			if err := replaced(ctx, h, was); err != nil {
				return err
			}
		}
		if err := callMoment(ctx, p, m); errors.Is(err, ErrGone) || errors.Is(err, plugin.ErrPanic) {
			return fmt.Errorf("call %d of %d, the process was killed before call %d: %w", i+1, len(all), len(all)/2+1, err)
		}
	}
	return nil
}

// replaced waits until another process serves.
func replaced(ctx context.Context, h *Host, was Health) error {
	for late := time.Now().Add(endLimit); time.Now().Before(late) && ctx.Err() == nil; time.Sleep(time.Millisecond) {
		switch now := h.Health(); {
		case now.State == Quarantined:
			return fmt.Errorf("it is not replaced: %s", now.LastError)
		case now.State == Ready && now.Restarts > was.Restarts:
			return nil
		}
	}
	return fmt.Errorf("it was killed, and is not replaced after %v: %s", endLimit, h.Health().LastError)
}

// callMoment calls the hook that a moment is about.
func callMoment(ctx context.Context, p *plugin.Plugin, m moment) (err error) {
	switch m.hook {
	case plugin.BeforeRun:
		_, err = p.BeforeRun(ctx, m.inv)
	case plugin.BeforeModel:
		_, err = p.BeforeModel(ctx, m.inv, m.request.Clone())
	case plugin.OnEvent:
		_, err = p.OnEvent(ctx, m.inv, m.event)
	case plugin.AfterRun:
		_, err = p.AfterRun(ctx, m.inv, m.end)
	}
	return err
}

func verifyByHand(ctx context.Context, c Config) error {
	path, err := executable(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, endLimit)
	defer cancel()
	env, _ := environment(c, c.Log)
	in, held, err := os.Pipe() // its end is not why it ends
	if err != nil {
		return err
	}
	defer in.Close()
	defer held.Close()
	var words bytes.Buffer
	cmd := exec.CommandContext(ctx, path)
	cmd.Args, cmd.Env, cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Command, env, c.Dir, in, &words, &words
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = lastWords
	err = cmd.Run()
	_, ended := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("it runs on %v after it was started without the cookie", endLimit)
	case err != nil && !ended && !errors.Is(err, exec.ErrWaitDelay):
		return err
	case len(bytes.TrimSpace(words.Bytes())) == 0:
		return errors.New("it ends without a word")
	}
	return nil
}

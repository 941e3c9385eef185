//go:build unix

package remote

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote/wire"
)

// suspect is a process of a plugin that is verified. Nothing is done for it that a case does not ask for.
type suspect struct {
	*process
	service wire.PluginClient
	hooks   *plugin.Plugin // what it has subscribed to
	calls   interface {
		Send(*wire.HostMessage) error
		Recv() (*wire.PluginMessage, error)
	}
	reading sync.WaitGroup

	mu      sync.Mutex
	news    chan struct{} // closed, and made anew, when something has come
	answers map[uint64][]*wire.PluginMessage
	pongs   int
	ended   error // how the stream has ended
	seq     uint64
}

// suspected starts a process and connects to it.
func suspected(ctx context.Context, c Config) (*suspect, error) {
	p := &process{name: c.label(), config: c, log: c.Log, stopping: make(chan struct{}), read: make(chan struct{})}
	p.life, p.end = context.WithCancel(context.Background())
	s := &suspect{process: p, news: make(chan struct{}), answers: map[uint64][]*wire.PluginMessage{}}
	within, cancel := context.WithTimeoutCause(ctx, c.StartTimeout, fmt.Errorf("it did not start within %v", c.StartTimeout))
	defer cancel()
	err := s.reach(within)
	if err == nil && !p.released() {
		err = context.Cause(within)
	}
	if err != nil {
		err = p.explain(within, err)
		p.free()
		return nil, err
	}
	return s, nil
}

// reach starts the process, learns where it listens and connects.
func (s *suspect) reach(ctx context.Context) (err error) {
	if err := s.config.check(); err != nil {
		return err
	}
	for name, want := range s.config.Files {
		path, err := within(s.config.Dir, name)
		if err != nil {
			return err
		}
		sum, err := hashFile(path)
		if err != nil {
			return err
		}
		if err := compare(name, want, sum); err != nil {
			return err
		}
	}
	path, err := executable(s.config)
	if err != nil {
		return err
	}
	if sum := s.config.SHA256; sum != "" {
		if s.image, err = pin(path, s.config.Command[0], sum); err != nil {
			return err
		}
	}
	if s.dir, err = newPrivateDir(socketBase()); err != nil {
		return err
	}
	env, secret := environment(s.config, s.log)
	s.out = newOutput(s.log.With("plugin", s.name), secret)
	if err := s.handshake(ctx, path, env); err != nil {
		return err
	}
	if err := s.connect(); err != nil {
		return err
	}
	s.service = wire.NewPluginClient(s.rpc)
	return nil
}

// free ends the process and frees what belongs to it.
func (s *suspect) free() {
	s.process.end()
	s.process.free()
	s.reading.Wait()
}

// configure tells the plugin its settings.
func (s *suspect) configure(ctx context.Context) (err error) {
	host := &wire.Host{Protocol: protocolVersion}
	if s.about, err = s.service.Describe(ctx, host); err != nil {
		return fmt.Errorf("Describe: %w", err)
	}
	if err := checkSettings(s.about.Settings, s.config.Settings); err != nil {
		return err
	}
	if s.config.Name == "" {
		s.name = s.about.Name
	}
	if s.sub, err = s.service.Configure(ctx, &wire.Configuration{Settings: s.config.Settings, Name: s.name}); err != nil {
		return fmt.Errorf("Configure: %w", err)
	}
	s.hooks = hooks(s.sub, nil)
	return nil
}

// ready starts a process that can be called.
func ready(ctx context.Context, c Config) (*suspect, error) {
	s, err := suspected(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := s.configure(ctx); err != nil {
		s.free()
		return nil, err
	}
	calls, err := s.service.Serve(s.life)
	if err != nil {
		s.free()
		return nil, fmt.Errorf("Serve: %w", err)
	}
	s.calls = calls
	s.reading.Go(s.receive)
	return s, nil
}

func (s *suspect) receive() {
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
			s.endStdio() // a plugin ends when all its streams have
			return
		}
	}
}

// until waits until something is so. s.mu is held while is is called.
func (s *suspect) until(ctx context.Context, what string, is func() bool) error {
	late := time.NewTimer(answerLimit)
	defer late.Stop()
	for {
		s.mu.Lock()
		done, ended, news := is(), s.ended, s.news
		s.mu.Unlock()
		switch {
		case done:
			return nil
		case ended != nil:
			if s.child.within(lastWords) {
				s.waitRead(lastWords)
				return fmt.Errorf("%s: the process has ended with %s%s", what, s.child.end(), s.lastOutput())
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
func (s *suspect) send(call *wire.Call) (seq uint64, err error) {
	s.seq++
	return s.seq, s.message(&wire.HostMessage{Seq: s.seq, Message: &wire.HostMessage_Call{Call: call}})
}

func (s *suspect) message(m *wire.HostMessage) error {
	if err := s.calls.Send(m); err != nil {
		return fmt.Errorf("it does not take messages any more: %w", err)
	}
	return nil
}

// answer waits for the answer to a call, and returns an error if it is none that the hook may give.
func (s *suspect) answer(ctx context.Context, seq uint64, a args) (*wire.PluginMessage, error) {
	var m *wire.PluginMessage
	if err := s.until(ctx, fmt.Sprintf("call %d (%s)", seq, a.hook), func() bool {
		if all := s.answers[seq]; len(all) > 0 {
			m = all[0]
		}
		return m != nil
	}); err != nil {
		return nil, err
	}
	out, err := decodeAnswer(m, a)
	var panicked *plugin.PanicError
	switch {
	case errors.As(err, &panicked):
		return nil, fmt.Errorf("call %d (%s): %w\n%s", seq, a.hook, err, panicked.Stack)
	case errors.Is(err, plugin.ErrOutcome):
		return nil, fmt.Errorf("call %d (%s): %w", seq, a.hook, err)
	case err == nil:
		err = out.Check(a.hook)
		if err != nil {
			return nil, fmt.Errorf("call %d (%s): %w", seq, a.hook, err)
		}
	}
	return m, nil
}

// once returns an error unless every call that was sent was answered, and once. A ping makes sure that what
// was about to come has come, as far as that goes.
func (s *suspect) once(ctx context.Context) error {
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
func (s *suspect) ping(ctx context.Context) error {
	s.mu.Lock()
	had := s.pongs
	s.mu.Unlock()
	if err := s.message(&wire.HostMessage{Message: &wire.HostMessage_Ping{Ping: &wire.Ping{}}}); err != nil {
		return err
	}
	return s.until(ctx, "ping", func() bool { return s.pongs > had })
}

// ends waits for the end of the process.
func (s *suspect) ends(after string) error {
	if s.child.within(endLimit) {
		return nil
	}
	return fmt.Errorf("it runs on %v after %s", endLimit, after)
}

// withUnknown returns a message with an unknown field in it and in all that is in it.
func withUnknown[M proto.Message](m M) M {
	m = proto.CloneOf(m)
	addUnknownBelow(m.ProtoReflect())
	return m
}

//go:build unix

package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

func verifyStarts(ctx context.Context, c target) error {
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

func verifyDescribe(ctx context.Context, c target) error {
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

func verifyConfigure(ctx context.Context, c target) error {
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

func verifySettings(ctx context.Context, c target) error {
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

func verifyHealth(ctx context.Context, c target) error {
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

func verifyByHand(ctx context.Context, c target) error {
	path, err := executable(c.Config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, endLimit)
	defer cancel()
	env, _ := environment(c.Config, c.Log)
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

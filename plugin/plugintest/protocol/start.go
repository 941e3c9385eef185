//go:build unix

package protocol

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/internal/process"
	"github.com/plughook/plughook/plugin/internal/transport"
	"github.com/plughook/plughook/plugin/remote"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

func checkStarts(ctx context.Context, s *probe) error {
	if dir := s.SocketDir(); !strings.HasPrefix(s.Address, dir) {
		return fmt.Errorf("it listens at %s; PLUGIN_UNIX_SOCKET_DIR is %s", s.Address, dir)
	}
	_, err := s.service.Describe(ctx, &wire.Host{Protocol: transport.ProtocolVersion})
	return err
}

func checkDescribe(ctx context.Context, c target) error {
	var first *wire.Description
	for range 2 {
		s, err := newProbe(ctx, c)
		if err != nil {
			return err
		}
		defer s.free()
		for range 2 {
			d, err := s.service.Describe(ctx, &wire.Host{Protocol: transport.ProtocolVersion})
			if err != nil {
				return err
			}
			if first == nil {
				first = d
			}
			if !proto.Equal(first, d) {
				return fmt.Errorf("it answered %v, and later %v", first, d)
			}
		}
	}
	if first.Protocol != transport.ProtocolVersion {
		return fmt.Errorf("its protocol is version %d, and this one is version %d", first.Protocol, transport.ProtocolVersion)
	}
	if err := plugin.Validate(&plugin.Plugin{Name: first.Name, OnEvent: func(context.Context, *session.Invocation, *session.Event) (plugin.Outcome, error) {
		return plugin.Outcome{}, nil
	}}); err != nil {
		return err
	}
	if err := message.CheckSettings(ctx, first.Settings, nil); err != nil && !errors.Is(err, remote.ErrSettings) {
		return err
	}
	return nil
}

func checkConfigure(ctx context.Context, s *probe) error {
	if err := s.configure(ctx); err != nil {
		if errors.Is(err, remote.ErrSettings) || status.Code(errors.Unwrap(err)) == codes.InvalidArgument {
			return fmt.Errorf("%w\nPass the settings that it needs", err)
		}
		return err
	}
	for _, h := range s.sub.Hooks {
		if wire.Hook_name[int32(h)] == "" || h == wire.Hook_HOOK_UNSPECIFIED {
			return fmt.Errorf("it subscribes to hook %d, and there is no such hook", h)
		}
	}
	return plugin.Validate(s.hooks)
}

// unfit returns settings that do not fit a schema, nil if none of those tried is refused.
func unfit(ctx context.Context, schema []byte) []byte {
	for _, s := range []string{`{"plughook-no-such-setting":1}`, `{"":[]}`} {
		if errors.Is(message.CheckSettings(ctx, schema, []byte(s)), remote.ErrSettings) {
			return []byte(s)
		}
	}
	return nil
}

func checkSettings(ctx context.Context, s *probe) error {
	d, err := s.service.Describe(ctx, &wire.Host{Protocol: transport.ProtocolVersion})
	if err != nil {
		return err
	}
	bad := unfit(ctx, d.Settings)
	if bad == nil {
		return skipped("its schema allows all settings that were tried")
	}
	_, err = s.service.Configure(ctx, &wire.Configuration{Settings: bad, Name: d.Name})
	switch {
	case err == nil: // the host checks them before, so a plugin need not
		return skipped("it leaves the check of its settings to the host")
	case status.Code(err) != codes.InvalidArgument:
		return fmt.Errorf("with the settings %s it answers %v %q; it has to be INVALID_ARGUMENT", bad, status.Code(err), process.PluginError(err))
	case process.PluginError(err).Error() == "":
		return fmt.Errorf("with the settings %s it answers INVALID_ARGUMENT and does not say why", bad)
	}
	if _, err := s.service.Describe(ctx, &wire.Host{Protocol: transport.ProtocolVersion}); err != nil {
		return fmt.Errorf("after it has refused settings: %w", err)
	}
	return nil
}

func checkHealth(ctx context.Context, s *probe) error {
	r, err := grpc_health_v1.NewHealthClient(s.RPC).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: "plugin"})
	if err != nil {
		return err
	}
	if r.Status != grpc_health_v1.HealthCheckResponse_SERVING {
		return fmt.Errorf("its health is %v, not SERVING", r.Status)
	}
	return nil
}

func checkByHand(ctx context.Context, c target) error {
	ctx, cancel := context.WithTimeout(ctx, endLimit)
	defer cancel()
	words, err := c.spec().RunByHand(ctx, c.Log)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("it still runs %v after it was started without the cookie", endLimit)
	case err != nil:
		return err
	case len(bytes.TrimSpace(words)) == 0:
		return errors.New("it ends and prints nothing")
	}
	return nil
}

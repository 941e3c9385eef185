//go:build unix

package remote

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/internal/testplugin"
	"github.com/plughook/plughook/plugin/remote/wire"
)

func init() {
	testplugin.Programs["hostile"] = func() {
		path := filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "s")
		l, err := net.Listen("unix", path)
		if err != nil {
			panic(err)
		}
		fmt.Println("1|1|unix|" + path + "|grpc")
		s := grpc.NewServer()
		wire.RegisterPluginServer(s,
			hostile{how: os.Args[3], secret: os.Getenv("SECRET_OF_THE_TEST")})
		panic(s.Serve(l))
	}
}

// hostile is a plugin that speaks the protocol by itself, and does what none should.
type hostile struct {
	wire.UnimplementedPluginServer
	how, secret string
}

func (h hostile) Describe(context.Context, *wire.Host) (*wire.Description, error) {
	d := &wire.Description{Protocol: 1, Name: "hostile", Version: "1 " + h.secret, Doc: h.secret}
	switch h.how {
	case "large schema":
		d.Settings = []byte(`{"anyOf":[` + strings.Repeat("{},", message.MaxValues) + `{}]}`)
	case "fan-out": // each definition refers twice to the next
		d.Settings = []byte(`{"type":"object","allOf":[{"$ref":"#/$defs/a0"}],"$defs":{`)
		for i := range 60 {
			d.Settings = fmt.Appendf(d.Settings,
				`"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]},`, i, i+1, i+1)
		}
		d.Settings = append(d.Settings, `"a60":{}}}`...)
	case "deep schema":
		name := strings.Repeat("n", 5000)
		d.Settings = []byte(
			strings.Repeat(`{"type":"object","properties":{"`+name+`":`,
				480) + "{}" + strings.Repeat("}}", 480),
		)
	case "does not describe":
		return nil, fmt.Errorf("not with %s", h.secret)
	}
	return d, nil
}

func (h hostile) Configure(context.Context, *wire.Configuration) (*wire.Subscription, error) {
	return &wire.Subscription{Hooks: []wire.Hook{wire.Hook_ON_EVENT}}, nil
}

func (h hostile) Serve(s grpc.BidiStreamingServer[wire.HostMessage, wire.PluginMessage]) error {
	failed := func(f *wire.Failure) *wire.PluginMessage {
		return &wire.PluginMessage{Message: &wire.PluginMessage_Failure{Failure: f}}
	}
	answered := func(o *wire.Outcome) *wire.PluginMessage {
		return &wire.PluginMessage{Message: &wire.PluginMessage_Outcome{Outcome: o}}
	}
	for {
		m, err := s.Recv()
		if err != nil {
			return err
		}
		if m.GetDrain() != nil && h.how == "stays" {
			signal.Ignore(syscall.SIGTERM)
			_ = s.Send(answered(&wire.Outcome{}))
			select {}
		}
		if m.GetDrain() != nil {
			return nil
		}
		if m.GetCall() == nil {
			continue
		}
		_ = s.Send(&wire.PluginMessage{
			Message: &wire.PluginMessage_Log{Log: &wire.Log{Message: "log " + h.secret,
				Attrs: []byte(
					`{"key-` + h.secret + `":"x","in":{"k-` + h.secret + `":["` + h.secret + `"]}}`,
				)}},
		})
		answer := answered(&wire.Outcome{})
		switch h.how {
		case "fails":
			answer = failed(&wire.Failure{
				Error: &wire.Error{
					Message: "dial with " + h.secret,
					Plugin:  h.secret,
					Hook:    h.secret,
				},
			})
		case "panics":
			answer = failed(&wire.Failure{
				Error: &wire.Error{Message: "with " + h.secret},
				Stack: "stack " + h.secret,
			})
		case "unchecked":
			answer = answered(&wire.Outcome{Unchecked: "unchecked " + h.secret})
		case "reason":
			answer = answered(&wire.Outcome{Reason: "because " + h.secret})
		case "nonsense":
			answer = answered(
				&wire.Outcome{Replace: []byte(`{"customMetadata":{"` + h.secret + `":tru}}`)})
		case "ends the stream":
			return fmt.Errorf("no more %s", h.secret)
		}
		answer.Seq = m.Seq
		if err := s.Send(answer); err != nil {
			return err
		}
	}
}

// A secret that a plugin was granted is in nothing that it says to people, whatever way that goes.
func TestASecretIsInNothingThatAPluginSays(t *testing.T) {
	for _, how := range []string{"fails", "panics", "unchecked", "reason", "nonsense", "ends the stream", "does not describe"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			log := new(testplugin.Log)
			c := command("hostile", how)
			c.Env = append(c.Env, "BEGINS_ALIKE=hunter", "SECRET_OF_THE_TEST=hunter2&hunter")
			c.Log = log.Logger()
			h, err := Open(t.Context(), c)
			if how == "does not describe" {
				require.ErrorContains(t, err, "not with $SECRET_OF_THE_TEST")
				require.NotContains(t, err.Error(), "hunter")
				return
			}
			require.NoError(t, err)
			out, err := fire(t.Context(), plugin.FailOpen(h.Plugin()), plugin.OnEvent, "i")
			require.NoError(t, err)
			require.NotContains(t, fmt.Sprint(out, h.Health(), h.Plugin().Doc), "hunter")
			require.NotEmpty(t, out.Reason+out.Unchecked)
			_, err = fire(t.Context(), h.Plugin(), plugin.OnEvent, "i")
			for ; err != nil; err = unwrapped(err) {
				if p, ok := err.(*plugin.PanicError); ok {
					require.Contains(t, string(p.Stack), "stack $SECRET_OF_THE_TEST")
				}
				if _, ok := err.(*message.RedactedError); ok {
					require.NotContains(t, err.Error(), "hunter")
					break // what it hides is for errors.Is
				}
				require.NotContains(t, fmt.Sprintf("%+v", err), "hunter")
			}
			require.NoError(t, h.Close(t.Context()))
			require.NotContains(t, log.String(), "hunter")
			require.Contains(t, log.String(), `key-$SECRET_OF_THE_TEST`)
			require.Contains(t, log.String(), `k-$SECRET_OF_THE_TEST`)
		})
	}
}

// unwrapped returns what is below an error, the last if that is several.
func unwrapped(err error) error {
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return e.Unwrap()
	case interface{ Unwrap() []error }:
		if list := e.Unwrap(); len(list) > 0 {
			return list[len(list)-1]
		}
	}
	return nil
}

func TestASchemaOfTooManyValues(t *testing.T) {
	_, err := start(t.Context(), command("hostile", "large schema"), testplugin.Discard)
	require.ErrorIs(t, err, ErrTooLarge)
}

// What the schema of a plugin costs its host is bounded.
func TestASchemaThatTakesLong(t *testing.T) {
	for how, want := range map[string]string{
		"fan-out":     "its schema of settings: the check against the schema would take more than the 1000000 steps",
		"deep schema": "its schema of settings: the schema has 2417282 bytes; at most 1048576 are allowed",
	} {
		_, err := start(t.Context(), command("hostile", how),
			testplugin.Discard) // which has a minute
		require.ErrorContains(t, err, want)
	}
}

// That a plugin does not end by itself is a warning: what was asked of it was done. That its
// Close fails is an error.
func TestCloseReturnsWhatFailed(t *testing.T) {
	for _, test := range []struct {
		name    string
		command []string
		says    string
	}{
		{"it ends", []string{"asked"}, ""},
		{"it has to be killed", []string{"hostile", "stays"}, ""},
		{"it does not know SIGTERM", []string{"hostile", "goes on"}, ""},
		{"its Close fails", []string{"close fails"}, "exit status 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			log := new(testplugin.Log)
			c := command(test.command[0], test.command[1:]...)
			c.Log = log.Logger()
			h, err := Open(t.Context(), c)
			require.NoError(t, err)
			if err = h.Close(t.Context()); test.says == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, test.says)
			}
			if test.name == "it has to be killed" {
				require.Regexp(t, "level=WARN .*was killed", log.String())
			}
		})
	}
}

// The error of a process that ends under a memory limit names that.
func TestAMemoryLimitIsNamed(t *testing.T) {
	c := command("dies")
	_, err := start(t.Context(), c, testplugin.Discard)
	require.NotContains(t, err.Error(), "memory")
	c.Limits.Memory = 512 << 20
	_, err = start(t.Context(), c, testplugin.Discard)
	require.ErrorContains(t, err, "exit status 3 (limits: it may have 536870912 bytes of memory)")
	c.Limits.Memory, c.StartTimeout = 512, 5*time.Second
	_, err = start(t.Context(), c, testplugin.Discard)
	require.ErrorContains(t, err, "it may have 512 bytes of memory")
}

//go:build unix

package protocol

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/callee"
	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/internal/testplugin"
	"github.com/plughook/plughook/plugin/internal/transport"
	"github.com/plughook/plughook/plugin/remote"
	"github.com/plughook/plughook/plugin/remote/serve"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

// soundPlugins are plugins that use package serve, so no check fails.
var soundPlugins = map[string]func(){
	"verified all": func() {
		p := testplugin.Ask(
			func(_ context.Context, text string) (string, error) { return "seen " + text, nil })
		p.BeforeRun = func(_ context.Context, inv *session.Invocation) (plugin.Outcome, error) {
			return plugin.Outcome{
				Emit: []*session.Event{
					session.Reply(fmt.Sprint("live ", len(inv.Live), " state ", inv.State)),
				},
			}, nil
		}
		p.BeforeModel = func(_ context.Context, _ *session.Invocation, req *model.Request) (plugin.Outcome, error) {
			req.Contents = req.Contents[1:]
			return plugin.Outcome{}, nil
		}
		p.AfterRun = func(_ context.Context, inv *session.Invocation, end plugin.End) (plugin.Outcome, error) {
			return plugin.Outcome{
				Emit: []*session.Event{session.Reply(fmt.Sprint(end.Kind, end.Err, inv.Frontier))},
			}, nil
		}
		serve.Plugin(p)
	},
	"verified after run": func() {
		serve.Plugin(&plugin.Plugin{
			Name: "last",
			AfterRun: func(_ context.Context, inv *session.Invocation, _ plugin.End) (plugin.Outcome, error) {
				return plugin.Outcome{
					Emit: []*session.Event{session.Reply(inv.Live[0].Text())},
				}, nil
			},
		})
	},
	"verified filter": func() {
		p := testplugin.Ask(testplugin.Answer)
		p.Filter = &plugin.Filter{Authors: []string{"nobody"}}
		serve.Plugin(p)
	},
}

// flaws are what is wrong with a plugin that is written without this package's Serve, each with
// the case that finds it.
var flaws = []struct{ flaw, found string }{
	{"listens elsewhere", "starts"},
	{"is another one each time", "describe"},
	{"has a hook that is none", "configure"},
	{"filters by nothing", "configure"},
	{"refuses with a wrong code", "refuses settings"},
	{"refuses without a word", "refuses settings"},
	{"answers twice", "conversation"},
	{"promises frames", "conversation"},
	{"answers what was not asked", "conversation"},
	{"answers what the hook may not have", "conversation"},
	{"does not take in what was appended", "what is not sent again"},
	{"ends by Forget", "forget"},
	{"counts fields", "unknown fields"},
	{"ends by what it does not know", "unknown messages"},
	{"does not answer hooks that it does not know", "unknown hook"},
	{"takes 4 MB", "large event"},
	{"loses a call", "many calls"},
	{"ends by a late cancel", "cancel"},
	{"ends when there is no time", "no time left"},
	{"takes no event twice", "duplicates"},
	{"does not pong", "ping"},
	{"has no health", "health"},
	{"drains nothing", "drain"},
	{"does not drain", "drain"},
	{"does not shut down", "shutdown"},
	{"does not see its stdin end", "standard input ends"},
	{"survives the host", "the connection ends"},
	{"ignores SIGTERM", "SIGTERM"},
	{"leaves a lock behind", "killed and replaced"},
	{"waits without the cookie", "started by hand"},
	{"says nothing without the cookie", "started by hand"},
}

// flawed is a plugin with a flaw.
type flawed struct {
	wire.UnimplementedPluginServer
	flaw string
	plug *plugin.Plugin
}

func init() {
	for name, f := range soundPlugins {
		testplugin.Programs[name] = f
	}
	testplugin.Programs["flawed"] = func() { serveFlawed(os.Args[3], os.Args[4]) }
}

func serveFlawed(flaw, dir string) {
	f := &flawed{
		flaw: flaw,
		plug: testplugin.Ask(
			func(_ context.Context, text string) (string, error) { return "seen " + text, nil }),
	}
	if os.Getenv(transport.CookieKey) != transport.CookieValue {
		switch flaw {
		case "waits without the cookie":
			select {}
		case "says nothing without the cookie":
		default:
			fmt.Println("this is a plugin")
		}
		os.Exit(2)
	}
	lock := filepath.Join(dir, "lock")
	if flaw == "leaves a lock behind" {
		if _, err := os.OpenFile(lock, os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	end := func() { _ = os.Remove(lock); os.Exit(0) }
	if flaw != "does not see its stdin end" {
		go func() { _, _ = io.Copy(io.Discard, os.Stdin); end() }()
	}
	if flaw == "ignores SIGTERM" {
		signal.Ignore(unix.SIGTERM)
	} else {
		term := make(chan os.Signal, 1)
		signal.Notify(term, unix.SIGTERM)
		go func() { <-term; end() }()
	}
	where := os.Getenv("PLUGIN_UNIX_SOCKET_DIR")
	if flaw == "listens elsewhere" {
		where = dir
	}
	l, err := net.Listen("unix", filepath.Join(where, "p"))
	if err != nil {
		panic(err)
	}
	options := []grpc.ServerOption{grpc.MaxRecvMsgSize(transport.DefaultMaxMessage)}
	if flaw == "takes 4 MB" {
		options = nil
	}
	s := grpc.NewServer(options...)
	wire.RegisterPluginServer(s, f)
	if flaw != "has no health" {
		h := health.NewServer()
		h.SetServingStatus("plugin", grpc_health_v1.HealthCheckResponse_SERVING)
		grpc_health_v1.RegisterHealthServer(s, h)
	}
	s.RegisterService(
		&grpc.ServiceDesc{
			ServiceName: "plugin.GRPCController",
			HandlerType: (*any)(nil),
			Methods: []grpc.MethodDesc{{MethodName: "Shutdown",
				Handler: func(any, context.Context, func(any) error, grpc.UnaryServerInterceptor) (any, error) {
					if flaw != "does not shut down" {
						time.AfterFunc(10*time.Millisecond, end)
					}
					return &emptypb.Empty{}, nil
				}}},
		},
		new(any),
	)
	fmt.Printf("1|1|unix|%s|grpc\n", l.Addr())
	_ = s.Serve(l)
	end()
}

func (f *flawed) Describe(context.Context, *wire.Host) (*wire.Description, error) {
	d := &wire.Description{
		Protocol: transport.ProtocolVersion,
		Name:     "flawed",
		Settings: []byte(`{"type":"object","additionalProperties":false}`),
	}
	if f.flaw == "is another one each time" {
		d.Version = session.NewID()
	}
	d.Frames = f.flaw == "promises frames"
	return d, nil
}

func (f *flawed) Configure(_ context.Context, c *wire.Configuration) (*wire.Subscription, error) {
	if strings.Contains(string(c.Settings), "no-such") {
		switch f.flaw {
		case "refuses with a wrong code":
			return nil, errors.New("what is that?")
		case "refuses without a word":
			return nil, status.Error(codes.InvalidArgument, "")
		}
		return nil, status.Error(codes.InvalidArgument, "there is no such setting")
	}
	s := message.Subscription(f.plug)
	switch f.flaw {
	case "has a hook that is none":
		s.Hooks = append(s.Hooks, 9)
	case "filters by nothing":
		s.Filter = &wire.Filter{Has: []string{"nothing"}}
	}
	return s, nil
}

func (f *flawed) Serve(w grpc.BidiStreamingServer[wire.HostMessage, wire.PluginMessage]) error {
	err := callee.Serve(w.Context(), &flawedStream{wire: w, flaw: f.flaw, seen: map[string]bool{}},
		f.plug, false)
	if f.flaw != "survives the host" {
		time.AfterFunc(10*time.Millisecond, func() { os.Exit(0) })
	}
	return err
}

// flawedStream is a stream of which something is wrong.
type flawedStream struct {
	wire  grpc.BidiStreamingServer[wire.HostMessage, wire.PluginMessage]
	flaw  string
	mu    sync.Mutex
	calls int
	seen  map[string]bool
}

func (s *flawedStream) Recv() (*wire.HostMessage, error) {
	for {
		m, err := s.wire.Recv()
		if err != nil {
			return m, err
		}
		if c := m.GetCall(); c != nil {
			s.calls++
			id := eventID(c.Event)
			switch inv := c.GetInvocation(); {
			case s.flaw == "does not take in what was appended":
				inv.Appended = nil
			case s.flaw == "counts fields" && len(inv.ProtoReflect().GetUnknown()) > 0:
				return nil, errors.New("too many fields")
			case s.flaw == "loses a call" && s.calls == 150,
				s.flaw == "does not answer hooks that it does not know" && c.Hook > 4:
				continue
			case s.flaw == "ends when there is no time" && c.Remaining != nil && c.Remaining.AsDuration() <= 0:
				return nil, errors.New("no time")
			case s.flaw == "takes no event twice" && s.seen[id]:
				return nil, errors.New("twice")
			}
			s.seen[id] = id != ""
			return m, nil
		}
		_, ping := m.Message.(*wire.HostMessage_Ping)
		switch {
		case s.flaw == "does not pong" && ping, s.flaw == "does not drain" && m.GetDrain() != nil:
			continue
		case s.flaw == "drains nothing" && m.GetDrain() != nil:
			return nil, errors.New("drained")
		case s.flaw == "ends by Forget" && m.GetForget() != nil,
			s.flaw == "ends by what it does not know" && m.Message == nil,
			s.flaw == "ends by a late cancel" && m.GetCancel() != nil && m.Seq > 1000:
			return nil, io.EOF
		}
		return m, nil
	}
}

func eventID(data []byte) string {
	if len(data) == 0 {
		return ""
	}
	e, err := message.DecodeEvent(data)
	if err != nil {
		return ""
	}
	return e.ID
}

func (s *flawedStream) Send(m *wire.PluginMessage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := m.GetOutcome(); o != nil {
		switch s.flaw {
		case "answers twice":
			_ = s.wire.Send(m)
		case "answers what was not asked":
			_ = s.wire.Send(&wire.PluginMessage{Seq: m.Seq + 1000, Message: m.Message})
		case "answers what the hook may not have":
			o.Replace, o.Withhold = []byte(`{}`), true
		}
	}
	return s.wire.Send(m)
}

// command returns a configuration that starts a program of this binary.
func command(name string, args ...string) remote.Config {
	return remote.Config{
		Command:      testplugin.CommandLine(name, args...),
		Env:          testplugin.Env(),
		StartTimeout: time.Minute,
	}
}

// patiently gives plugins ten times as long until the test ends: a sound one is not to fail on a
// busy machine.
func patiently(t *testing.T) {
	for _, limit := range []*time.Duration{&checkLimit, &answerLimit, &endLimit} {
		was := *limit
		*limit *= 10
		t.Cleanup(func() { *limit = was })
	}
}

// verified runs Verify, or one case of it, on a process, and returns what failed.
func verified(ctx context.Context, c remote.Config, only string) (failed []string, errs error) {
	c.Log = slog.New(slog.DiscardHandler)
	for _, vc := range checks {
		if only != "" && vc.name != only {
			continue
		}
		err := vc.try(ctx, withDefaults(c))
		if _, skip := errors.AsType[skipped](err); err != nil && !skip {
			failed, errs = append(failed, vc.name), errors.Join(errs, fmt.Errorf("%s: %w", vc.name, err))
		}
	}
	return failed, errs
}

// TestVerify checks plugins that keep the protocol. Plugins that differ from the others in one way are checked only
// where that could matter.
func TestVerify(t *testing.T) {
	patiently(t)
	ask := []string{"starts", "conversation", "what is not sent again", "made again", "each call by itself"}
	plugins := []struct {
		program string
		cases   []string // nil: all
	}{
		{"verified all", nil},
		{"verified filter", nil},
		{"verified after run", ask},
		{"noisy", []string{"starts", "conversation", "many calls", "drain", "shutdown"}},
	}
	var all sync.WaitGroup // they wait more than they work
	for _, sound := range plugins {
		all.Go(func() {
			c := command(sound.program)
			c.Log = slog.New(slog.DiscardHandler)
			if sound.cases == nil {
				results := slices.Collect(Verify(t.Context(), c))
				assert.Len(t, results, len(checks), sound.program)
				for _, v := range results {
					assert.NoError(t, v.Err, "%s: %s: %s", sound.program, v.Case, v.Why)
				}
			}
			for _, name := range sound.cases {
				failed, err := verified(t.Context(), c, name)
				assert.Empty(t, failed, "%s: %v", sound.program, err)
			}
		})
	}
	all.Wait()
}

func TestVerifyWithSettings(t *testing.T) {
	patiently(t)
	c := command("settings")
	failed, err := verified(t.Context(), c, "configure")
	require.Equal(t, []string{"configure"}, failed, "it needs some")
	require.ErrorIs(t, err, remote.ErrSettings)
	c.Settings = []byte(`{"dir":"x"}`)
	_, err = verified(t.Context(), c, "")
	require.NoError(t, err)
}

// What keeps the rules passes, also without package serve: what is found below is the flaw.
func TestVerifyFindsNoFlaw(t *testing.T) {
	patiently(t)
	_, err := verified(t.Context(), command("flawed", "none", t.TempDir()), "")
	require.NoError(t, err)
}

func TestVerifyFindsFlaws(t *testing.T) {
	failed, errs := make([][]string, len(flaws)), make([]error, len(flaws))
	covered := map[string]bool{}
	var all sync.WaitGroup // they wait more than they work
	for i, f := range flaws {
		covered[f.found] = true
		c := command("flawed", f.flaw, t.TempDir())
		all.Go(func() { failed[i], errs[i] = verified(t.Context(), c, f.found) })
	}
	for _, f := range keptWrong { // the plugin in Python has them
		covered[f.found] = true
	}
	all.Wait()
	for i, f := range flaws {
		t.Logf("%s: %v", f.flaw, errs[i])
		require.Equal(t, []string{f.found}, failed[i], f.flaw)
	}
	for _, vc := range checks {
		require.True(t, covered[vc.name], "nothing shows that the case %q can fail", vc.name)
	}
}

func TestVerifyEndsWithWhatDoesNotStart(t *testing.T) {
	c := command("dies")
	c.Log = slog.New(slog.DiscardHandler)
	all := slices.Collect(Verify(t.Context(), c))
	require.Len(t, all, 1)
	require.Equal(t, "starts", all[0].Case)
	require.ErrorContains(t, all[0].Err, "last words")
}

//go:build unix

package remote

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/testplugin"
	"github.com/plughook/plughook/session"
)

func init() {
	// host starts a plugin with a child, says that it has, and waits to be killed.
	testplugin.Programs["host"] = func() {
		p, err := start(context.Background(), command("asked"), slog.New(slog.DiscardHandler))
		if err == nil {
			_, err = p.conn.call(context.Background(), &session.Invocation{}, plugin.Args{
				Hook:  plugin.OnEvent,
				Event: testplugin.TextEvent("child here " + os.Args[3]),
			})
		}
		fmt.Println("started", err)
		select {}
	}
	// starting host is killed while it starts a plugin.
	testplugin.Programs["starting host"] = func() {
		_, err := start(context.Background(), command("hangs", os.Args[3]),
			slog.New(slog.DiscardHandler))
		fmt.Println(err)
	}
}

func command(name string, args ...string) Config {
	// A binary that was built to find races sleeps before it exits, and on a busy machine it takes
	// long to start.
	return Config{
		Command:      testplugin.CommandLine(name, args...),
		Env:          testplugin.Env(),
		StartTimeout: time.Minute,
	}
}

// started starts a process for a test.
func started(t testing.TB, c Config) (*launched, *testplugin.Log) {
	log := new(testplugin.Log)
	p, err := start(t.Context(), c, log.Logger())
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.process.Stop(context.Background()) })
	return p, log
}

// question asks an asked process.
func question(t testing.TB, p *launched, text string) (string, error) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := p.conn.call(ctx, &session.Invocation{},
		plugin.Args{Hook: plugin.OnEvent, Event: testplugin.TextEvent(text)})
	if err != nil {
		return "", err
	}
	require.Len(t, out.Emit, 1)
	return out.Emit[0].Text(), nil
}

func asked(t testing.TB, p *launched, text string) string {
	answer, err := question(t, p, text)
	require.NoError(t, err)
	return answer
}

func TestAProcessServesAPlugin(t *testing.T) {
	p, _ := started(t, command("asked"))
	require.Equal(t, "asked", p.about.Name)
	require.Equal(t, "answers", p.about.Doc)
	require.Equal(t, "hello", asked(t, p, "say hello"))
	_, err := question(t, p, "nonsense")
	require.EqualError(t, err, `what is "nonsense"?`)
	_, err = question(t, p, "panic over")
	require.ErrorIs(t, err, plugin.ErrPanic)
	require.Equal(t, "still there", asked(t, p, "say still there"))
	require.NoError(t, p.process.Stop(t.Context()))
	require.NoError(t, p.process.Stop(t.Context()), "again")
	_, err = question(t, p, "say hello")
	require.ErrorIs(t, err, ErrGone)
}

func TestLargeMessages(t *testing.T) {
	c := command("asked")
	p, _ := started(t, c)
	large := strings.Repeat("y", 5<<20)
	require.Equal(t, large, asked(t, p, "say "+large))

	c.MaxMessage = 1 << 20
	p, _ = started(t, c)
	_, err := question(t, p, "large 2000000")
	require.ErrorIs(t, err, plugin.ErrOutcome)
	require.ErrorContains(t, err, "the limit is 1048576")
	require.Equal(t, "still there", asked(t, p, "say still there"))
}

// What a process does wrong at its start, and what the error says.
func TestProcessesThatDoNotStart(t *testing.T) {
	for _, test := range []struct {
		name, process string
		is            error
		says          []string
	}{
		{"it ends", "dies", nil, []string{"exit status 3", "last words", "what stdout says"}},
		{"it never says where it listens", "hangs", nil, []string{"did not start within"}},
		{"it closes its stdout", "closes stdout", nil, []string{"it exited before its handshake"}},
		{"it says nothing but noise", "noise only", nil, []string{"bytes on stdout and no handshake"}},
		{"half a handshake", "no handshake", ErrProtocol, []string{`"1|1|unix"`}},
		{"another version", "another version", ErrProtocol, []string{"version 2", "version 1"}},
		{"another protocol", "another protocol", ErrProtocol, []string{"netrpc"}},
		{"no unix socket", "over tcp", ErrProtocol, []string{"tcp"}},
		{"nobody listens", "nobody listens", nil, []string{"does not listen where it says", "/nowhere"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := command(test.process)
			c.Name, c.StartTimeout = "failing", 20*time.Second
			if test.process == "hangs" {
				c.StartTimeout = 200 * time.Millisecond
			}
			_, err := start(t.Context(), c, slog.New(slog.DiscardHandler))
			require.ErrorContains(t, err, "plugin failing did not start")
			for _, text := range test.says {
				require.ErrorContains(t, err, text)
			}
			if test.is != nil {
				require.ErrorIs(t, err, test.is)
			}
			require.NotContains(t, err.Error(), "first words", "2 KB of stderr are enough")
		})
	}
	_, err := start(t.Context(), Config{Command: []string{"/no/such/plugin"}},
		slog.New(slog.DiscardHandler))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "/no/such/plugin")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = start(ctx, command("hangs"), slog.New(slog.DiscardHandler))
	require.ErrorIs(t, err, context.Canceled)
}

func TestNoiseDoesNotMatter(t *testing.T) {
	p, log := started(t, command("noisy"))
	require.Equal(t, "hello", asked(t, p, "say hello"))
	require.NoError(t, p.process.Stop(t.Context()))
	for _, line := range []string{"noise on stdout, line 1999", "noise on stderr", "noise without an end"} {
		require.Contains(t, log.String(), line)
	}
}

func TestWhatItPrintsIsLogged(t *testing.T) {
	c := command("asked")
	t.Setenv("SECRET_OF_THE_TEST", "hunter2hunter2")
	c.Env = append(c.Env, "SECRET_OF_THE_TEST")
	p, log := started(t, c)
	asked(t, p, "print hunter2hunter2")
	require.Equal(t, "flooded", asked(t, p, "flood"))
	require.NoError(t, p.process.Stop(t.Context()))
	for _, line := range []string{
		`level=INFO msg="stdout: $SECRET_OF_THE_TEST" plugin=asked stream=stderr`, // Serve puts both on stderr
		`level=WARN msg="WARN stderr: $SECRET_OF_THE_TEST" plugin=asked stream=stderr`,
		`level=ERROR msg="json: $SECRET_OF_THE_TEST" plugin=asked n=7 stream=stderr`,
		`level=WARN msg="slog: $SECRET_OF_THE_TEST" plugin=asked a=1 g="{\"b\":\"$SECRET_OF_THE_TEST\"}"`,
		`level=INFO msg="log: $SECRET_OF_THE_TEST" plugin=asked`,
	} {
		require.Contains(t, log.String(), line)
	}
	require.NotContains(t, log.String(), "hunter2")
	require.Contains(t, log.String(), "flood flood")
}

// What a plugin was granted is not in the log in another form either, if that is one in which
// programs write it without meaning to.
func TestSecretsThatAreEncoded(t *testing.T) {
	const secret = `p&ss "word" of/üs`
	inJSON, _ := json.Marshal(secret)
	c := command("asked")
	c.Env = append(c.Env, "SECRET_OF_THE_TEST="+secret)
	p, log := started(t, c)
	for _, form := range []string{
		string(inJSON), strconv.QuoteToASCII(secret), url.QueryEscape(secret), url.PathEscape(secret),
		base64.StdEncoding.EncodeToString([]byte(secret)), base64.URLEncoding.EncodeToString([]byte("u:" + secret)),
		hex.EncodeToString([]byte(secret)),
	} {
		asked(t, p, "print <"+form+">")
		_, err := question(t, p, form)
		require.ErrorContains(t, err, "$SECRET_OF_THE_TEST")
	}
	require.NoError(t, p.process.Stop(t.Context()))
	for _, part := range []string{"&ss", "word", "ss%20", "ss+", hex.EncodeToString([]byte("word")), "d29y", "b3Jk", "29yZ"} {
		require.NotContains(t, log.String(), part, part)
	}
	require.Equal(t, 7*6, strings.Count(log.String(), "$SECRET_OF_THE_TEST"), log.String())
}

func TestACrashSaysWhy(t *testing.T) {
	p, _ := started(t, command("asked"))
	_, err := question(t, p, "crash and burn")
	require.ErrorIs(t, err, ErrGone)
	for _, text := range []string{"plugin asked has ended with exit status 2", "about to crash: and burn", "panic: and burn"} {
		require.ErrorContains(t, err, text)
	}
	<-p.conn.gone
	require.NoError(t, p.process.Stop(t.Context()))

	p, _ = started(t, command("asked"))
	_, err = question(t, p, "exit")
	require.ErrorContains(t, err, "exit status 7")
}

func TestSettings(t *testing.T) {
	for _, test := range []struct{ name, settings, says string }{
		{"missing", `{}`, "/dir: is missing"},
		{"none", ``, "/dir: is missing"},
		{"of another type", `{"dir":"/x","size":"big"}`, "/size: is of type string, must be integer"},
		{"unknown", `{"dir":"/x","sise":1}`, "/sise: is not known; known are dir, size"},
		{"no object", `[]`, "not a JSON object"},
		{"no JSON", `{"dir"`, "not a JSON object"},
		{"refused by the plugin", `{"dir":"/forbidden"}`, "dir: that one not"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := command("settings")
			c.Settings = []byte(test.settings)
			_, err := start(t.Context(), c, slog.New(slog.DiscardHandler))
			require.ErrorIs(t, err, ErrSettings)
			require.ErrorContains(t, err, test.says)
		})
	}
	c := command("settings")
	c.Settings = []byte(`{"dir":"/panic"}`)
	_, err := start(t.Context(), c, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "at the sight of it")

	c.Settings, c.Name = []byte(`{"dir":"/x","size":3}`), "mine"
	p, _ := started(t, c)
	require.Equal(t, "v1.2.3", p.about.Version)
	require.Equal(t, "/x 3", asked(t, p, "any"))

	c = command("asked")
	c.Settings = []byte(`{"dir":"/x"}`)
	_, err = start(t.Context(), c, slog.New(slog.DiscardHandler))
	require.ErrorIs(t, err, ErrSettings)
	require.ErrorContains(t, err, "/dir: the plugin takes no settings")
}

func TestProcessesStop(t *testing.T) {
	t.Parallel()
	t.Run("Close is called", func(t *testing.T) {
		file := t.TempDir() + "/closed"
		p, _ := started(t, command("closes", file))
		require.NoError(t, p.process.Stop(t.Context()))
		require.FileExists(t, file)
	})
	t.Run("Close is called on SIGTERM", func(t *testing.T) {
		file := t.TempDir() + "/closed"
		p, _ := started(t, command("closes", file))
		require.NoError(t, unix.Kill(p.process.PID, unix.SIGTERM))
		<-p.conn.gone
		require.FileExists(t, file)
	})
	t.Run("Close is called when stdin ends", func(t *testing.T) {
		file := t.TempDir() + "/closed"
		p, _ := started(t, command("closes", file))
		require.NoError(t, p.process.CloseStdin())
		<-p.conn.gone
		require.FileExists(t, file)
	})
	t.Run("Close fails", func(t *testing.T) {
		p, log := started(t, command("close fails"))
		err := p.process.Stop(t.Context())
		require.ErrorContains(t, err, "exit status 1")
		require.Contains(t, log.String(), "the disk is full")
	})
	for _, stuck := range []string{"hang", "SIGSTOP"} {
		t.Run(stuck, func(t *testing.T) {
			t.Parallel()
			p, _ := started(t, command("asked"))
			if stuck == "SIGSTOP" {
				require.NoError(t, unix.Kill(p.process.PID, unix.SIGSTOP))
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // enough to ask it
			defer cancel()
			_, err := p.conn.call(ctx, &session.Invocation{},
				plugin.Args{Hook: plugin.OnEvent, Event: testplugin.TextEvent("hang")})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			begin := time.Now()
			require.ErrorContains(t, p.process.Stop(t.Context()), "was killed")
			require.Less(t, time.Since(begin), time.Minute)
			require.ErrorIs(t, unix.Kill(p.process.PID, 0), unix.ESRCH)
		})
	}
	t.Run("at once if the context is done", func(t *testing.T) {
		p, _ := started(t, command("asked"))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = p.process.Stop(ctx)
		require.ErrorIs(t, unix.Kill(p.process.PID, 0), unix.ESRCH)
	})
}

func TestAnAnswerBeforeTheEndArrives(t *testing.T) {
	p, _ := started(t, command("asked"))
	ended := make(chan error, 1)
	go func() {
		_, err := question(t, p, "wait")
		ended <- err
	}()
	for { // until it is there, and waits
		p.conn.mu.Lock()
		n := len(p.conn.waiting)
		p.conn.mu.Unlock()
		if n == 1 {
			break
		}
	}
	require.Equal(t, "later", asked(t, p, "say later"))
	require.NoError(t, p.process.CloseStdin())
	require.EqualError(t, <-ended, "context canceled")
}

// A person who starts the binary learns what it is.
func TestStartedByHand(t *testing.T) {
	cmd := exec.Command(os.Args[0], testplugin.AsPlugin, "settings")
	text, err := cmd.CombinedOutput()
	require.Equal(t, 2, cmd.ProcessState.ExitCode(), "%v", err)
	require.Contains(t, string(text), "settled is a plugin of Plughook")
}

func TestConfigurationsThatCannotBeRight(t *testing.T) {
	for _, test := range []struct {
		says   string
		change func(*Config)
	}{
		{"no command", func(c *Config) { c.Command = nil }},
		{"negative", func(c *Config) { c.Timeout = -1 }},
		{"64 KiB", func(c *Config) { c.MaxMessage = 1 }},
		{"64 hexadecimal digits", func(c *Config) { c.SHA256 = "abc" }},
		{"digest of main.js", func(c *Config) { c.Files = map[string]string{"main.js": ""} }},
		{"limit is negative", func(c *Config) { c.Limits.Memory = -1 }},
		{`hook "OnEvnet"`, func(c *Config) { c.Timeouts = map[plugin.Hook]time.Duration{"OnEvnet": 1} }},
		{"env 2 is neither", func(c *Config) { c.Env = []string{"A", "=secret"} }},
	} {
		c := Config{Name: "odd", Command: []string{"true"}}
		test.change(&c)
		_, err := start(t.Context(), c, slog.New(slog.DiscardHandler))
		require.ErrorContains(t, err, "plugin odd")
		require.ErrorContains(t, err, test.says)
		require.NotContains(t, err.Error(), "secret")
	}
}

// A key in the host's environment does not reach a plugin that was not given it.
func TestThePluginsEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-canary")
	t.Setenv("GRANTED", "granted-canary")
	t.Setenv("TZ", "Europe/Berlin")
	c := command("asked")
	c.Env = append(c.Env, "GRANTED", "SET=a value", "NOT_THERE")
	p, log := started(t, c)
	env := strings.Split(asked(t, p, "env"), "\n")
	require.NotContains(t, strings.Join(env, "\n"), "sk-canary")
	for _, v := range []string{"GRANTED=granted-canary", "SET=a value", "TZ=Europe/Berlin", "PATH=" + os.Getenv("PATH")} {
		require.Contains(t, env, v)
	}
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		require.True(
			t,
			strings.HasPrefix(name, "PLUGIN_") || strings.HasPrefix(name, "PLUGHOOK_") || name == "GORACE" || name == "GRANTED" || name == "SET" ||
				name == "PATH" || name == "HOME" || name == "LANG" || name == "TMPDIR" ||
				name == "TZ",
			"it has %s",
			name,
		)
	}
	require.Contains(t, log.String(), "variable=NOT_THERE")
	_, err := question(t, p, "crash granted-canary")
	require.ErrorContains(t, err, "$GRANTED")
	require.NotContains(t, err.Error(), "granted-canary")
	require.NoError(t, p.process.Stop(t.Context()))
	require.NotContains(t, log.String(), "canary")
}

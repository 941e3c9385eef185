package remote

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/internal/process"
	"github.com/plughook/plughook/plugin/internal/transport"
)

// A Config says how a plugin is started and bounded. What happens when it fails is not here:
// plugin.FailOpen, around the plugin that Start returns, says that.
type Config struct {
	// Name is what the plugin is called in this runner; the plugin's own name if empty.
	Name string
	// Attach is the socket of a plugin that runs already, such as under a debugger; see Serve. It takes the place of
	// Command, Dir, Env, SHA256, Files, Network and Limits, which are of a start. The process stays its owner's: it is
	// neither watched nor ended, and its hooks have no timeouts but those that are set. For development only.
	Attach string
	// Command is the executable and its arguments. An executable without a slash is looked up in the
	// host's PATH; a relative one is relative to Dir.
	Command []string
	// Dir is the working directory, the host's if empty.
	Dir string
	// Env names variables of the host's environment that the plugin gets, or sets them (NAME=value).
	// Without it the plugin gets PATH, HOME, LANG, TMPDIR and TZ, and nothing else. Their values, from 6
	// bytes on, are taken out of what the plugin prints and logs, and of its errors and reasons; not of its events.
	Env []string
	// SHA256 is the digest of the executable in hex. If it is set, what is executed is a copy that was
	// hashed, and that nobody can write to any more. A script is not an executable: name its interpreter
	// in Command, and the script in Files.
	SHA256 string
	// Files are the digests, by path, of files that are the plugin too, such as a script's sources. They
	// are compared before each start, and have to be the same files, untouched, when it has started: an
	// interpreter opens them itself, in between. What it reads later is not looked at again, so who can
	// write to them can change that. Relative paths are relative to Dir.
	Files map[string]string
	// Settings is a JSON object that fits the plugin's schema; nil is an empty one.
	Settings json.RawMessage

	// StartTimeout bounds a start, from the first look at the files to the open stream. Default 10 s.
	StartTimeout time.Duration
	// Timeout bounds each call of a hook; default 250 ms. BackgroundTimeout bounds AfterRun of a plugin
	// that computes it in the background; default 60 s. Timeouts are for single hooks, before both.
	Timeout           time.Duration
	BackgroundTimeout time.Duration
	Timeouts          map[plugin.Hook]time.Duration
	// MaxMessage is how many bytes one message to or from the plugin may have; default 64 MiB. Whatever it is, a message
	// from the plugin has 100,000 fields at most, and an answer as many JSON values, of which an event or a content
	// counts for 10 more; an answer to an event may have as many as that one has besides. What has more is not
	// decoded, and the call fails with ErrTooLarge.
	MaxMessage int

	// Network grants the plugin the host's network. Without it the plugin has none, where the system can
	// do that (Linux with user namespaces); where it cannot, the log says so.
	Network bool
	// Limits bound what the plugin uses.
	Limits Limits
	// Log takes what the plugin logs and prints, and what happens to it; slog.Default if nil.
	Log *slog.Logger
}

// Limits are resource limits of a plugin's process and of each process that it starts; 0 is none. They are
// set, on Linux only, before its first instruction, or a moment later where a process may not be traced.
type Limits struct {
	// Memory is bytes of data that belong to the process alone (RLIMIT_DATA).
	Memory int64
	// OpenFiles is how many descriptors it may have.
	OpenFiles int
	// Processes is how many processes and threads its user may have, counted in the plugin's own user
	// namespace where there is one. It does not bind root.
	Processes int
}

// withDefaults returns the configuration with its defaults filled in.
func (c Config) withDefaults() Config {
	if c.Attach != "" {
		c.StartTimeout = cmp.Or(c.StartTimeout, noTimeout)
		c.Timeout = cmp.Or(c.Timeout, noTimeout)
		c.BackgroundTimeout = cmp.Or(c.BackgroundTimeout, noTimeout)
	}
	c.StartTimeout = cmp.Or(c.StartTimeout, 10*time.Second)
	c.Timeout = cmp.Or(c.Timeout, 250*time.Millisecond)
	c.BackgroundTimeout = cmp.Or(c.BackgroundTimeout, time.Minute)
	c.MaxMessage = cmp.Or(c.MaxMessage, transport.DefaultMaxMessage)
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c
}

// noTimeout stands for no timeout: it is never reached.
const noTimeout = 100 * 365 * 24 * time.Hour

// spec returns the part of the configuration that says which process to start.
func (c Config) spec() process.Spec {
	return process.Spec{
		Name:       c.label(),
		Command:    c.Command,
		Dir:        c.Dir,
		Env:        c.Env,
		SHA256:     c.SHA256,
		Files:      c.Files,
		Network:    c.Network,
		Limits:     process.Limits(c.Limits),
		MaxMessage: c.MaxMessage,
	}
}

// check returns an error if the configuration cannot be right.
func (c Config) check() error {
	if err := c.wrong(); err != nil {
		return fmt.Errorf("remote: plugin %s: %w", c.label(), err)
	}
	return nil
}

func (c Config) wrong() error {
	if c.Attach != "" && c.starts() {
		return errors.New("the configuration has Attach, so it has been started already: " +
			"leave out Command, Dir, Env, SHA256, Files, Network and Limits")
	}
	if c.Attach == "" {
		if err := c.spec().Check(); err != nil {
			return err
		}
	}
	if c.StartTimeout < 0 || c.Timeout < 0 || c.BackgroundTimeout < 0 {
		return errors.New("a timeout is negative")
	}
	if c.MaxMessage < minMessage {
		return fmt.Errorf("MaxMessage is %d bytes; give it 64 KiB at least", c.MaxMessage)
	}
	for hook, d := range c.Timeouts {
		if message.WireHook[hook] == 0 {
			return fmt.Errorf("there is no hook %q to have a timeout; hooks are BeforeRun, BeforeModel, OnEvent, AfterRun", hook)
		}
		if d <= 0 {
			return fmt.Errorf("the timeout of hook %q is %v; it has to be above 0", hook, d)
		}
	}
	return nil
}

// minMessage is the smallest MaxMessage that is allowed, in bytes.
const minMessage = 64 << 10

// starts reports whether there is anything of a start in the configuration.
func (c Config) starts() bool {
	return len(c.Command) > 0 || c.Dir != "" || len(c.Env) > 0 || c.SHA256 != "" || len(c.Files) > 0 || c.Network || c.Limits != Limits{}
}

// label names the plugin before it has said who it is.
func (c Config) label() string {
	if c.Name != "" {
		return c.Name
	}
	if len(c.Command) > 0 {
		return filepath.Base(c.Command[0])
	}
	if c.Attach != "" {
		return "at " + c.Attach
	}
	return "without a name"
}

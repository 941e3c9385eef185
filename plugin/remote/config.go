package remote

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/plughook/plughook/plugin"
)

// What can be wrong with a plugin that does not start. A new attempt would fail in the same way.
var (
	ErrDigest   = errors.New("remote: the plugin is not the one that is pinned")
	ErrSettings = errors.New("remote: the plugin does not take its settings")
	ErrProtocol = errors.New("remote: the plugin speaks another protocol")
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
		c.StartTimeout, c.Timeout, c.BackgroundTimeout = cmp.Or(c.StartTimeout, atLeisure), cmp.Or(c.Timeout, atLeisure), cmp.Or(c.BackgroundTimeout, atLeisure)
	}
	if c.StartTimeout == 0 {
		c.StartTimeout = 10 * time.Second
	}
	if c.Timeout == 0 {
		c.Timeout = 250 * time.Millisecond
	}
	if c.BackgroundTimeout == 0 {
		c.BackgroundTimeout = time.Minute
	}
	if c.MaxMessage == 0 {
		c.MaxMessage = defaultMaxMessage
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c
}

// atLeisure is how long what has no timeout may take.
const atLeisure = 100 * 365 * 24 * time.Hour

var digest = regexp.MustCompile(`^[0-9a-fA-F]{64}$`)

// check returns an error if the configuration cannot be right.
func (c Config) check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("remote: plugin %s: %w", c.label(), fmt.Errorf(format, args...))
	}
	switch {
	case c.Attach != "" && c.starts():
		return bad("it is attached, so it has been started already: Command, Dir, Env, SHA256, Files, Network and Limits are of a start")
	case c.Attach == "" && (len(c.Command) == 0 || c.Command[0] == ""):
		return bad("the configuration has no command")
	case c.StartTimeout < 0 || c.Timeout < 0 || c.BackgroundTimeout < 0:
		return bad("a timeout is negative")
	case c.MaxMessage < 64<<10:
		return bad("the largest message is %d bytes; give it 64 KiB at least", c.MaxMessage)
	case c.SHA256 != "" && !digest.MatchString(c.SHA256):
		return bad("sha256 is no digest: it is 64 hexadecimal digits")
	case c.Limits.Memory < 0 || c.Limits.OpenFiles < 0 || c.Limits.Processes < 0:
		return bad("a limit is negative")
	}
	for hook, d := range c.Timeouts {
		if wireHook[hook] == 0 || d <= 0 {
			return bad("the timeout of hook %q is %v; hooks are BeforeRun, BeforeModel, OnEvent, AfterRun, timeouts are above 0", hook, d)
		}
	}
	for path, sum := range c.Files {
		if !digest.MatchString(sum) {
			return bad("the digest of %s is none: it is 64 hexadecimal digits", path)
		}
	}
	for i, v := range c.Env {
		if name, _, _ := strings.Cut(v, "="); name == "" || strings.ContainsRune(v, 0) {
			return bad("env %d is neither a name nor NAME=value", i+1)
		}
	}
	return nil
}

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

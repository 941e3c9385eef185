package remote

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/plughook/plughook/plugin/internal/sandbox"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/internal/process"
	"github.com/plughook/plughook/plugin/internal/transport"
)

// A Config says how a plugin is started, and what it may use. What happens when the plugin fails
// is not said here: wrap the plugin that Start returns in plugin.FailOpen, or do not.
type Config struct {
	// Name is what the plugin is called in this runner. The default is the plugin's own name.
	Name string
	// Attach is the socket of a plugin that runs already, such as under a debugger; see
	// serve.Plugin. Command, Dir, Env, SHA256, Files, Network, Isolation and Limits must be empty then. The
	// host does not watch or end the process, and there are no timeouts but those that are set
	// here. It is for development only.
	Attach string
	// Command is the executable and its arguments. An executable without a slash is looked up in
	// the host's PATH. A relative path is relative to Dir.
	Command []string
	// Dir is the working directory. The default is the host's.
	Dir string
	// Env lists variables for the plugin: NAME has the value that the host has, NAME=value is
	// set. Besides, the plugin gets PATH, HOME, LANG, TMPDIR and TZ, and nothing else. Values of
	// 6 bytes or more are secrets: they are replaced in what the plugin prints and logs, in its
	// errors and in its reasons, but not in its events.
	Env []string
	// SHA256 is the digest of the executable, in hex. If it is set, the host executes a copy that
	// it has hashed and that nobody can write to. A script is no executable: put its interpreter
	// into Command, and the script into Files.
	SHA256 string
	// Files has the digests of more files of the plugin, by path, such as a script's sources.
	// They are compared before each start. The interpreter opens them later, by itself, so the
	// host makes sure after the start that nobody has touched them in between. Files that are
	// read after that are not looked at again. Relative paths are relative to Dir.
	Files map[string]string
	// Settings is a JSON object that fits the plugin's schema. The default is the empty object.
	Settings json.RawMessage

	// StartTimeout bounds a start, from the first look at the files to the first possible call.
	// The default is 10 s.
	StartTimeout time.Duration
	// Timeout bounds each call of a hook. The default is 250 ms.
	Timeout time.Duration
	// BackgroundTimeout bounds AfterRun of a plugin whose Background is set. The default is 60 s.
	BackgroundTimeout time.Duration
	// Timeouts bound the hooks that they name, in place of Timeout and BackgroundTimeout.
	Timeouts map[plugin.Hook]time.Duration
	// MaxMessage is how many bytes one message to or from the plugin may have. The default is 64
	// MiB. Besides, a message from the plugin may have 100,000 fields, and an answer 100,000 JSON
	// values; each event and content counts for 10 more, and an answer to an event may have as
	// many more as that event has. Too large a message is not decoded, and the call fails with
	// ErrTooLarge.
	MaxMessage int

	// Network gives the plugin the host's network. Without it the plugin has none if it is
	// isolated.
	Network bool
	// Isolation says whether the process is isolated: it has namespaces and a /proc of its own.
	// That needs Linux, and a user who may make user namespaces. The default, "", isolates it
	// where that can be done. Where it cannot, the log says so. Once this host has isolated a
	// process, it starts no other one without: a start fails with ErrIsolation instead. With
	// "required", the first start fails as well. With "none" it is never isolated, for plugins
	// that need namespaces themselves, such as browsers.
	Isolation string
	// Limits bound what the process uses.
	Limits Limits
	// Log takes what the plugin logs and prints, and what happens to its process. The default is
	// slog.Default.
	Log *slog.Logger
}

// Limits are resource limits of a plugin's process, and of each process that it starts; 0 is no
// limit. They are set on Linux only, before the first instruction of the plugin.
type Limits struct {
	// Memory is how many bytes of private data it may have (RLIMIT_DATA). It does not bind
	// memory that processes may share, such as that of memfd_create. With Cgroup it is how many
	// bytes of memory, of any kind, it may use together with all processes that it starts.
	Memory int64
	// OpenFiles is how many descriptors it may have.
	OpenFiles int
	// Processes is how many processes and threads its user may have: in the plugin's user
	// namespace, if it is isolated, and then the default is 1024. It does not bind root without
	// Cgroup.
	Processes int
	// Cgroup is a directory of cgroup v2. If it is set, each process of the plugin is started in
	// a group of its own in that directory, which has Memory and Processes as its limits. If
	// that uses more memory, the kernel kills it with all that it has started. The host removes
	// the group when the process has ended. A relative path is relative to the host's own group:
	// ".." is the directory that the host's group is in. This user has to be allowed to make
	// groups there. The plugin has to be isolated, unless Isolation is "none": otherwise it could
	// change the limits. What is not possible is an error of the start.
	Cgroup string
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

// program is a text that is equal for two configurations only if they start the same program.
func (c Config) program() string {
	if c.Attach != "" {
		return "attached to " + c.Attach
	}
	return fmt.Sprintf("%q in %q", c.Command, c.Dir)
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
		Isolation:  c.Isolation,
		Limits:     sandbox.Limits(c.Limits),
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
			"leave out Command, Dir, Env, SHA256, Files, Network, Isolation and Limits")
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
			return fmt.Errorf("there is no hook %q to have a timeout; hooks are %s", hook, plugin.HookNames())
		}
		if d <= 0 {
			return fmt.Errorf("the timeout of hook %q is %v; it has to be above 0", hook, d)
		}
	}
	return nil
}

// minMessage is the smallest MaxMessage that is allowed, in bytes.
const minMessage = 64 << 10

// starts reports whether the configuration has a field that is for starting a process.
func (c Config) starts() bool {
	return len(c.Command) > 0 || c.Dir != "" || len(c.Env) > 0 || c.SHA256 != "" || len(c.Files) > 0 || c.Network ||
		c.Isolation != "" || c.Limits != Limits{}
}

// label names the plugin in errors before the process has told its name.
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

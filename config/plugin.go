package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/audit"
	"github.com/plughook/plughook/plugins/budget"
	"github.com/plughook/plughook/plugins/earlyexit"
	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/logger"
	"github.com/plughook/plughook/plugins/retry"
	"github.com/plughook/plughook/plugins/uploads"
	"github.com/plughook/plughook/yamlfile"
)

// pluginConfig has exactly one kind: a key of the list kinds.
type pluginConfig struct {
	Name    string        `yaml:"name" json:"name,omitempty" jsonschema:"the plugin's name; its kind if empty, or its executable's"`
	Timeout time.Duration `yaml:"timeout" json:"timeout,omitempty" jsonschema:"how long a hook may take, such as 2s; no limit if empty, 250ms for a command"`
	OnError string        `yaml:"on_error" json:"on_error,omitempty" jsonschema:"what happens when a hook fails: closed (the default) ends the run, open lets it go on and marks the event as not checked"`

	Logger     *logger.Config    `yaml:"logger" json:"logger,omitempty" jsonschema:"writes a log record for everything that happens"`
	EarlyExit  *earlyexit.Config `yaml:"earlyexit" json:"earlyexit,omitempty" jsonschema:"answers by rule and ends the run"`
	Retry      *retry.Config     `yaml:"retry" json:"retry,omitempty" jsonschema:"shows a tool's failure to the model with advice, so that it tries again, a limited number of times"`
	Rewind     *struct{}         `yaml:"rewind" json:"rewind,omitempty" jsonschema:"takes turns back when chat's /rewind or another caller asks for it"`
	Compaction *compactionConfig `yaml:"compaction" json:"compaction,omitempty" jsonschema:"puts a summary in place of the older part of a long session; put it before plugins that redact, so that they see the summaries"`
	Uploads    *uploads.Config   `yaml:"uploads" json:"uploads,omitempty" jsonschema:"saves files that users upload as artifacts, so that the log stays small"`
	Budget     *budget.Config    `yaml:"budget" json:"budget,omitempty" jsonschema:"limits how many runs, model calls, tool calls and tokens are used; put it after rewind and after plugins that block inputs"`
	Guardrail  *guardrail.Config `yaml:"guardrail" json:"guardrail,omitempty" jsonschema:"enforces a policy: blocks, redacts, asks, flags; put it after plugins that say or change something, and before those that keep a record"`
	Audit      *audit.Config     `yaml:"audit" json:"audit,omitempty" jsonschema:"keeps a record of what agents did, in a file, without what was said"`
	Agenthost  *agenthostConfig  `yaml:"agenthost" json:"agenthost,omitempty" jsonschema:"lets interceptors of AGENT-HOOKS elsewhere judge runs; put it last, before audit"`

	Command []string `yaml:"command" json:"command,omitempty" jsonschema:"a plugin in a process of its own: the program and its arguments; it runs in the configuration's directory"`
	Attach  string   `yaml:"attach" json:"attach,omitempty" jsonschema:"in place of command, for development: the socket of a plugin that you have started yourself, such as in a debugger; if timeout is empty, its hooks have no time limit"`
	// These go with a command, and some of them with attach; see commandKeys.
	SHA256            string         `yaml:"sha256" json:"sha256,omitempty" jsonschema:"the SHA-256 of the program, 64 hexadecimal digits; a program with another one is not started. runner plugin lock keeps it in a file instead"`
	Files             []pluginFile   `yaml:"files" json:"files,omitempty" jsonschema:"other files of the plugin, such as a script's sources: paths, whose digests runner plugin lock keeps, or a path and its digest"`
	Config            map[string]any `yaml:"config" json:"config,omitempty" jsonschema:"the plugin's settings; the plugin has a schema for them"`
	Timeouts          hookTimeouts   `yaml:"timeouts" json:"timeouts,omitzero" jsonschema:"how long single hooks may take; these override timeout"`
	BackgroundTimeout time.Duration  `yaml:"background_timeout" json:"background_timeout,omitempty" jsonschema:"how long AfterRun may take if it is computed in the background; 1m if empty"`
	StartTimeout      time.Duration  `yaml:"start_timeout" json:"start_timeout,omitempty" jsonschema:"how long the start may take; 10s if empty"`
	Env               []string       `yaml:"env" json:"env,omitempty" jsonschema:"its environment beyond PATH, HOME, LANG, TMPDIR and TZ: NAME passes on a variable, NAME=VALUE sets one"`
	Network           bool           `yaml:"network" json:"network,omitempty" jsonschema:"lets it use the network; without this it has none, where the system can do so"`
	Isolation         string         `yaml:"isolation" json:"isolation,omitempty" jsonschema:"required: it does not start if it cannot be isolated (namespaces and a /proc of its own, on Linux); none: it is not isolated; if empty, it is isolated where the system can do so, and once that has worked, it is required"`
	Limits            processLimits  `yaml:"limits" json:"limits,omitzero" jsonschema:"how much of the machine it may use, on Linux; no limit if empty"`
	MaxMessage        size           `yaml:"max_message" json:"max_message,omitempty" jsonschema:"how large an event or an answer may be on the way to it and back, such as 16MiB; 64MiB if empty"`
}

// hookTimeouts are timeouts of single hooks, by the hooks' names.
type hookTimeouts map[plugin.Hook]time.Duration

// checkTimeouts complains about timeouts of hooks that do not exist, and of no time.
func (c *file) checkTimeouts(bad complaint, path string, timeouts hookTimeouts) {
	for _, hook := range slices.Sorted(maps.Keys(timeouts)) {
		var names []string
		for _, kind := range plugin.Hooks {
			names = append(names, string(kind.Name))
		}
		if !slices.Contains(names, string(hook)) {
			bad(path+".timeouts."+string(hook), "unknown key %q%s", hook, yamlfile.Meant(string(hook), names))
		}
		checkAbove0(c, bad, path+".timeouts."+string(hook), timeouts[hook])
	}
}

// processLimits bound a plugin's process.
type processLimits struct {
	Memory    size   `yaml:"memory" json:"memory,omitempty" jsonschema:"bytes of data, such as 512MiB"`
	OpenFiles int    `yaml:"open_files" json:"open_files,omitempty" jsonschema:"how many files it may have open"`
	Processes int    `yaml:"processes" json:"processes,omitempty" jsonschema:"how many processes and threads its user may have"`
	Cgroup    string `yaml:"cgroup" json:"cgroup,omitempty" jsonschema:"a directory of cgroup v2, in which the plugin gets a group of its own with these limits of memory and processes; a relative path is relative to the host's own group, so that .. is the directory it is in"`
}

var (
	onErrors   = []string{"closed", "open"}
	isolations = []string{"required", "none"}
)

// commandKeys are keys that only a plugin with a command can have; startKeys are of how it is
// started, so one that is attached has none of them.
var (
	startKeys   = []string{"sha256", "files", "env", "network", "isolation", "limits"}
	commandKeys = append([]string{"config", "timeouts", "background_timeout", "start_timeout",
		"max_message"}, startKeys...)
)

func (c *file) checkPlugins(bad complaint) {
	names := c.names("plugin")
	for i := range c.Plugins {
		plug := &c.Plugins[i]
		path := pluginPath(i)
		kinds := plug.kinds()
		switch {
		case len(kinds) == 0:
			bad(path, "the plugin has no kind; give it one of: %s", strings.Join(pluginKinds(), ", "))
			continue
		case plug.Command != nil && plug.attached():
			bad(path+".attach", "a plugin has command or attach, not both: with attach it is a process that you have started yourself")
			continue
		case len(kinds) > 1:
			bad(path, "the plugin has %d kinds, %s and %s; write one plugin for each", len(kinds),
				kinds[0].name, kinds[1].name)
			continue
		}
		if plug.Name == "" {
			plug.Name = kinds[0].name
			if plug.attached() {
				plug.Name = strings.TrimSuffix(filepath.Base(plug.Attach), filepath.Ext(plug.Attach))
			} else if len(plug.Command) > 0 {
				plug.Name = filepath.Base(plug.Command[0])
			}
		}
		names.take(bad, path, plug.Name)
		checkAbove0(c, bad, path+".timeout", plug.Timeout)
		if plug.OnError != "" && plug.OnError != onErrors[0] && plug.OnError != onErrors[1] {
			bad(path+".on_error", "on_error %q: it is closed or open%s", plug.OnError,
				yamlfile.Guess(plug.OnError, onErrors))
		}
		if plug.process() {
			c.checkProcess(bad, path, plug)
			continue
		}
		if plug.Agenthost != nil {
			c.checkAgenthost(bad, path, plug)
		}
		if plug.Compaction != nil {
			c.checkCompaction(bad, path+".compaction", plug.Compaction)
		}
		for _, key := range c.keysAt(path, commandKeys) {
			bad(path+"."+key, "only a plugin that is a command can have %s; this one is of the kind %s", key,
				kinds[0].name)
		}
	}
}

var (
	pluginName   = lazyregexp.New(`^[a-z0-9_.-]{1,64}$`)
	sha256Digits = lazyregexp.New(`^[0-9a-fA-F]{64}$`)
)

const minMessage = 64 << 10 // plugin/remote takes no less

func (c *file) checkProcess(bad complaint, path string, p *pluginConfig) {
	if p.attached() {
		c.checkAttached(bad, path, p)
	} else if len(p.Command) == 0 || p.Command[0] == "" {
		bad(path+".command", "the plugin needs command: [PROGRAM, ARGUMENT…]")
	} else if !pluginName.MatchString(p.Name) && !c.source.Has(path+".name") {
		bad(path+".command", "a plugin cannot be named %q like its program; give it a name of lower case letters, digits, '-', '_' and '.' with name:", p.Name)
	}
	if c.source.Has(path+".sha256") && !sha256Digits.MatchString(p.SHA256) {
		bad(path+".sha256", "sha256 is not a digest, which has 64 hexadecimal digits")
	}
	seen := map[string]bool{}
	for i, f := range p.Files {
		path := fmt.Sprintf("%s.files[%d]", path, i)
		switch {
		case f.path == "":
			bad(path, "a file has no name")
		case seen[f.path]:
			bad(path, "the file %s is there twice", f.path)
		case f.given && !sha256Digits.MatchString(f.sha256):
			bad(path, "the digest of %s is not one: it has 64 hexadecimal digits; leave it out, and runner plugin lock keeps it", f.path)
		}
		seen[f.path] = true
	}
	checkAbove0(c, bad, path+".background_timeout", p.BackgroundTimeout)
	checkAbove0(c, bad, path+".start_timeout", p.StartTimeout)
	c.checkTimeouts(bad, path, p.Timeouts)
	c.checkEnv(bad, path, p.Env)
	if c.source.Has(path+".isolation") && !slices.Contains(isolations, p.Isolation) && !p.attached() {
		bad(path+".isolation", "isolation %q: it is required or none%s", p.Isolation,
			yamlfile.Guess(p.Isolation, isolations))
	}
	checkAbove0(c, bad, path+".limits.memory", p.Limits.Memory)
	checkAbove0(c, bad, path+".limits.open_files", p.Limits.OpenFiles)
	checkAbove0(c, bad, path+".limits.processes", p.Limits.Processes)
	if c.source.Has(path+".max_message") && p.MaxMessage < minMessage {
		bad(path+".max_message", "max_message is %d bytes; it must be at least 64KiB", p.MaxMessage)
	}
}

func (c *file) checkAttached(bad complaint, path string, p *pluginConfig) {
	for _, key := range c.keysAt(path, startKeys) {
		bad(path+"."+key, "only a plugin with command can have %s; this one has attach, so it has been started already", key)
	}
	if !pluginName.MatchString(p.Name) && !c.source.Has(path+".name") {
		bad(path+".attach", "a plugin cannot be named %q like its socket; give it a name of lower case letters, digits, '-', '_' and '.' with name:", p.Name)
	}
}

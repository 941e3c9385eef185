package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/yamlfile"
)

// toolConfig is a tool that is a command.
type toolConfig struct {
	Name        string           `yaml:"name" json:"name" jsonschema:"what agents and their models call the tool"`
	Description string           `yaml:"description" json:"description,omitempty" jsonschema:"what the tool does, for the model"`
	Parameters  map[string]any   `yaml:"parameters" json:"parameters,omitempty" jsonschema:"the JSON schema of the arguments, of type object; without it the tool takes no arguments"`
	Command     []string         `yaml:"command" json:"command" jsonschema:"the program and its arguments: the call's arguments are JSON on its standard input; what it writes to standard output, JSON or text, is the response; another exit status than 0 is an error, which the model reads with the end of standard error"`
	Env         []string         `yaml:"env" json:"env,omitempty" jsonschema:"its environment beyond PATH, HOME and LANG: NAME passes on a variable, NAME=VALUE sets one"`
	Timeout     time.Duration    `yaml:"timeout" json:"timeout,omitempty" jsonschema:"how long a call may take, such as 30s; no limit if empty"`
	Confirm     string           `yaml:"confirm" json:"confirm,omitempty" jsonschema:"what a human is asked before each call; nobody is asked if empty"`
	Ask         session.Approver `yaml:"ask" json:"ask,omitzero" jsonschema:"with confirm, who is asked; the session's own user if it is not set"`
	LongRunning bool             `yaml:"long_running" json:"long_running,omitempty" jsonschema:"a call is answered later, with runner run --respond; what the command writes says how far it has come"`
	Serial      bool             `yaml:"serial" json:"serial,omitempty" jsonschema:"a call of it never runs at the same time as another call"`
	Vault       bool             `yaml:"vault" json:"vault,omitempty" jsonschema:"each token of a guardrail's vault in the arguments is replaced by the text that it hides; needs the plugin's key_env"`
}

// mcpConfig is a server of the Model Context Protocol: a command, or an address.
type mcpConfig struct {
	Name         string            `yaml:"name" json:"name" jsonschema:"what agents call the server: all of its tools, or one as NAME/TOOL"`
	Command      []string          `yaml:"command" json:"command,omitempty" jsonschema:"the server's program and its arguments; it talks on standard input and output, and runs in the configuration's directory"`
	Env          []string          `yaml:"env" json:"env,omitempty" jsonschema:"its environment beyond PATH, HOME and LANG: NAME passes on a variable, NAME=VALUE sets one"`
	URL          string            `yaml:"url" json:"url,omitempty" jsonschema:"the server's address, in place of a command"`
	Headers      map[string]string `yaml:"headers" json:"headers,omitempty" jsonschema:"headers of each request to the address"`
	HeaderEnv    map[string]string `yaml:"header_env" json:"header_env,omitempty" jsonschema:"headers whose value is in the named environment variable, such as Authorization: WEATHER_TOKEN"`
	Prefix       string            `yaml:"prefix" json:"prefix,omitempty" jsonschema:"put before the names of its tools, so that they differ from those of others"`
	Tools        []string          `yaml:"tools" json:"tools,omitempty" jsonschema:"only these of its tools; all if empty"`
	Confirm      []string          `yaml:"confirm" json:"confirm,omitempty" jsonschema:"the tools whose calls a human is asked about; * is all"`
	Ask          session.Approver  `yaml:"ask" json:"ask,omitzero" jsonschema:"with confirm, who is asked; the session's own user if it is not set"`
	Timeout      time.Duration     `yaml:"timeout" json:"timeout,omitempty" jsonschema:"how long a call may take, such as 30s; a minute if empty"`
	StartTimeout time.Duration     `yaml:"start_timeout" json:"start_timeout,omitempty" jsonschema:"how long the start may take, until its tools are known, such as 1m; 30s if empty"`
}

// exitLoop is the tool that ends a loop, recall the one that reads what a summary stands for; they
// need no entry.
const (
	exitLoop = "exit_loop"
	recall   = "recall"
)

var (
	toolName = lazyregexp.New(`^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$`)
	envName  = lazyregexp.New(`^[a-zA-Z_][a-zA-Z0-9_]*(=.*)?$`)
)

func (c *file) checkTools(bad complaint) {
	names := c.names("tool or server")
	for i := range c.Tools {
		t := &c.Tools[i]
		path := fmt.Sprintf("tools[%d]", i)
		names.tool(bad, path, t.Name)
		if len(t.Command) == 0 || t.Command[0] == "" {
			bad(path, "tool %s needs command: [PROGRAM, ARGUMENT…]", t.Name)
		}
		if t.Vault && c.vaultKey() == "" {
			bad(path+".vault", "tool %s has vault: true, so it needs a guardrail with a key; write under plugins: - guardrail: {file: …, key_env: NAME}", t.Name)
		}
		checkAsk(bad, path, t.Ask, t.Confirm != "")
		c.checkEnv(bad, path, t.Env)
		checkAbove0(c, bad, path+".timeout", t.Timeout)
	}
	for i := range c.MCP {
		m := &c.MCP[i]
		path := fmt.Sprintf("mcp[%d]", i)
		names.tool(bad, path, m.Name)
		c.checkServer(bad, path, m)
		c.checkEnv(bad, path, m.Env)
		checkAbove0(c, bad, path+".timeout", m.Timeout)
		checkAbove0(c, bad, path+".start_timeout", m.StartTimeout)
	}
}

// tool takes the name of a tool or server.
func (n *names) tool(bad complaint, path, name string) {
	switch {
	case !toolName.MatchString(name):
		bad(path+".name", "a tool or server cannot be named %q: 1 to 64 letters, digits, '_', '-' and '.', the first a letter or '_'", name)
	case name == exitLoop || name == recall:
		bad(path+".name", "%s is built in; give this one another name", name)
	default:
		n.take(bad, path, name)
	}
}

func (c *file) checkServer(bad complaint, path string, m *mcpConfig) {
	local := len(m.Command) > 0 && m.Command[0] != ""
	switch {
	case local == (m.URL != ""):
		bad(path, "server %s needs either command: or url:", m.Name)
	case local && len(m.Headers)+len(m.HeaderEnv) > 0:
		bad(path, "server %s is a command, which takes no headers", m.Name)
	case !local && len(m.Env) > 0:
		bad(path+".env", "server %s is an address, which takes no environment", m.Name)
	case !local && !strings.HasPrefix(m.URL, "http://") && !strings.HasPrefix(m.URL, "https://"):
		bad(path+".url", "the url begins with http:// or https://")
	}
	for _, header := range slices.Sorted(maps.Keys(m.HeaderEnv)) {
		variable := m.HeaderEnv[header]
		if !envName.MatchString(variable) || strings.Contains(variable, "=") {
			// The value is not quoted: it may be a key.
			bad(path+".header_env", "header %s: the value is not the name of an environment variable", header)
		}
	}
	checkAsk(bad, path, m.Ask, len(m.Confirm) > 0)
	for i, name := range m.Confirm {
		if len(m.Tools) > 0 && name != "*" && !slices.Contains(m.Tools, name) {
			bad(fmt.Sprintf("%s.confirm[%d]", path, i), "%q is none of the server's tools%s", name,
				yamlfile.Meant(name, m.Tools))
		}
	}
}

// checkAsk complains about who is asked to confirm a call.
func checkAsk(bad complaint, path string, a session.Approver, confirm bool) {
	switch asked := a != (session.Approver{}); {
	case asked && !confirm:
		bad(path+".ask", "nobody is asked; add confirm:")
	case asked && a.Check() != nil:
		bad(path+".ask", "%w", a.Check())
	}
}

func (c *file) checkEnv(bad complaint, path string, list []string) {
	for i, v := range list {
		if !envName.MatchString(v) {
			// The value is not quoted: it may be a key.
			bad(fmt.Sprintf("%s.env[%d]", path, i),
				"an entry of env is NAME or NAME=VALUE; this one is neither")
		}
	}
}

// checkTool returns what is wrong with the name of a tool that an agent has.
func (c *file) checkTool(name string) error {
	server, of, one := strings.Cut(name, "/")
	names := []string{exitLoop, recall}
	for i := range c.Tools {
		names = append(names, c.Tools[i].Name)
	}
	for i := range c.MCP {
		m := &c.MCP[i]
		names = append(names, m.Name)
		if one && m.Name == server {
			if len(m.Tools) > 0 && !slices.Contains(m.Tools, of) {
				return fmt.Errorf("server %s has no tool %q among its tools%s", server, of,
					yamlfile.Meant(of, m.Tools))
			}
			return nil
		}
	}
	if one {
		return fmt.Errorf("unknown server %q%s", server, yamlfile.Guess(server, names))
	}
	if !slices.Contains(names, name) {
		return fmt.Errorf("unknown tool or server %q%s", name, yamlfile.Meant(name, names))
	}
	return nil
}

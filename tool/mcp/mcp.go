// Package mcp makes tools of the tools of servers that speak the Model Context Protocol. A server
// is a command or an HTTP endpoint.
//
// The tools are those that the server lists when it is opened. Later changes are ignored: a
// declaration that changed in the middle of a session would invalidate the model's prompt cache,
// and nobody would have looked at it. Calls of a tool that the server has withdrawn fail. Against changes
// from one start to the next, the plugin guardrail can pin declarations (pin_tools in its policy).
//
// Nothing that a server sends is without a bound: a message or an answer has at most 32 MiB, 500,000
// JSON values, and 1,000 of them in each other; the list of tools 10,000 tools, 4 MiB and 100,000
// values; a schema what tool.Schema says; an answer over HTTP 10,000 events. Of answers over HTTP
// with more than 1 MiB or 50,000 values, this process reads two at a time; others wait. What exceeds
// a bound is an error that names it. A server that asks for something and does not read the answer is
// not read any further, and over HTTP loses the connection after two seconds.
//
// What a server says about its tools (its annotations) is used where that is harmless: tools that
// only read run concurrently, all others alone. The server does not decide whether a human is
// asked; see Config.Confirm.
//
// A new setting: a field of Config, and its key in package config.
package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/tool"
)

// A Config says which server to use: a Command or a URL.
type Config struct {
	// Command is a program and its arguments. It speaks the protocol on its standard input and
	// output. There is no shell. A relative path is relative to Dir.
	Command []string
	// Dir is the working directory of the command; "" is that of this process.
	Dir string
	// Env is the environment of the command besides PATH, HOME and LANG: NAME passes on a variable
	// of this process, and NAME=VALUE sets one. Nothing else is passed on, so keys in the
	// environment of this process stay secret.
	Env []string
	// Stderr gets what the command writes to standard error, in whole lines; nil drops it. The last
	// bytes are also in errors. Secrets are hidden in both; see Open.
	Stderr io.Writer

	// URL is the address of a server that speaks streamable HTTP. Headers are sent with each
	// request. Redirects are followed to the same host and scheme only.
	URL     string
	Headers map[string]string

	// Prefix begins the names of the tools, so that tools of two servers have different names.
	Prefix string
	// Tools are the tools to use, by the server's names. If it is empty, all are used.
	Tools []string
	// Confirm are the tools, by the server's names, for which a human must confirm each call. "*"
	// is all.
	Confirm []string
	// Change returns what is executed in place of each tool, once a human has confirmed the call; nil changes none.
	Change func(*tool.Tool) *tool.Tool
	// Ask are those whose yes is needed then; the session's own user if there is none.
	Ask []session.Approver
	// StartTimeout is how long the server may take from its start to the list of tools; 0 is 30
	// seconds. Timeout is how long one call may take; 0 is a minute. A call that starts the server
	// again has Timeout for both.
	StartTimeout, Timeout time.Duration
}

// Limits.
const (
	startLimit = 30 * time.Second // if Config.StartTimeout is 0
	maxPages   = 100              // of the list of tools
	maxTools   = 10_000           // in the list of tools

	// The list of tools, all pages and with the schemas. The model reads it with each request.
	maxListBytes  = 4 << 20
	maxListValues = 100_000 // JSON values

	callLimit = time.Minute     // for a call, if Config.Timeout is 0
	patience  = 2 * time.Second // between one way to end a server and the next, harder one
	maxTail   = 2 << 10         // bytes of standard error in an error
	maxInline = 64 << 10        // bytes of media in a response
)

// A Client is a connection to a server. The connection is made again when it is lost.
type Client struct {
	config  Config
	label   string // names the server in errors, without the arguments of the command
	secrets *secrets
	tools   []*tool.Tool

	life    context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	mu   sync.Mutex
	conn *conn // the last one
}

// Open starts the command, or connects to the URL, and lists the tools. Its error says what failed,
// and ends with the last lines of the command's standard error.
//
// In errors, and in what Stderr gets, secrets are replaced by […]: the values of Headers and Env,
// and the password and the query values of the URL. Each whole value and each word of it is
// replaced if it has 6 bytes or more, also as it is written in strings of JSON and of programming
// languages, in URLs, in base64 and in hex. A secret is not found if the server encodes it in
// another way or writes only a part of it. Responses of tools are not changed, unless they are errors.
//
// If the server ends later, the calls that it was executing fail. They are not repeated, since it
// is not known what became of them. The next call starts the server again, or connects again, once.
// On Linux a command is killed when this process ends, for whatever reason; processes that the
// command has started are not.
func Open(ctx context.Context, config Config) (*Client, error) {
	c := &Client{config: config}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("mcp: %w", err)
	}
	c.config.Command = slices.Clone(config.Command)
	c.config.Timeout = cmp.Or(config.Timeout, callLimit)
	c.config.StartTimeout = cmp.Or(config.StartTimeout, startLimit)
	c.secrets = newSecrets(&c.config)
	c.life, c.end = context.WithCancel(context.WithoutCancel(ctx))
	conn, err := c.connect(ctx)
	if err == nil {
		c.tools, err = c.declare(ctx, conn.tools)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("mcp: server %s: %w", c.label, c.secrets.redact(err)),
			c.Close())
	}
	return c, nil
}

// check returns an error if the configuration is invalid, and sets the label.
func (c *Client) check() error {
	f := &c.config
	command := len(f.Command) > 0
	switch {
	case command == (f.URL != ""):
		return errors.New("set either Command or URL")
	case f.Timeout < 0 || f.StartTimeout < 0:
		return errors.New("the Timeout and StartTimeout must not be negative")
	case command && len(f.Headers) > 0:
		return errors.New("the Headers are for a URL, but Command is set")
	case !command && (len(f.Env) > 0 || f.Dir != "" || f.Stderr != nil):
		return errors.New("the fields Env, Dir and Stderr are for a Command, but URL is set")
	}
	if command {
		c.label = filepath.Base(f.Command[0])
		return nil
	}
	u, err := url.Parse(f.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		// it is not quoted, since it may contain a key
		return errors.New("the URL must be one of http or https with a host")
	}
	c.label = u.Host
	return nil
}

// Tools returns the tools, in the order of the server.
func (c *Client) Tools() []*tool.Tool { return slices.Clone(c.tools) }

// Close ends the command, or the connection to the URL, and waits until it has ended. A command
// that does not end by itself within seconds is killed, with all processes of its group. Calls that
// are running fail, and so do later calls.
func (c *Client) Close() error {
	c.end()
	c.running.Wait()
	return nil
}

// declare returns the tools that the configuration names.
func (c *Client) declare(ctx context.Context, list []*sdk.Tool) ([]*tool.Tool, error) {
	var all []string
	for _, t := range list {
		all = append(all, t.Name)
	}
	for _, name := range slices.Concat(c.config.Tools, c.config.Confirm) {
		if name != "*" && !slices.Contains(all, name) {
			return nil, fmt.Errorf("it has no tool named %q; it has %s", name, strings.Join(all, ", "))
		}
	}
	var tools []*tool.Tool
	serverNames := map[string]string{} // by the name that a tool has here
	for _, t := range list {
		if len(c.config.Tools) > 0 && !slices.Contains(c.config.Tools, t.Name) {
			continue
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		made := c.tool(t)
		if _, err := made.Check(); err != nil {
			return nil, fmt.Errorf("%w (list the tools you want in Tools, without %q)", err, t.Name)
		}
		if other, ok := serverNames[made.Name()]; ok {
			return nil, fmt.Errorf("its tools %q and %q would both be named %q; list the one you want in Tools", other, t.Name, made.Name())
		}
		serverNames[made.Name()] = t.Name
		tools = append(tools, made)
	}
	return tools, nil
}

// tool returns a tool that calls a tool of the server. It has the server's schema.
func (c *Client) tool(t *sdk.Tool) *tool.Tool {
	name := t.Name
	made := &tool.Tool{
		Declaration: &genai.FunctionDeclaration{
			Name:                 c.config.Prefix + plain(name),
			Description:          cmp.Or(t.Description, t.Title),
			ParametersJsonSchema: t.InputSchema,
		},
		Serial: t.Annotations == nil || !t.Annotations.ReadOnlyHint,
		Run: func(ctx context.Context, call *tool.Call) (map[string]any, error) {
			return c.call(ctx, name, call)
		},
	}
	if c.config.Change != nil {
		made = c.config.Change(made)
	}
	if slices.Contains(c.config.Confirm, name) || slices.Contains(c.config.Confirm, "*") {
		made = tool.Confirm(made, fmt.Sprintf("Call %s of the MCP server %s?", name, c.label), c.config.Ask...)
	}
	return made
}

// plain returns a name that every model accepts. Names of MCP may have '.' and '/' too.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
}

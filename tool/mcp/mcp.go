// Package mcp has the tools of servers that speak the Model Context Protocol, of commands and of HTTP
// endpoints.
//
// The tools are those that the server lists when it is opened, and stay so: a declaration that changed
// in the middle of a session would cost the model's prompt cache, and nobody would have looked at it. A
// tool that the server has since withdrawn fails.
//
// What a server says about its tools (its annotations) is believed where it does no harm: a tool that
// only reads runs beside others, any other runs alone. Whether a human is asked is not the server's
// choice: see Config.Confirm.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/plughook/plughook/tool"
)

// A Config says what server it is: a Command or a URL.
type Config struct {
	// Command is a program and its arguments, which speaks the protocol on its standard input and output. A
	// relative path is one from Dir. No shell reads it.
	Command []string
	// Dir is where it runs; "" is where this process runs.
	Dir string
	// Env is its environment beyond PATH, HOME and LANG: NAME passes on a variable of this process,
	// NAME=VALUE sets one. Nothing else is passed on, so the keys of this process stay here.
	Env []string
	// Stderr gets what it writes to standard error, in whole lines; nil drops it. The last of it stands in
	// errors. Secrets are hidden in both: see Open.
	Stderr io.Writer

	// URL is that of a server that speaks streamable HTTP, Headers go with each request to its host.
	URL     string
	Headers map[string]string

	// Prefix begins the names of the tools here, so that those of two servers differ.
	Prefix string
	// Tools are the names, as the server has them, of the tools to take. All, if there are none.
	Tools []string
	// Confirm are the names, as the server has them, of the tools that need a human's yes for each call.
	// "*" is all.
	Confirm []string
	// StartTimeout is how long it may take from the start to the list of tools, 0 is 30 seconds; Timeout
	// how long one call may take, 0 is a minute. A call that has to start the server anew waits as long as a
	// call does.
	StartTimeout, Timeout time.Duration
}

// Bounds.
const (
	startLimit = 30 * time.Second // if Config.StartTimeout is 0
	maxPages   = 100              // of the list of tools
	maxTools   = 10_000           // in it
	callLimit  = time.Minute      // for a call, if Config.Timeout is 0
	patience   = 2 * time.Second  // between one way to end a server and the next harder one
	maxTail    = 2 << 10          // bytes of standard error in an error
	maxInline  = 64 << 10         // bytes of media in a response
)

// A Client is a server that is open.
type Client struct {
	config  Config
	label   string // for errors: nothing of its arguments
	secrets *secrets
	tools   []*tool.Tool

	life    context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	mu   sync.Mutex
	conn *conn // the latest
}

// Open starts the command, or connects to the URL, and lists the tools. An error says what happened, and
// ends with the last lines of the command's standard error.
//
// In errors, and in what Stderr gets, the values of Headers and of Env are replaced by […], and so are the
// password and the values of the query of the URL: each that has 6 bytes or more, and each word of it that
// has. They are not found if the server encodes them in another way, or writes a part of them only. What a
// tool answers is passed on as it is, unless it is an error.
//
// A server that ends later fails the calls it had, which are not repeated: nobody knows what became of
// them. The next call starts it, or connects, anew, once. On Linux a command is killed with this process,
// however that ends; what the command has started is not.
func Open(ctx context.Context, config Config) (*Client, error) {
	c := &Client{config: config}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("mcp: %w", err)
	}
	c.config.Command = slices.Clone(config.Command)
	if c.config.Timeout == 0 {
		c.config.Timeout = callLimit
	}
	if c.config.StartTimeout == 0 {
		c.config.StartTimeout = startLimit
	}
	c.secrets = hiding(&c.config)
	c.life, c.end = context.WithCancel(context.WithoutCancel(ctx))
	conn, err := c.connect(ctx)
	if err == nil {
		c.tools, err = c.declare(conn.tools)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("mcp: server %s: %w", c.label, c.secrets.redact(err)), c.Close())
	}
	return c, nil
}

// Tools returns the tools, in the server's order.
func (c *Client) Tools() []*tool.Tool { return slices.Clone(c.tools) }

// Close ends the server, or the connection to it, and waits for it: a command that does not end by
// itself within seconds is killed, with all processes of its group. Calls that are running fail, and so
// do later ones.
func (c *Client) Close() error {
	c.end()
	c.running.Wait()
	return nil
}

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plughook/plughook/internal/inbound"
)

// A conn is one connection to the server. If the server is a command, each connection has a process
// of its own.
type conn struct {
	ready   chan struct{} // closed when the next three are set
	session *sdk.ClientSession
	tools   []*sdk.Tool
	err     error // why there is no session

	ended  chan struct{} // closed when the connection has ended and why is set
	why    string        // how it ended
	broken chan struct{} // closed by giveUp
	once   sync.Once
}

// giveUp ends the connection.
func (c *conn) giveUp() { c.once.Do(func() { close(c.broken) }) }

var errClosed = errors.New("the client was closed")

// connect returns the connection, or makes one if there is none or it has ended. Calls that come
// while it is being made wait for the same one.
func (c *Client) connect(ctx context.Context) (*conn, error) {
	c.mu.Lock()
	if c.life.Err() != nil {
		c.mu.Unlock()
		return nil, errClosed
	}
	made := c.conn
	if made == nil || useless(made) {
		made = &conn{
			ready:  make(chan struct{}),
			ended:  make(chan struct{}),
			broken: make(chan struct{}),
		}
		c.conn = made
		c.running.Go(func() {
			defer close(made.ended)
			c.run(made)
		})
	}
	c.mu.Unlock()
	select {
	case <-made.ready:
		return made, made.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// useless reports whether a connection has ended or failed.
func useless(c *conn) bool {
	select {
	case <-c.ended:
		return true
	default:
	}
	select {
	case <-c.ready:
		return c.err != nil
	default:
		return false // it is being made
	}
}

// run makes a connection, and returns when it has ended.
func (c *Client) run(made *conn) {
	var p *process
	var transport sdk.Transport
	if len(c.config.Command) > 0 {
		var err error
		p, err = c.start()
		if err != nil {
			made.err = fmt.Errorf("it cannot be started: %w", err)
			close(made.ready)
			return
		}
		transport = &pipe{sdk.IOTransport{
			Reader:        io.NopCloser(inbound.Messages(p.stdout)),
			Writer:        p.stdin,
			MaxLineLength: -1, // inbound bounds it
		}}
	} else {
		rt := c.roundTripper(made.giveUp)
		defer rt.CloseIdleConnections()
		transport = &sdk.StreamableClientTransport{
			Endpoint:             c.config.URL,
			HTTPClient:           &http.Client{Transport: rt, CheckRedirect: rt.checkRedirect},
			DisableStandaloneSSE: true,
			MaxEventSize:         -1, // inbound bounds it
		}
	}
	err := c.initialize(made, transport)
	ready := err == nil
	if ready {
		close(made.ready)
		err = c.serve(made, p)
	} else {
		if p != nil {
			p.stop()
		}
		if made.session != nil {
			_ = made.session.Close()
		}
	}
	made.why = reason(err, p)
	if !ready {
		made.err = errors.New(made.why)
		close(made.ready)
	}
}

// serve waits for a reason to end the connection, and ends it.
func (c *Client) serve(made *conn, p *process) (err error) {
	lost := make(chan struct{})
	c.running.Go(func() {
		err = made.session.Wait()
		close(lost)
	})
	var exited chan struct{} // nil, which blocks for ever, if there is no process
	if p != nil {
		exited = p.exited
	}
	select {
	case <-c.life.Done():
	case <-made.broken:
	case <-lost:
	case <-exited:
		select {
		case <-lost: // the session has read everything
		case <-time.After(patience): // another process keeps standard output open
		}
	}
	if p != nil {
		p.stop() // first: the session may be blocked by a write that the server does not read
	}
	_ = made.session.Close() // its error says only that the process has ended
	<-lost
	return err
}

// reason says why a connection ended, and how the process ended.
func reason(err error, p *process) string {
	said := "it ended"
	if err != nil {
		said = err.Error()
	}
	if strings.Contains(said, "invalid character") || strings.Contains(said, "trailing data") {
		said = "it wrote something that is not the protocol (a server logs to standard error): " + said
	}
	if p == nil {
		return said
	}
	if p.err != nil {
		said += " (" + p.err.Error() + ")"
	}
	return said + p.stderr.String()
}

// initialize sets the session and the tools of a connection. If it fails, the session may be set
// all the same.
func (c *Client) initialize(made *conn, transport sdk.Transport) error {
	slow := fmt.Errorf("it was not ready within %s", c.config.StartTimeout)
	ctx, cancel := context.WithTimeoutCause(c.life, c.config.StartTimeout, slow)
	defer cancel()
	client := sdk.NewClient(
		&sdk.Implementation{Name: "plughook", Version: "1"},
		&sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{}})
	var err error
	made.session, err = client.Connect(ctx, transport, nil)
	if err == nil {
		made.tools, err = list(ctx, made.session)
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// list returns the tools of the server.
func list(ctx context.Context, session *sdk.ClientSession) ([]*sdk.Tool, error) {
	ctx, decoded := inbound.Hold(ctx)
	defer decoded()
	var tools []*sdk.Tool
	left := budget{bytes: maxListBytes, values: maxListValues}
	params := &sdk.ListToolsParams{}
	for range maxPages {
		page, err := session.ListTools(ctx, params)
		if err != nil {
			return nil, err
		}
		tools = append(tools, page.Tools...)
		for _, t := range page.Tools {
			if err := left.spend(t); err != nil {
				return nil, err
			}
		}
		switch {
		case len(tools) > maxTools:
			return nil, fmt.Errorf("it lists more than %d tools", maxTools)
		case page.NextCursor == "":
			return tools, nil
		}
		params.Cursor = page.NextCursor
	}
	return nil, fmt.Errorf("its list of tools has more than %d pages", maxPages)
}

// A budget is what a list of tools may still have.
type budget struct{ bytes, values int }

// spend counts a tool.
func (b *budget) spend(t *sdk.Tool) error {
	data, err := json.Marshal(t)
	if err != nil {
		return err
	}
	b.bytes -= len(data)
	b.values -= inbound.Values(data)
	switch {
	case b.bytes < 0:
		return fmt.Errorf("its list of tools has more than %d bytes, the most that is allowed; have the server list fewer tools, or with shorter descriptions and schemas", maxListBytes)
	case b.values < 0:
		return fmt.Errorf("its list of tools has more than %d JSON values, the most that is allowed; have the server list fewer tools, or with smaller schemas", maxListValues)
	}
	return nil
}

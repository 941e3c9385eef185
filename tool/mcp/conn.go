package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A conn is one connection to the server, with the process that it is to.
type conn struct {
	ready   chan struct{} // closed when these are set
	session *sdk.ClientSession
	tools   []*sdk.Tool
	err     error // why there is no session

	ended  chan struct{} // closed when all of it is over
	why    string        // how it ended, then
	broken chan struct{} // closed to end it
	once   sync.Once
}

// giveUp ends the connection.
func (c *conn) giveUp() { c.once.Do(func() { close(c.broken) }) }

var errClosed = errors.New("the client was closed")

// connect returns a connection that was not over a moment ago, and makes one if there is none. Calls that
// come while one is made wait for it together.
func (c *Client) connect(ctx context.Context) (*conn, error) {
	c.mu.Lock()
	if c.life.Err() != nil {
		c.mu.Unlock()
		return nil, errClosed
	}
	made := c.conn
	if made == nil || over(made) {
		made = &conn{ready: make(chan struct{}), ended: make(chan struct{}), broken: make(chan struct{})}
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

// over reports whether the connection is of no use any more.
func over(c *conn) bool {
	select {
	case <-c.ended:
		return true
	default:
	}
	select {
	case <-c.ready:
		return c.err != nil
	default:
		return false // those who come now wait for it
	}
}

// run makes a connection, and ends it when the client is closed or the connection is broken.
func (c *Client) run(made *conn) {
	var p *process
	var transport sdk.Transport
	if len(c.config.Command) > 0 {
		var err error
		if p, err = c.start(); err != nil {
			made.err = fmt.Errorf("it cannot be started: %w", err)
			close(made.ready)
			return
		}
		transport = &sdk.IOTransport{Reader: io.NopCloser(p.stdout), Writer: p.stdin}
	} else {
		sends := c.courier()
		defer sends.CloseIdleConnections()
		transport = &sdk.StreamableClientTransport{Endpoint: c.config.URL, HTTPClient: &http.Client{Transport: sends}, DisableStandaloneSSE: true}
	}
	err := c.shakeHands(made, transport)
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

// serve waits until the connection is over, for one reason or another, and ends it.
func (c *Client) serve(made *conn, p *process) (err error) {
	lost := make(chan struct{})
	c.running.Go(func() {
		err = made.session.Wait()
		close(lost)
	})
	var exited chan struct{} // for ever open if there is no process
	if p != nil {
		exited = p.exited
	}
	select {
	case <-c.life.Done():
	case <-made.broken:
	case <-lost:
	case <-exited:
		select {
		case <-lost: // the session has read to the end
		case <-time.After(patience): // somebody else holds standard output open
		}
	}
	if p != nil {
		p.stop() // first, because a write that the server does not read holds up the session
	}
	_ = made.session.Close() // tells how the process ended, or a request to end the session
	<-lost
	return err
}

// reason says why a connection ended, and how the process did.
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

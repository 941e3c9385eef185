// Package client runs agents and reads sessions that a server of package server has. A run goes on when the
// connection to the server breaks: the client comes back, to the same or to another server on the same store,
// and gets what it has missed.
//
// Calls that wait for an answer are those of session.Calls in the live view that wait (Call.Waits). A yes or
// no is an input, session.Decision, and so is a response, session.Respond: Run takes both.
//
// A new route: a method of Client that calls ask or get, in the file of its noun. A new code of an error: a
// case of Error.Is.
package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// MaxFrame is how many bytes one event of a stream, or one answer, may have.
const MaxFrame = 64 << 20

// attempts is how many connections in a row may bring nothing new before the client gives up.
const attempts = 6

// Options say how a Client sends its requests. The zero Options are the usual.
type Options struct {
	// Token says who the client is, on a server that wants to know.
	Token string
	// Header is sent with each request, such as what a proxy before the server wants to know.
	Header http.Header
	// HTTP sends the requests; nil is a client of its own. It must not have a Timeout: a run may be long.
	// Redirects are not followed, whatever its CheckRedirect says.
	HTTP *http.Client
}

// A Client is a client of one server. It may be used by many goroutines.
type Client struct {
	base   *url.URL
	token  string
	header http.Header
	http   *http.Client
}

var _ session.Reader = (*Client)(nil)

// New returns a Client of the server at a URL, such as "http://127.0.0.1:8080".
func New(server string, o Options) (*Client, error) {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return nil, fmt.Errorf("client: %q is no URL of a server, such as http://127.0.0.1:8080", server)
	}
	c := &Client{base: u, token: o.Token, header: o.Header.Clone(), http: o.HTTP}
	if c.http == nil {
		c.http = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	}
	// A server of package server redirects nobody. Another one could get the token and the input by a
	// redirect.
	own := *c.http
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &own
	return c, nil
}

// Close closes connections that are idle.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// An Error is what a server answers if it does not do what it was asked for. To errors.Is, it is the error of
// package session or runner that its Code stands for, such as session.ErrNotFound.
type Error struct {
	Status  int    `json:"-"` // 0 if it came within a stream
	Code    string `json:"code"`
	Message string `json:"message"`
	// Invocation is the one that keeps a session busy.
	Invocation string `json:"invocation"`
}

func (e *Error) Error() string { return "server: " + e.Message }

// Is reports whether the error's Code stands for the target.
func (e *Error) Is(target error) bool {
	switch target {
	case session.ErrNotFound:
		return e.Code == "not_found"
	case session.ErrExists:
		return e.Code == "exists"
	case session.ErrIDReused:
		return e.Code == "id_reused"
	case session.ErrCancelled:
		return e.Code == "cancelled"
	case session.ErrUnavailable:
		return e.Code == "unavailable"
	case runner.ErrCommand:
		return e.Code == "no_plugin"
	case runner.ErrNotWaiting:
		return e.Code == "not_waiting"
	case runner.ErrNotYours:
		return e.Code == "not_yours"
	}
	return false
}

// path returns the URL of a session, or of a route below it such as "events?follow=1". Without an ID in the key
// it is that of the user's sessions. The user is left out if it is "user": the server's default, or the user of the token.
func (c *Client) path(key session.Key, below string) string {
	path, query, _ := strings.Cut(below, "?")
	if key.User != "" && key.User != "user" {
		query = "user=" + url.QueryEscape(key.User) + "&" + query
	}
	u := c.base.JoinPath("v1", "apps", segment(key.App), "sessions", segment(key.ID), path)
	u.RawQuery = strings.TrimSuffix(query, "&")
	return u.String()
}

// segment returns a name as one segment of a path. It escapes "." and "..", which would lead to another path.
func segment(name string) string {
	if name == "." || name == ".." {
		return strings.ReplaceAll(name, ".", "%2E")
	}
	return url.PathEscape(name)
}

// send sends a request, and returns the answer if that is a success.
func (c *Client) send(
	ctx context.Context, method, url string, body []byte, header http.Header) (*http.Response, error,
) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, c.header)
	maps.Copy(req.Header, header)
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		return nil, &unreachable{err}
	}
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	answer := struct {
		Error *Error `json:"error"`
	}{}
	if err != nil || json.Unmarshal(data, &answer) != nil || answer.Error == nil {
		switch resp.StatusCode {
		case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			// It is a proxy that answers; the server behind it has died or has not begun yet.
			return nil, &unreachable{fmt.Errorf("status %s", resp.Status)}
		}
		answer.Error = &Error{Code: "failed", Message: "it answered with status " + resp.Status}
	}
	answer.Error.Status = resp.StatusCode
	return nil, answer.Error
}

// An unreachable is a failure between the client and the server. The client tries again after it.
type unreachable struct{ err error }

func (u *unreachable) Error() string {
	return "the server was not reached, or the connection broke: " + u.err.Error()
}

func (u *unreachable) Unwrap() error { return u.err }

// get asks for what is at a URL, and decodes the answer.
func (c *Client) get(ctx context.Context, url string, to any) error {
	return c.ask(ctx, http.MethodGet, url, nil, to)
}

// ask sends a request with a body in JSON, which may be nil, and decodes the answer.
func (c *Client) ask(ctx context.Context, method, url string, body any, to any) error {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return fmt.Errorf("client: the request: %w", err)
		}
	}
	resp, err := c.send(ctx, method, url, data, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return decode(resp, to)
}

// decode decodes an answer, which is JSON.
func decode(resp *http.Response, to any) error {
	data, err := io.ReadAll(io.LimitReader(resp.Body, MaxFrame+1))
	switch {
	case err != nil:
		return &unreachable{err}
	case len(data) > MaxFrame:
		return fmt.Errorf("client: the server's answer has more than %d bytes", MaxFrame)
	}
	if err := json.Unmarshal(data, to); err != nil {
		return fmt.Errorf("client: the server's answer is not what was asked for: %w", err)
	}
	return nil
}

// position returns the header with which a request asks for the events behind a position.
func position(after int64) http.Header {
	h := http.Header{"Accept": {"text/event-stream"}, "Content-Type": {"application/json"}}
	if after > 0 {
		h.Set("Last-Event-ID", strconv.FormatInt(after, 10))
	}
	return h
}

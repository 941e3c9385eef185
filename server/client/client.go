// Package client runs agents and reads sessions that a server of package server has. A run goes on when the
// connection to the server breaks: the client comes back, to the same or to another server on the same store,
// and gets what it has missed.
//
// Calls that wait for an answer are those of session.Calls in the live view that wait (Call.Waits). A yes or no is an input,
// session.Decision, and so is a response, session.Respond: Run takes both.
package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// MaxFrame is how many bytes one event of a stream, or one answer, may have.
const MaxFrame = 64 << 20

// attempts is how often a client comes back, one time after the other, without having got anything new.
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
	// A server of package server sends nobody elsewhere. What does would get the token and the input.
	own := *c.http
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &own
	return c, nil
}

// Close closes connections that are idle.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// An Error is what a server answers in place of what it was asked for. It is session.ErrNotFound,
// session.ErrIDReused, runner.ErrCommand or runner.ErrDecision where it says that.
type Error struct {
	Status  int    `json:"-"` // 0 if it came within a stream
	Code    string `json:"code"`
	Message string `json:"message"`
	// Invocation is the one that keeps a session busy.
	Invocation string `json:"invocation"`
}

func (e *Error) Error() string { return "server: " + e.Message }

// Is reports whether the error is another one in the terms of the packages session and runner.
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
	case runner.ErrCommand:
		return e.Code == "no_plugin"
	case runner.ErrDecision:
		return e.Code == "not_waiting"
	}
	return false
}

// path returns the path of a session, and of what is below it.
func (c *Client) path(key session.Key, below string) string {
	query := c.user(key)
	path, more, _ := strings.Cut(below, "?")
	u := c.base.JoinPath("v1", "apps", segment(key.App), "sessions", segment(key.ID), path)
	u.RawQuery = strings.Trim(query.Encode()+"&"+more, "&")
	return u.String()
}

// user returns the parameter that names a key's user. It is left out for the user that servers take in its place, unless
// they know the caller by a token or by a header: then it is theirs to say who that is.
func (c *Client) user(key session.Key) url.Values {
	query := url.Values{}
	if c.token == "" && key.User != "" && key.User != "user" {
		query.Set("user", key.User)
	}
	return query
}

// sessions returns the path of the sessions of a key's app and user, with parameters.
func (c *Client) sessions(key session.Key, parameters string) string {
	query := c.user(key)
	u := c.base.JoinPath("v1", "apps", segment(key.App), "sessions")
	u.RawQuery = strings.Trim(query.Encode()+"&"+parameters, "&")
	return u.String()
}

// segment returns a name as one segment of a path. "." and ".." alone would be taken for the way to another path.
func segment(name string) string {
	if name == "." || name == ".." {
		return strings.ReplaceAll(name, ".", "%2E")
	}
	return url.PathEscape(name)
}

// send sends a request, and returns the answer if that is a success.
func (c *Client) send(ctx context.Context, method, url string, body []byte, header http.Header) (*http.Response, error) {
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
			// A proxy says so, whose server has died or is not there yet.
			return nil, &unreachable{fmt.Errorf("status %s", resp.Status)}
		}
		answer.Error = &Error{Code: "failed", Message: "it answered with status " + resp.Status}
	}
	answer.Error.Status = resp.StatusCode
	return nil, answer.Error
}

// unreachable is a failure between the client and the server: it may go away by itself.
type unreachable struct{ err error }

func (u *unreachable) Error() string {
	return "the server was not reached, or the connection broke: " + u.err.Error()
}

func (u *unreachable) Unwrap() error { return u.err }

// get reads an answer that is JSON.
func (c *Client) get(ctx context.Context, url string, to any) error {
	return c.ask(ctx, http.MethodGet, url, nil, to)
}

// ask sends a request whose answer is JSON.
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

// decode reads an answer that is JSON.
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

// Get returns a session: Initial and Frontier are not told by servers.
func (c *Client) Get(ctx context.Context, key session.Key) (*session.Session, error) {
	var s sessionBody
	if err := c.get(ctx, c.path(key, ""), &s); err != nil {
		return nil, err
	}
	return s.session()
}

// sessionBody is what servers say of a session.
type sessionBody struct {
	App      string         `json:"app"`
	User     string         `json:"user"`
	ID       string         `json:"id"`
	State    jsontext.Value `json:"state"`
	Position int64          `json:"position"`
	Created  time.Time      `json:"created"`
	Updated  time.Time      `json:"updated"`
	Running  string         `json:"running"`
}

// session returns the session that a server has told of.
func (s *sessionBody) session() (*session.Session, error) {
	one := &session.Session{
		Key:      session.Key{App: s.App, User: s.User, ID: s.ID},
		Position: s.Position,
		Created:  s.Created,
		Updated:  s.Updated,
		Holder:   s.Running,
	}
	if s.State != nil {
		v, err := session.DecodeValue(s.State)
		if err != nil {
			return nil, fmt.Errorf("client: the session's state: %w", err)
		}
		one.State, _ = v.(map[string]any)
	}
	return one, nil
}

// Read yields a session's events, page by page. Selection.Since and Last select from what was read.
func (c *Client) Read(ctx context.Context, key session.Key, sel session.Selection) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		if !sel.Since.IsZero() || sel.Last > 0 {
			var all []*session.Event
			for e, err := range c.Read(ctx, key, session.Selection{Live: sel.Live, After: sel.After}) {
				if err != nil {
					yield(nil, err)
					return
				}
				if !e.Timestamp.Before(sel.Since) {
					all = append(all, e)
				}
			}
			if sel.Last > 0 && len(all) > sel.Last {
				all = all[len(all)-sel.Last:]
			}
			for _, e := range all {
				if !yield(e, nil) {
					return
				}
			}
			return
		}
		for after, more := sel.After, true; more; {
			var page struct {
				Events []jsontext.Value `json:"events"`
				More   bool             `json:"more"`
			}
			below := fmt.Sprintf("events?limit=1000&live=%t&after=%d", sel.Live, after)
			if err := c.get(ctx, c.path(key, below), &page); err != nil {
				yield(nil, err)
				return
			}
			for _, data := range page.Events {
				e, err := session.DecodeEvent(data)
				if err != nil {
					yield(nil, fmt.Errorf("client: an event of the server: %w", err))
					return
				}
				after = e.Seq
				if !yield(e, nil) {
					return
				}
			}
			more = page.More && len(page.Events) > 0
		}
	}
}

// Run is runner.Runner.Run on the server: it yields the run's events, and the error that it ended with. When
// the context is done, or the caller leaves the loop, the run is cancelled.
func (c *Client) Run(ctx context.Context, key session.Key, input *session.Event, cfg session.RunConfig) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		r := &run{Client: c, key: key, shown: map[string]int{}}
		if err := r.prepare(input, cfg); err != nil {
			yield(nil, err)
			return
		}
		err := r.follow(ctx, yield)
		if errors.Is(err, errLeft) || context.Cause(ctx) != nil {
			r.cancel(ctx)
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
		}
		if err != nil && !errors.Is(err, errLeft) {
			yield(nil, err)
		}
	}
}

// Create makes a session with an initial state, which may be nil. Without an ID in its key the server makes one.
func (c *Client) Create(ctx context.Context, key session.Key, state map[string]any) (*session.Session, error) {
	body := map[string]any{"id": key.ID}
	if state != nil {
		body["state"] = state
	}
	var s sessionBody
	if err := c.ask(ctx, http.MethodPost, c.sessions(key, ""), body, &s); err != nil {
		return nil, err
	}
	return s.session()
}

// List yields a user's sessions. With a token, the user is the token's.
func (c *Client) List(ctx context.Context, app, user string) iter.Seq2[*session.Session, error] {
	return func(yield func(*session.Session, error) bool) {
		for after, more := "", true; more; {
			var page struct {
				Sessions []*sessionBody `json:"sessions"`
				More     bool           `json:"more"`
			}
			below := "limit=1000"
			if after != "" {
				below += "&after=" + url.QueryEscape(after)
			}
			if err := c.get(ctx, c.sessions(session.Key{App: app, User: user}, below), &page); err != nil {
				yield(nil, err)
				return
			}
			for _, body := range page.Sessions {
				after = body.ID
				s, err := body.session()
				if !yield(s, err) || err != nil {
					return
				}
			}
			more = page.More && len(page.Sessions) > 0
		}
	}
}

// Cancel ends an invocation, in whatever process it runs, and waits for its end. It is no error if the invocation does
// not run any more.
func (c *Client) Cancel(ctx context.Context, key session.Key, invocation string) error {
	var answer struct{}
	url := c.path(key, "invocations/"+segment(invocation)+"/cancel?wait=1")
	return c.ask(ctx, http.MethodPost, url, nil, &answer)
}

// cancel cancels the run, and waits for its end: whoever reads the session then sees all of it.
func (r *run) cancel(ctx context.Context) {
	if r.invocation == "" {
		return
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), 2*session.CancelGrace)
	defer done()
	below := "invocations/" + segment(r.invocation) + "/cancel?wait=1"
	for pause := 100 * time.Millisecond; pause < time.Second && ctx.Err() == nil; pause *= 2 {
		resp, err := r.send(ctx, http.MethodPost, r.path(r.key, below), nil, nil)
		if err == nil {
			resp.Body.Close() // the run's own end is told where it is read
		}
		if !later(err) {
			return
		}
		wait(ctx, pause)
	}
}

// position is the header of a request for what comes behind a position.
func position(after int64) http.Header {
	h := http.Header{"Accept": {"text/event-stream"}, "Content-Type": {"application/json"}}
	if after > 0 {
		h.Set("Last-Event-ID", strconv.FormatInt(after, 10))
	}
	return h
}

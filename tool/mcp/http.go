package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"

	"go.opentelemetry.io/otel/propagation"

	"github.com/plughook/plughook/internal/inbound"
	"github.com/plughook/plughook/internal/telemetry"
)

// A roundTripper sends the requests of a client with its headers.
type roundTripper struct {
	*http.Transport
	host    string
	scheme  string
	headers map[string]string
	giveUp  func() // ends the connection
}

func (c *Client) roundTripper(giveUp func()) *roundTripper {
	u, _ := url.Parse(c.config.URL) // Open has checked it
	return &roundTripper{
		Transport: http.DefaultTransport.(*http.Transport).Clone(),
		host:      u.Host,
		scheme:    u.Scheme,
		headers:   c.config.Headers,
		giveUp:    giveUp,
	}
}

// maxRedirects is how many redirects one request follows.
const maxRedirects = 10

// checkRedirect returns an error unless a redirect leads to the server's host. To another one would
// go what the model says to the tool, and the other host may be one that only this machine reaches.
func (r *roundTripper) checkRedirect(req *http.Request, via []*http.Request) error {
	if !r.own(req) {
		return fmt.Errorf("it redirects to %s, and only redirects to its own host are followed", req.URL.Host)
	}
	if len(via) > maxRedirects {
		return fmt.Errorf("it redirects more than %d times", maxRedirects)
	}
	return nil
}

// own reports whether a request goes to the host that is configured.
func (r *roundTripper) own(req *http.Request) bool {
	return req.URL.Host == r.host && req.URL.Scheme == r.scheme
}

// isAnswer reports whether a request to the server has an answer to a request of the server's.
func isAnswer(req *http.Request) bool {
	if req.GetBody == nil {
		return false
	}
	body, err := req.GetBody()
	if err != nil {
		return false
	}
	defer body.Close()
	var message struct {
		Method string `json:"method"`
	}
	err = json.NewDecoder(io.LimitReader(body, maxOurs)).Decode(&message)
	return err != nil || message.Method == "" // only an answer, which repeats the server's id, is larger
}

// maxOurs is how many bytes a request has at most that belongs to no call of a tool, and is ours.
const maxOurs = 64 << 10

// exchangeKey is the key of a context's value, an *exchange.
type exchangeKey struct{}

// An exchange is what became of the requests of one call that the errors of the library do not
// tell.
type exchange struct {
	// refused says that the server refused a request because it does not know the session. All
	// calls of the session get that error.
	refused atomic.Bool
	large   atomic.Pointer[error] // why an answer was not read to its end
}

// A body is that of an answer. It has a bound of events, and notes if the answer is too large.
type body struct {
	io.ReadCloser
	exchange *exchange // nil if the answer is to no call of a tool
	events   int       // so far
	lineEnd  bool      // the last byte has ended a line
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	for _, c := range p[:n] {
		if c == '\n' && b.lineEnd {
			b.events++
		}
		b.lineEnd = c == '\n' || c == '\r' && b.lineEnd
	}
	if b.events > maxEvents {
		n = 0
		err = errEvents
	}
	var large *inbound.Error
	if b.exchange != nil && (err == errEvents || errors.As(err, &large)) {
		b.exchange.large.Store(&err)
	}
	return n, err
}

// maxEvents is how many events an answer to one call may have. An event is a message: the result, or
// before it a notification or a request of the server's, which the library keeps until it is handled.
const maxEvents = 10_000

var errEvents = fmt.Errorf("the server sends too much: more than %d events in one answer", maxEvents)

// RoundTrip implements http.RoundTripper.
func (r *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	seen, _ := req.Context().Value(exchangeKey{}).(*exchange)
	req = req.Clone(req.Context())
	telemetry.Inject(req.Context(), propagation.HeaderCarrier(req.Header))
	if r.own(req) { // headers contain keys
		for name, value := range r.headers {
			req.Header.Set(name, value)
		}
	}

	// While the library answers a request of the server's, it keeps what the server sends. A server
	// that does not take the answer loses the connection.
	if seen == nil && isAnswer(req) {
		ctx, cancel := context.WithTimeout(req.Context(), patience)
		defer cancel()
		defer context.AfterFunc(ctx, r.giveUp)()
		req = req.WithContext(ctx)
	}
	resp, err := r.Transport.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusNotFound && req.Header.Get("Mcp-Session-Id") != "" {
		// The server does not know the session any more. If the body has an error, the library
		// would take that for a failure of this call only, and use the session for ever. So the
		// body is removed.
		resp.Body.Close()
		resp.Body = http.NoBody
		if seen != nil {
			seen.refused.Store(true)
		}
	}
	if err == nil {
		inbound.Bound(req.Context(), resp)
		resp.Body = &body{ReadCloser: resp.Body, exchange: seen}
	}
	return resp, err
}

package mcp

import (
	"net/http"
	"net/url"
	"sync/atomic"
)

// A courier sends the requests of one client.
type courier struct {
	*http.Transport
	host    string
	scheme  string
	headers map[string]string
}

func (c *Client) courier() *courier {
	u, _ := url.Parse(c.config.URL) // checked by Open
	return &courier{http.DefaultTransport.(*http.Transport).Clone(), u.Host, u.Scheme, c.config.Headers}
}

// refusedKey is the key of a context's flag, which is set if the request was refused for its session: by
// the time that the library says so, it says it to every call of the session.
type refusedKey struct{}

// RoundTrip implements http.RoundTripper.
func (r *courier) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host == r.host && req.URL.Scheme == r.scheme { // not where a redirect leads: headers have keys
		req = req.Clone(req.Context())
		for name, value := range r.headers {
			req.Header.Set(name, value)
		}
	}
	resp, err := r.Transport.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusNotFound && req.Header.Get("Mcp-Session-Id") != "" {
		// The session is gone. The library takes an answer with an error in its body for a failure of the
		// one call, and would stay with the session for ever.
		resp.Body.Close()
		resp.Body = http.NoBody
		if refused, ok := req.Context().Value(refusedKey{}).(*atomic.Bool); ok {
			refused.Store(true)
		}
	}
	return resp, err
}

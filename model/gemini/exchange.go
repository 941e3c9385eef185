package gemini

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/inbound"
	"github.com/plughook/plughook/internal/telemetry"
	"github.com/plughook/plughook/session"
)

// An exchange records what the transport sees of one attempt and the SDK does not report.
type exchange struct {
	sent   bool // something was sent
	status int  // the HTTP status, 0 before there is one
	// retryAfter is the wait that the server asks for, negative if it asks for none.
	retryAfter time.Duration
	// broken is why the body could not be read to its end; expired says that its time was over.
	broken  error
	expired bool
	// calls are the function calls received so far, in order, with their exact numbers.
	calls []exactCall
	// finishMessage explains the finish reason; for the Gemini API the SDK drops it.
	finishMessage string
}

type exchangeKey struct{}

// begun reports whether the server has begun to answer.
func (e *exchange) begun() bool { return e.status >= 200 && e.status < 300 }

// A transport records the answers of another transport in exchanges.
type transport struct{ base http.RoundTripper }

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	base := t.base
	if base == nil {
		base = http.DefaultTransport
	}
	req = telemetry.InHeader(req)
	e, ours := req.Context().Value(exchangeKey{}).(*exchange)
	if !ours {
		return base.RoundTrip(req)
	}
	e.sent = true
	resp, err := base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	e.status = resp.StatusCode
	e.retryAfter = retryAfter(resp.Header.Get("Retry-After"), time.Now())
	inbound.Bound(req.Context(), resp)
	b := &body{exchange: e, ctx: req.Context(), in: resp.Body}
	resp.Body = b
	if e.begun() && req.URL.Query().Get("alt") == "sse" {
		resp.Body = newEvents(b)
	}
	return resp, nil
}

// retryAfter reads the header of that name: seconds or a date. It is negative if there is none.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, at.Sub(now))
	}
	return -1
}

// A body reports a broken connection as the body's end, and keeps the error in the exchange;
// otherwise the SDK would log it. It also records what was read.
type body struct {
	exchange *exchange
	ctx      context.Context // the request's, whose deadline the client sets
	in       io.ReadCloser
	read     bytes.Buffer
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.raw(p)
	b.read.Write(p[:n])
	if err != nil {
		b.exchange.frame(b.read.Bytes())
		b.read.Reset()
	}
	return n, err
}

// raw reads without recording what it reads.
func (b *body) raw(p []byte) (int, error) {
	n, err := b.in.Read(p)
	if err != nil && err != io.EOF {
		deadline, ok := b.ctx.Deadline() // the client may cancel at it before the context has noticed
		b.exchange.broken = err
		b.exchange.expired = b.ctx.Err() != nil || ok && !time.Now().Before(deadline)
		err = io.EOF
	}
	return n, err
}

func (b *body) Close() error { return b.in.Close() }

type exactCall struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// frame reads from the raw response what the SDK changes or drops.
func (e *exchange) frame(data []byte) {
	if !bytes.Contains(data, []byte(`"functionCall"`)) &&
		!bytes.Contains(data, []byte(`"finishMessage"`)) {
		return
	}
	var response struct {
		Candidates []struct {
			Index         int    `json:"index"`
			FinishMessage string `json:"finishMessage"`
			Content       struct {
				Parts []struct {
					FunctionCall *exactCall `json:"functionCall"`
				} `json:"parts"`
			} `json:"content"`
		} `json:"candidates"`
	}
	if json.Unmarshal(data, &response) != nil {
		return // the SDK says so
	}
	for _, c := range response.Candidates {
		if c.Index == 0 && c.FinishMessage != "" {
			e.finishMessage = c.FinishMessage
		}
		for _, p := range c.Content.Parts {
			if c.Index == 0 && p.FunctionCall != nil {
				e.calls = append(e.calls, *p.FunctionCall)
			}
		}
	}
}

// exact restores the exact numbers in the content's function calls.
func (e *exchange) exact(c *genai.Content) {
	if c == nil {
		return
	}
	for _, p := range c.Parts {
		if p.FunctionCall == nil || len(e.calls) == 0 {
			continue
		}
		as := e.calls[0]
		e.calls = e.calls[1:]
		args, _ := session.DecodeValue(as.Args)
		if object, ok := args.(map[string]any); ok && as.Name == p.FunctionCall.Name {
			p.FunctionCall.Args = object
		}
	}
}

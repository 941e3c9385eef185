package gemini

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genai"
)

// largest is how many bytes of an answer are read.
const largest = 256 << 20

// An exchange is what the transport has seen of one attempt, which the SDK does not tell.
type exchange struct {
	sent   bool // something was sent
	status int  // the HTTP status, 0 before there is one
	// retryAfter is the wait that the server asks for, negative if it asks for none.
	retryAfter time.Duration
	// broken is why the body could not be read to its end; expired says that its time was over.
	broken  error
	expired bool
	// calls are the function calls that have come, in order, with their numbers as they are.
	calls []exactCall
	// finishMessage explains the reason to finish; of the Gemini API the SDK does not pass it on.
	finishMessage string
}

type exchangeKey struct{}

// begun reports whether the server has begun to answer.
func (e *exchange) begun() bool { return e.status >= 200 && e.status < 300 }

// A transport watches the answers of another.
type transport struct{ base http.RoundTripper }

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	base := t.base
	if base == nil {
		base = http.DefaultTransport
	}
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
	b := &body{exchange: e, ctx: req.Context(), in: http.MaxBytesReader(nil, resp.Body, largest)}
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

// A body ends where it breaks off, and the exchange knows why: the SDK would write that to the log.
// It remembers what it has read.
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

// raw reads and remembers nothing.
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
	Name string         `json:"name"`
	Args map[string]any `json:"args"`
}

// frame takes what the SDK changes or drops out of a response as it came.
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
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if d.Decode(&response) != nil {
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

// exact gives the content's function calls the numbers that they came with.
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
		if as.Name == p.FunctionCall.Name && as.Args != nil {
			p.FunctionCall.Args = numbers(as.Args).(map[string]any)
		}
	}
}

// numbers makes numbers float64, but for integers beyond 2^53.
func numbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = numbers(x)
		}
	case []any:
		for i, x := range v {
			v[i] = numbers(x)
		}
	case json.Number:
		f, err := v.Float64()
		if err == nil && (math.Abs(f) < 1<<53 || strings.ContainsAny(v.String(), ".eE")) {
			return f
		}
	}
	return v
}

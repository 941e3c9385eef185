package judge

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"

	jsonstrict "github.com/go-json-experiment/json"
	"golang.org/x/net/http/httpguts"

	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// maxResponse is how many bytes a service may answer with.
const maxResponse = 1 << 20

// newClient returns the client for services. It follows no redirect: a text is sent to the address
// in the policy alone.
func newClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = maxAsking
	transport.MaxResponseHeaderBytes = 64 << 10
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// service returns a function that asks a service.
func (p *Pool) service(spec *policy.Judge) (func(context.Context, *Question) (Answer, error), error) {
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}
	if spec.HeaderEnv != "" {
		name, value, ok := strings.Cut(os.Getenv(spec.HeaderEnv), ":")
		value = strings.TrimSpace(value)
		if !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return nil, fmt.Errorf("header_env: the environment variable %s has no header: set it to one, as in Authorization: Bearer TOKEN", spec.HeaderEnv)
		}
		header.Set(name, value)
	}
	return func(ctx context.Context, q *Question) (Answer, error) {
		// Send the text.
		text := valid(q.Text)
		body, err := json.Marshal(map[string]string{
			"rule":  spec.Rule,
			"stage": string(q.Stage),
			"text":  text,
		})
		if err != nil {
			return Answer{}, NoAnswer("the text cannot be written as JSON")
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, spec.URL, bytes.NewReader(body))
		if err != nil {
			return Answer{}, NoAnswer("the address of its judge is wrong")
		}
		req.Header = header.Clone()
		resp, err := p.client.Do(req)
		if err != nil {
			return Answer{}, unreachable(err)
		}
		defer resp.Body.Close()

		// Read the answer. Anything but one as documented is none.
		switch {
		case resp.StatusCode >= 300 && resp.StatusCode < 400:
			return Answer{}, noAnswerf("its judge answered with a redirect (HTTP status %d), and none is followed: put the address that it is at into the policy", resp.StatusCode)
		case resp.StatusCode != http.StatusOK:
			return Answer{}, noAnswerf("its judge answered with HTTP status %d", resp.StatusCode)
		}
		data, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
		switch {
		case err != nil:
			return Answer{}, unreachable(err)
		case len(data) > maxResponse:
			return Answer{}, noAnswerf("its judge answered with more than %d bytes", maxResponse)
		}
		return readAnswer(data, text)
	}, nil
}

// valid returns the text with each byte that is not UTF-8 as a question mark, so that the others
// keep their places.
func valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	b := []byte(text)
	for at := 0; at < len(b); {
		r, size := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && size == 1 {
			b[at] = '?'
		}
		at += size
	}
	return string(b)
}

// unreachable says why there is no answer. It does not quote what net/http says, which may quote
// the server, and that the text.
func unreachable(err error) error {
	var unknown x509.UnknownAuthorityError
	var invalid *tls.CertificateVerificationError
	var host *net.DNSError
	var errno syscall.Errno
	switch {
	case errors.As(err, &unknown) || errors.As(err, &invalid):
		return NoAnswer("its judge has a certificate that is not trusted")
	case errors.As(err, &host):
		return NoAnswer("its judge cannot be reached: the host is not found")
	case errors.As(err, &errno):
		return noAnswerf("its judge cannot be reached: %s", errno.Error())
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return NoAnswer("its judge closed the connection")
	}
	return NoAnswer("its judge did not answer in HTTP")
}

// wireAnswer is what a service answers. Other keys are left alone.
type wireAnswer struct {
	Flagged  *bool      `json:"flagged"`
	Type     string     `json:"type"`
	Score    *float64   `json:"score"`
	Findings []wireSpan `json:"findings"`
}

type wireSpan struct {
	Start *int     `json:"start"`
	End   *int     `json:"end"`
	Type  string   `json:"type"`
	Score *float64 `json:"score"`
}

// readAnswer reads what a service has answered about a text, strictly: what is not as documented is
// no answer.
func readAnswer(data []byte, text string) (Answer, error) {
	var a Answer
	var w wireAnswer
	if jsonstrict.Unmarshal(data, &w) != nil {
		return a, NoAnswer("its judge's answer is not the JSON that is documented")
	}
	if w.Flagged == nil {
		return a, NoAnswer("its judge's answer does not say flagged")
	}
	a.Flagged = *w.Flagged
	if !a.Flagged && len(w.Findings) > 0 {
		return a, NoAnswer("its judge's answer has findings and is not flagged")
	}
	all := policy.Span{End: len(text), Type: policy.TypeFlagged, Score: 1}
	if err := label(&all, w.Type, w.Score); err != nil {
		return a, err
	}
	if len(w.Findings) > 0 {
		a.Spans = make([]policy.Span, 0, len(w.Findings))
	}
	for _, f := range w.Findings {
		s := all
		if !inside(text, f.Start, f.End) {
			return a, NoAnswer("its judge's answer has a finding that is no part of the text: start and end are bytes of its UTF-8")
		}
		s.Start = *f.Start
		s.End = *f.End
		if err := label(&s, f.Type, f.Score); err != nil {
			return a, err
		}
		a.Spans = append(a.Spans, s)
	}
	if a.Flagged && a.Spans == nil {
		a.Spans = []policy.Span{all}
	}
	return a, nil
}

// inside reports whether two bytes are the start and the end of a part of a text that divides no
// character.
func inside(text string, start, end *int) bool {
	if start == nil || end == nil || *start < 0 || *start >= *end || *end > len(text) {
		return false
	}
	return boundary(text, *start) && boundary(text, *end)
}

// boundary reports whether a character begins, or the text ends, at a byte.
func boundary(text string, at int) bool { return at == len(text) || utf8.RuneStart(text[at]) }

// label sets the type and the score of a span, if a service gives them.
func label(s *policy.Span, kind string, score *float64) error {
	if kind != "" {
		if !policy.ValidType(kind) {
			return NoAnswer("its judge's answer has a wrong type: it is capital letters, digits and _, at most 64")
		}
		s.Type = kind
	}
	if score != nil {
		s.Score = *score
		if !(s.Score >= 0 && s.Score <= 1) { // which NaN is not
			return NoAnswer("its judge's answer has a score that is not from 0 to 1")
		}
	}
	return nil
}

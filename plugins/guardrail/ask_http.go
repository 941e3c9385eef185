package guardrail

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
)

const maxAnswer = 1 << 20

// newClient returns the client for judges. It follows no redirect: the text was meant for the address in the policy.
func newClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = maxAsking
	transport.MaxResponseHeaderBytes = 64 << 10
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// service returns what asks a service of the policy's.
func (j *judges) service(a *ask) (func(context.Context, *question) (answer, error), error) {
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}
	if a.headerEnv != "" {
		name, value, ok := strings.Cut(os.Getenv(a.headerEnv), ":")
		value = strings.TrimSpace(value)
		if !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return nil, fmt.Errorf("header_env: the environment variable %s has no header: set it to one, as in Authorization: Bearer TOKEN", a.headerEnv)
		}
		header.Set(name, value)
	}
	return func(ctx context.Context, q *question) (answer, error) {
		body, err := json.Marshal(map[string]string{"rule": q.rule, "stage": string(q.stage), "text": valid(q.text)})
		if err != nil {
			return answer{}, unjudged("the text is none that JSON can hold")
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url, bytes.NewReader(body))
		if err != nil {
			return answer{}, unjudged("its judge has an address that is none")
		}
		req.Header = header.Clone()
		resp, err := j.client.Do(req)
		if err != nil {
			return answer{}, unreachable(err)
		}
		defer resp.Body.Close()
		switch {
		case resp.StatusCode >= 300 && resp.StatusCode < 400:
			return answer{}, unjudgedf("its judge answered with a redirect (HTTP status %d), and none is followed: put the address that it is at into the policy", resp.StatusCode)
		case resp.StatusCode != http.StatusOK:
			return answer{}, unjudgedf("its judge answered with HTTP status %d", resp.StatusCode)
		}
		data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
		switch {
		case err != nil:
			return answer{}, unreachable(err)
		case len(data) > maxAnswer:
			return answer{}, unjudgedf("its judge answered with more than %d bytes", maxAnswer)
		}
		return readAnswer(data, valid(q.text))
	}, nil
}

// valid returns the text with each byte that is not UTF-8 as a question mark, so that the others keep their places.
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

// unreachable says why there is no answer, in words that have nothing of it: what net/http says may quote a server, and
// that the text.
func unreachable(err error) error {
	var unknown x509.UnknownAuthorityError
	var invalid *tls.CertificateVerificationError
	var host *net.DNSError
	var errno syscall.Errno
	switch {
	case errors.As(err, &unknown) || errors.As(err, &invalid):
		return unjudged("its judge has a certificate that is not trusted")
	case errors.As(err, &host):
		return unjudged("its judge cannot be reached: the host is not found")
	case errors.As(err, &errno):
		return unjudgedf("its judge cannot be reached: %s", errno.Error())
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return unjudged("its judge closed the connection")
	}
	return unjudged("its judge did not answer in HTTP")
}

// wireAnswer is what a service answers. What else there is in it is left alone.
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

// readAnswer reads what a service has answered about a text, strictly: what is not as documented is no verdict.
func readAnswer(data []byte, text string) (said answer, err error) {
	var w wireAnswer
	if jsonstrict.Unmarshal(data, &w) != nil {
		return said, unjudged("its judge's answer is not the JSON that it is to be")
	}
	if w.Flagged == nil {
		return said, unjudged("its judge's answer does not say flagged")
	}
	if said.flagged = *w.Flagged; !said.flagged && len(w.Findings) > 0 {
		return said, unjudged("its judge's answer has findings and is not flagged")
	}
	all := span{end: len(text), kind: typeFlagged, score: 1}
	if err := all.says(w.Type, w.Score); err != nil {
		return said, err
	}
	if len(w.Findings) > 0 {
		said.spans = make([]span, 0, len(w.Findings))
	}
	for _, f := range w.Findings {
		s := all
		if f.Start == nil || f.End == nil || *f.Start < 0 || *f.Start >= *f.End || *f.End > len(text) || !boundary(text, *f.Start) || !boundary(text, *f.End) {
			return said, unjudged("its judge's answer has a finding that is no part of the text: start and end are bytes of its UTF-8")
		}
		s.start, s.end = *f.Start, *f.End
		if err := s.says(f.Type, f.Score); err != nil {
			return said, err
		}
		said.spans = append(said.spans, s)
	}
	if said.flagged && said.spans == nil {
		said.spans = []span{all}
	}
	return said, nil
}

// boundary reports whether a character begins, or the text ends, at a byte.
func boundary(text string, at int) bool { return at == len(text) || utf8.RuneStart(text[at]) }

// says sets what is said of a span.
func (s *span) says(kind string, score *float64) error {
	if kind != "" {
		if !typeForm.MatchString(kind) {
			return unjudged("its judge's answer has a type that is none: capital letters, digits and _, at most 64")
		}
		s.kind = kind
	}
	if score != nil {
		if s.score = *score; !(s.score >= 0 && s.score <= 1) {
			return unjudged("its judge's answer has a score that is not from 0 to 1")
		}
	}
	return nil
}

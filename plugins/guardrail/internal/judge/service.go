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

	"golang.org/x/net/http/httpguts"

	"github.com/plughook/plughook/plugins/guardrail/internal/judging"
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
func (p *Pool) service(spec *judging.Judge) (ask, error) {
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}
	if spec.HeaderEnv != "" {
		name, value, ok := strings.Cut(os.Getenv(spec.HeaderEnv), ":")
		value = strings.TrimSpace(value)
		if !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return nil, fmt.Errorf("header_env: the environment variable %s has no header: set it to one, as in Authorization: Bearer TOKEN", spec.HeaderEnv)
		}
		header.Set(name, value)
	}
	one := func(ctx context.Context, q *Question) (a Answer, err error) {
		// Send the text.
		text := valid(q.Text)
		body, err := json.Marshal(map[string]string{
			"rule":  spec.Rule,
			"stage": string(q.Stage),
			"text":  text,
		})
		if err != nil {
			return a, judging.Unanswered("the text cannot be written as JSON")
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, spec.URL, bytes.NewReader(body))
		if err != nil {
			return a, judging.Unanswered("the address of its judge is wrong")
		}
		req.Header = header.Clone()
		resp, err := p.client.Do(req)
		if err != nil {
			return a, unreachable(err)
		}
		defer resp.Body.Close()

		// Read the answer. Anything but one as documented is none.
		switch {
		case resp.StatusCode >= 300 && resp.StatusCode < 400:
			return a, judging.Unanswered("its judge answered with a redirect (HTTP status %d), and none is followed: put the address that it is at into the policy", resp.StatusCode)
		case resp.StatusCode != http.StatusOK:
			return a, judging.Unanswered("its judge answered with HTTP status %d", resp.StatusCode)
		}
		data, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
		switch {
		case err != nil:
			return a, unreachable(err)
		case len(data) > maxResponse:
			return a, judging.Unanswered("its judge answered with more than %d bytes", maxResponse)
		}
		a.Raw = string(data)
		a.Answer, err = spec.Read(data, text)
		return a, err
	}
	return func(ctx context.Context, _ []*Judge, q *Question) []result {
		a, err := one(ctx, q)
		return []result{{Answer: a, err: err}}
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
		return judging.Unanswered("its judge has a certificate that is not trusted")
	case errors.As(err, &host):
		return judging.Unanswered("its judge cannot be reached: the host is not found")
	case errors.As(err, &errno):
		return judging.Unanswered("its judge cannot be reached: %s", errno.Error())
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return judging.Unanswered("its judge closed the connection")
	}
	return judging.Unanswered("its judge did not answer in HTTP")
}

// Package web has interceptors of AGENT-HOOKS 0.1 that other programs are, over HTTP: a context is the body of a POST, and
// the verdict that of the answer, both as the specification has them. "runner serve" answers so at /hooks/agent-hooks.
//
// Another way to reach an interceptor is a package beside this one.
package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/plughook/plughook/agenthooks"
)

// maxAnswer is how many bytes a verdict may have: with a change, it has a target.
const maxAnswer = 5 << 20

// An Interceptor asks an address.
type Interceptor struct {
	address, token string
	client         *http.Client
}

// New returns an interceptor at an address, http://… or https://…. The token is sent as "Authorization: Bearer" if there is
// one. Redirects are not followed, so neither contexts nor the token go elsewhere. The host bounds how long it may take.
func New(address, token string) (*Interceptor, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("agenthooks: the address is not http://HOST/… or https://HOST/…")
	}
	if u.User != nil {
		return nil, errors.New("agenthooks: the address has a user or a password in it; use a token")
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Interceptor{address: address, token: token, client: &http.Client{CheckRedirect: stay}}, nil
}

// Intercept sends the context and reads the verdict. Whatever is not a whole verdict with status 200 is an error.
func (i *Interceptor) Intercept(ctx context.Context, c agenthooks.Context) (agenthooks.Verdict, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, i.address, bytes.NewReader(c))
	if err != nil {
		return agenthooks.Verdict{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	if i.token != "" {
		req.Header.Set("Authorization", "Bearer "+i.token)
	}
	resp, err := i.client.Do(req)
	var failure *url.Error // it quotes the address, which may have a secret in its query
	if errors.As(err, &failure) {
		err = fmt.Errorf("agenthooks: the interceptor cannot be reached: %w", failure.Err)
	}
	if err != nil {
		return agenthooks.Verdict{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return agenthooks.Verdict{}, fmt.Errorf("agenthooks: the interceptor answers with status %d", resp.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return agenthooks.Verdict{}, err
	}
	if len(data) > maxAnswer {
		return agenthooks.Verdict{}, fmt.Errorf("%w: it has more than %d bytes", agenthooks.ErrVerdict, maxAnswer)
	}
	v, err := agenthooks.ParseVerdict(data)
	if err != nil {
		return agenthooks.Verdict{}, fmt.Errorf("%w: %w", agenthooks.ErrVerdict, err)
	}
	return v, nil
}

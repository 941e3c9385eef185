package guardrail

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/plughook/plughook/plugins/guardrail/policy"
)

// How often an address is looked at, and how long that may take.
const (
	askEvery   = 30 * time.Second
	askTimeout = 10 * time.Second
	maxPolicy  = 4 << 20 // bytes
)

// newSource returns the source of a name. An address must be https, or http on this machine.
func newSource(name string) (*source, error) {
	s := &source{name: name}
	if !strings.Contains(name, "://") {
		return s, nil
	}
	s.remote = true
	u, err := url.Parse(name)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("guardrail: file: %q is no address of a policy; write https://HOST/PATH, without a user", redactedURL(u, name))
	}
	ip := net.ParseIP(u.Hostname())
	local := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	if u.Scheme != "https" && (u.Scheme != "http" || !local) {
		return nil, fmt.Errorf("guardrail: file: %s: a policy is loaded over https, or over http from this machine", u.Redacted())
	}
	return s, nil
}

// Load reads a policy from a file, or from an address, as Config.File names it.
func Load(ctx context.Context, name string) (*policy.Policy, error) {
	s, err := newSource(name)
	if err != nil {
		return nil, err
	}
	return s.read(ctx)
}

// redactedURL is an address without a password.
func redactedURL(u *url.URL, name string) string {
	if u == nil {
		scheme, _, _ := strings.Cut(name, "://")
		return scheme + "://…"
	}
	return u.Redacted()
}

// stampOf returns the stamp of a file, the zero stamp if there is none.
func stampOf(file string) stamp {
	info, err := os.Stat(file)
	if err != nil {
		return stamp{}
	}
	st := stamp{size: info.Size(), time: info.ModTime()}
	if info.Mode().IsRegular() { // reading a pipe would wait for who writes it
		data, _ := os.ReadFile(file) // one that cannot be read is read again, and the error told
		st.sum = sha256.Sum256(data)
	}
	return st
}

// stampsOf returns the stamps of files.
func stampsOf(files []string) (stamps []stamp) {
	for _, file := range files {
		stamps = append(stamps, stampOf(file))
	}
	return stamps
}

// forget lets the next read read everything, whatever was there before. It is for a policy that cannot be
// used: what is there once it is mended may look as it did.
func (s *source) forget() {
	s.files = nil
	s.etag = ""
}

// read reads the policy. It returns nil if nothing has changed since it was read last. An address is
// asked whether it has.
func (s *source) read(ctx context.Context) (*policy.Policy, error) {
	if s.remote {
		return s.fetch(ctx)
	}
	files := s.files
	if files == nil {
		files = []string{s.name}
	}
	now := stampsOf(files)
	if s.files != nil && slices.Equal(now, s.stamps) {
		return nil, nil
	}
	s.files = files
	s.stamps = now
	p, err := policy.Load(s.name)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(p.Files(), files) { // it includes others than before
		s.files = p.Files()
		s.stamps = append(now[:1:1], stampsOf(s.files[1:])...)
	}
	return p, nil
}

// fetch reads the policy from its address. No redirect is followed.
func (s *source) fetch(ctx context.Context) (*policy.Policy, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.name, nil)
	if err != nil {
		return nil, fmt.Errorf("guardrail: %w", err)
	}
	if s.etag != "" {
		req.Header.Set("If-None-Match", s.etag)
	}
	client := &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("guardrail: the policy cannot be loaded: %w", err)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotModified && s.etag != "":
		return nil, nil
	case resp.StatusCode == http.StatusOK:
	case resp.Header.Get("Location") != "":
		return nil, fmt.Errorf("guardrail: the policy cannot be loaded: %s redirects to another address (HTTP status %d); name the address where the policy is", s.name, resp.StatusCode)
	default:
		return nil, fmt.Errorf("guardrail: the policy cannot be loaded: %s answered with HTTP status %d", s.name, resp.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxPolicy+1))
	if err != nil {
		return nil, fmt.Errorf("guardrail: the policy cannot be loaded: %w", err)
	}
	if len(data) > maxPolicy {
		return nil, fmt.Errorf("guardrail: the policy at %s has more than %d bytes", s.name, maxPolicy)
	}
	if !s.signed && !complete(resp, data) {
		return nil, fmt.Errorf("guardrail: the policy cannot be loaded: %s has sent it without its length, so it may be cut off; "+
			"send Content-Length, or end the policy with the line \"...\" of its own", s.name)
	}
	p, err := policy.Parse(s.name, data)
	if err != nil {
		return nil, err
	}
	s.etag = resp.Header.Get("ETag")
	return p, nil
}

// complete reports whether an answer that was read to its end cannot have been cut off: the protocol has told its end, or the
// policy does, by YAML's mark for the end of a document. The beginning of a policy may be a policy, too.
func complete(resp *http.Response, data []byte) bool {
	told := resp.ContentLength >= 0 || resp.Uncompressed || resp.ProtoMajor > 1 || slices.Contains(resp.TransferEncoding, "chunked")
	return told || strings.HasSuffix("\n"+strings.TrimSpace(string(data)), "\n...")
}

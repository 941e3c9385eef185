package mcp

import (
	"bytes"
	"errors"
	"io"
	"net/url"
	"strings"

	"github.com/plughook/plughook/internal/child"
	"github.com/plughook/plughook/internal/redact"
)

// Limits, in bytes.
const (
	shortest = 6        // a shorter word is not a key, and may be a common word
	maxLine  = 64 << 10 // a longer line of standard error is passed on in pieces
)

// secrets removes secrets from texts: everything in the configuration of a server that may be one.
type secrets struct {
	words   []redact.Secret
	replace *redact.Secrets
}

// add adds a value and its words.
func (s *secrets) add(value string) {
	for _, word := range append(strings.Fields(value), strings.TrimSpace(value)) {
		if len(word) >= shortest {
			s.words = append(s.words, redact.Secret{Value: word, Name: "[…]"})
		}
	}
}

func newSecrets(f *Config) *secrets {
	s := &secrets{}
	for _, variable := range child.Environment(f.Env) {
		_, value, _ := strings.Cut(variable, "=")
		s.add(value)
	}
	for _, value := range f.Headers {
		s.add(value)
	}
	if u, err := url.Parse(f.URL); err == nil {
		if password, ok := u.User.Password(); ok {
			s.add(password)
		}
		for _, values := range u.Query() {
			for _, value := range values {
				s.add(value)
			}
		}
	}
	s.replace = redact.New(s.words)
	return s
}

// redact returns an error with the same text without secrets. It does not wrap the error, which has
// them.
func (s *secrets) redact(err error) error {
	return errors.New(s.replace.Replace(err.Error()))
}

// A censor writes whole lines without secrets to another writer, and ignores its errors.
type censor struct {
	*secrets
	to   io.Writer
	line []byte // the beginning of a line
}

// Write implements io.Writer.
func (c *censor) Write(p []byte) (int, error) {
	c.line = append(c.line, p...)
	end := bytes.LastIndexByte(c.line, '\n') + 1
	if end > 0 {
		c.pass(end)
	}
	if len(c.line) > maxLine {
		c.line = []byte(c.replace.Replace(string(c.line)))
		// The last bytes may be the beginning of a secret.
		c.pass(max(0, len(c.line)-c.replace.Longest()))
	}
	return len(p), nil
}

// pass passes on the first n bytes.
func (c *censor) pass(n int) {
	_, _ = io.WriteString(c.to, c.replace.Replace(string(c.line[:n])))
	c.line = append([]byte(nil), c.line[n:]...)
}

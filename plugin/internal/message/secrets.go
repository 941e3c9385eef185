package message

import (
	"strings"

	"github.com/plughook/plughook/internal/redact"
)

// maxText is how many bytes a text that a plugin wrote for people may have.
const maxText = 64 << 10

// Secrets are values that must not be shown, such as those of the environment variables that a
// plugin was granted. The zero Secrets are none.
type Secrets struct{ *redact.Secrets }

// NewSecrets returns secrets.
func NewSecrets(all ...redact.Secret) Secrets { return Secrets{redact.New(all)} }

// Text returns a text that a plugin wrote for people, without the secrets. A long text is cut off
// after 64 KiB.
func (s Secrets) Text(text string) string {
	long := len(text) > 2*maxText
	if long { // nobody sees the rest, so nothing has to be looked for in it
		text = text[:2*maxText]
	}
	text = s.Replace(text)
	if long { // its end may be the beginning of a secret
		text = text[:max(0, len(text)-s.Longest())]
	}
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return text
}

// Error returns an error whose text has no secrets. The plugin may have written a part of that
// text.
func (s Secrets) Error(err error) error {
	text := err.Error()
	clean := s.Text(text)
	if clean != text {
		return &RedactedError{text: clean, err: err}
	}
	return err
}

// A RedactedError is an error whose text was changed because it had a secret in it, or was too
// long. Only errors.Is and errors.As see the error below it.
type RedactedError struct {
	text string
	err  error
}

// Error implements error.
func (e *RedactedError) Error() string { return e.text }

// Unwrap returns the error with its whole text.
func (e *RedactedError) Unwrap() error { return e.err }

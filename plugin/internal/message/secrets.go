package message

import "strings"

// maxText is how many bytes a text that a plugin wrote for people may have.
const maxText = 64 << 10

// Secrets are values that must not be shown, such as those of the environment variables that a
// plugin was granted. The zero Secrets are none.
type Secrets struct{ replacer *strings.Replacer }

// NewSecrets returns secrets from pairs: a value, and what is shown in its place.
func NewSecrets(pairs ...string) Secrets { return Secrets{strings.NewReplacer(pairs...)} }

// Replace returns a text without the secrets.
func (s Secrets) Replace(text string) string {
	if s.replacer == nil {
		return text
	}
	return s.replacer.Replace(text)
}

// Text returns a text that a plugin wrote for people, without the secrets. A long text is cut off
// after 64 KiB.
func (s Secrets) Text(text string) string {
	text = s.Replace(text)
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

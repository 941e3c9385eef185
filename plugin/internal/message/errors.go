package message

import (
	"context"
	"errors"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

// kinds are the errors that errors.Is finds on the other side too, with their names in messages.
var kinds = []struct {
	name string
	err  error
}{
	{"timeout", plugin.ErrTimeout},
	{"panic", plugin.ErrPanic},
	{"outcome", plugin.ErrOutcome},
	{"in_place", plugin.ErrInPlace},
	{"canceled", context.Canceled},
	{"deadline", context.DeadlineExceeded},
	{"conflict", session.ErrConflict},
	{"fenced", session.ErrFenced},
	{"closed", session.ErrClosed},
	{"invalid", session.ErrInvalid},
	{"not_found", session.ErrNotFound},
	{"id_reused", session.ErrIDReused},
	{"too_large", ErrTooLarge},
}

// farError is an error that the other side has sent.
type farError struct {
	text string
	is   []error
}

func (e *farError) Error() string { return e.text }

func (e *farError) Unwrap() []error { return e.is }

// EncodeError encodes an error: its text, its kinds, and the plugin that it is about.
func EncodeError(err error) *wire.Error {
	w := &wire.Error{Message: err.Error()}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			w.Kinds = append(w.Kinds, k.name)
		}
	}
	var p *plugin.Error
	if errors.As(err, &p) {
		w.Plugin = p.Plugin
		w.Hook = string(p.Hook)
	}
	return w
}

// DecodeError decodes an error. Its text has no secrets.
func DecodeError(w *wire.Error, secret Secrets) error {
	e := &farError{text: secret.Text(w.GetMessage())}
	for _, k := range kinds {
		for _, name := range w.GetKinds() {
			if name == k.name {
				e.is = append(e.is, k.err)
			}
		}
	}
	if w.GetPlugin() != "" {
		e.is = append(e.is, &plugin.Error{
			Plugin: secret.Text(w.Plugin),
			Hook:   plugin.Hook(secret.Text(w.Hook)),
			Err:    errors.New(e.text),
		})
	}
	return e
}

// Failure returns the answer to a call that has failed.
func Failure(seq uint64, err error) *wire.PluginMessage {
	return &wire.PluginMessage{Seq: seq, Message: &wire.PluginMessage_Failure{Failure: &wire.Failure{Error: EncodeError(err)}}}
}

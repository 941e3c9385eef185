package audit

import (
	"context"
	"errors"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// causes are the kinds of errors that are told apart, in process and out of it: the first that it is counts.
var causes = []struct {
	err  error
	name string
}{
	{plugin.ErrTimeout, "timeout"}, {plugin.ErrPanic, "panic"}, {plugin.ErrInPlace, "in_place"}, {plugin.ErrOutcome, "outcome"},
	{session.ErrFenced, "fenced"}, {session.ErrConflict, "conflict"}, {session.ErrIDReused, "id_reused"},
	{session.ErrInvalid, "invalid"}, {session.ErrNotFound, "not_found"}, {session.ErrClosed, "closed"},
	{context.DeadlineExceeded, "deadline"}, {context.Canceled, "canceled"},
}

// ended says how an invocation ended.
func ended(e plugin.End) *end {
	out := &end{Kind: name(string(e.Kind)), Plugin: name(e.Plugin), Reason: reason(e.Reason)}
	if e.Err == nil {
		return out
	}
	out.Error = "error"
	for _, c := range causes {
		if errors.Is(e.Err, c.err) {
			out.Error = c.name
			break
		}
	}
	var failed *plugin.Error
	if errors.As(e.Err, &failed) {
		out.Plugin, out.Hook = name(failed.Plugin), name(string(failed.Hook))
	}
	return out
}

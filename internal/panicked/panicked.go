// Package panicked makes errors of panics, everywhere in the same way: what people and models read is one line,
// and the stack goes to the process's log, where the event is named that tells of the panic.
package panicked

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"strings"
)

// ErrPanic is what each Error is.
var ErrPanic = errors.New("panic")

// An Error is a panic that was recovered.
type Error struct {
	Value any
	Stack []byte // for the log
}

// Error returns the value in one line.
func (e *Error) Error() string {
	const most = 500
	line := strings.Join(strings.Fields(fmt.Sprint(e.Value)), " ")
	if len(line) > most {
		line = strings.ToValidUTF8(line[:most], "") + "…"
	}
	return fmt.Sprintf("%v: %s", ErrPanic, line)
}

// Is reports whether target is ErrPanic.
func (e *Error) Is(target error) bool { return target == ErrPanic }

// Recovered makes an error of what recover has returned: nil of nil. It must be called by the function that is
// deferred, so that the stack is that of the panic.
func Recovered(value any) error {
	if value == nil {
		return nil
	}
	return &Error{Value: value, Stack: debug.Stack()}
}

// WithoutValue is Recovered where the value may quote a secret: only what Go's runtime says is kept of it.
func WithoutValue(value any) error {
	err := Recovered(value)
	if _, known := value.(runtime.Error); err != nil && !known {
		err.(*Error).Value = fmt.Sprintf("a %T", value)
	}
	return err
}

// Log writes an error into the log if it is a panic's, with the stack and the attributes. It does nothing without a
// log.
func Log(log *slog.Logger, what string, err error, attrs ...any) {
	var p *Error
	if log != nil && errors.As(err, &p) {
		log.Error(what, append(attrs, "error", err, "stack", string(p.Stack))...)
	}
}

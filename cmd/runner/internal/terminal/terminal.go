// Package terminal writes to standard output and standard error: with colours and a progress bar
// where these are a terminal, and plainly where they are not.
//
// Nothing else writes colours or moves the cursor.
package terminal

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/term"

	"github.com/plughook/plughook/internal/escape"
)

// An Output is standard output. It is buffered, and if it cannot be written, it cancels what goes
// on.
type Output struct {
	mu     sync.Mutex
	to     io.Writer
	buf    *bufio.Writer
	cancel context.CancelCauseFunc
}

// NewOutput returns an Output that writes to w. It cancels with an OutputError.
func NewOutput(w io.Writer, cancel context.CancelCauseFunc) *Output {
	return &Output{to: w, buf: bufio.NewWriter(w), cancel: cancel}
}

// Columns returns how wide the terminal is, and 0 if the output goes to none.
func (o *Output) Columns() int { return Columns(o.to) }

// Write implements io.Writer.
func (o *Output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.buf.Write(data)
	return n, o.failed(err)
}

// WriteJSON writes a value as a line of JSON in which no character can steer a terminal.
func (o *Output) WriteJSON(v any) error {
	data, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return err
	}
	_, err = o.Write(append(escape.JSON(data), '\n'))
	return err
}

// Flush writes out what was written.
func (o *Output) Flush() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failed(o.buf.Flush())
}

func (o *Output) failed(err error) error {
	if err == nil {
		return nil
	}
	err = &OutputError{err}
	o.cancel(err)
	return err
}

// An OutputError says that standard output cannot be written.
type OutputError struct{ err error }

func (e *OutputError) Error() string { return fmt.Sprintf("standard output: %v", e.err) }
func (e *OutputError) Unwrap() error { return e.err }

// A LockedWriter lets goroutines write line by line.
type LockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

// NewLockedWriter returns a LockedWriter that writes to w.
func NewLockedWriter(w io.Writer) *LockedWriter { return &LockedWriter{w: w} }

// Write implements io.Writer.
func (l *LockedWriter) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(data)
}

// Is reports whether w, a reader or a writer, is a terminal.
func Is(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// A Style paints text for a terminal, or leaves it as it is.
type Style bool

// StyleOf returns the Style for a writer. Colour is for terminals only, and NO_COLOR turns it off.
func StyleOf(w any) Style {
	return Style(Is(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
}

func (s Style) paint(code, text string) string {
	if !s || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Bold returns text in bold.
func (s Style) Bold(text string) string { return s.paint("1", text) }

// Dim returns text that is less bright.
func (s Style) Dim(text string) string { return s.paint("2", text) }

// Red returns text in red.
func (s Style) Red(text string) string { return s.paint("31", text) }

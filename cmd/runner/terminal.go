package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/term"
)

// output is standard output: buffered, and the end of everything if it cannot be written.
type output struct {
	mu     sync.Mutex
	buf    *bufio.Writer
	cancel context.CancelCauseFunc
}

func newOutput(w io.Writer, cancel context.CancelCauseFunc) *output {
	return &output{buf: bufio.NewWriter(w), cancel: cancel}
}

// Write implements io.Writer.
func (o *output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.buf.Write(data)
	return n, o.failed(err)
}

// Flush writes out what was written.
func (o *output) Flush() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failed(o.buf.Flush())
}

func (o *output) failed(err error) error {
	if err == nil {
		return nil
	}
	err = &outputError{err}
	o.cancel(err)
	return err
}

// lockedWriter lets goroutines write line by line.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(data)
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// A style paints text for a terminal, or leaves it as it is.
type style bool

// styleOf returns the style for w: colour is for terminals only, and NO_COLOR turns it off.
func styleOf(w any) style {
	return style(isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
}

func (s style) paint(code, text string) string {
	if !s || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) bold(text string) string { return s.paint("1", text) }
func (s style) dim(text string) string  { return s.paint("2", text) }
func (s style) red(text string) string  { return s.paint("31", text) }

// printable returns text without the control characters that could steer a terminal: models and tools
// write what they like.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// oneLine returns text on one line, cut to about width characters.
func oneLine(text string, width int) string {
	text = strings.Join(strings.Fields(printable(text)), " ")
	if runes := []rune(text); len(runes) > width {
		return string(runes[:width-1]) + "…"
	}
	return text
}

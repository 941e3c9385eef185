package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/peterh/liner"
)

// lineSource is where a chat's lines come from: a terminal with editing, or anything else as it is.
type lineSource interface {
	// read returns a line, io.EOF at the end, errAborted at Ctrl-C, or the context's cause.
	read(ctx context.Context, prompt string) (string, error)
	// remember puts a message into the history.
	remember(text string)
	close() error
}

var errAborted = errors.New("aborted")

// openLines returns the lines of standard input.
func (p *program) openLines() (lineSource, error) {
	if p.stdin == os.Stdin && isTerminal(os.Stdin) && isTerminal(p.stdout) {
		return openTerminal()
	}
	l := &plainLines{come: make(chan typed), done: make(chan struct{})}
	if isTerminal(p.stdin) {
		l.prompt = p.err
	}
	go l.scan(p.stdin)
	return l, nil
}

type typed struct {
	text string
	err  error
}

// plainLines reads lines as they are.
type plainLines struct {
	prompt io.Writer // nil if nobody would see it
	come   chan typed
	done   chan struct{}
}

// scan ends with the input, at close, or with the process: a read cannot be cancelled.
func (l *plainLines) scan(from io.Reader) {
	defer close(l.come) // the end stays the end
	r := bufio.NewReader(from)
	for {
		text, err := r.ReadString('\n')
		if text != "" && err == io.EOF {
			err = nil // the next read says it
		}
		select {
		case l.come <- typed{strings.TrimRight(text, "\r\n"), err}:
		case <-l.done:
			return
		}
		if err != nil {
			return
		}
	}
}

func (l *plainLines) read(ctx context.Context, prompt string) (string, error) {
	if l.prompt != nil {
		fmt.Fprint(l.prompt, prompt)
	}
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case line, more := <-l.come:
		if !more {
			return "", io.EOF
		}
		if line.err != nil && line.err != io.EOF {
			return "", exitUsage.errorf("standard input: %w", line.err)
		}
		return line.text, line.err
	}
}

func (l *plainLines) remember(string) {}

func (l *plainLines) close() error {
	close(l.done)
	return nil
}

// terminal reads lines with editing and a history.
type terminal struct {
	*liner.State
	history string // its file
}

func openTerminal() (lineSource, error) {
	file, err := historyFile()
	if err != nil {
		return nil, exitUsage.as(err)
	}
	t := &terminal{liner.NewLiner(), file}
	t.SetCtrlCAborts(true)
	t.SetMultiLineMode(true)
	t.SetCompleter(func(line string) (list []string) {
		for _, cmd := range chatCommands() {
			if strings.HasPrefix("/"+cmd.name, line) && line != "" {
				list = append(list, "/"+cmd.name)
			}
		}
		return list
	})
	f, err := os.Open(file)
	if err == nil {
		_, _ = t.ReadHistory(f) // up to where it can be read: it is a convenience
		f.Close()
	} else if !errors.Is(err, os.ErrNotExist) {
		t.Close()
		return nil, exitUsage.as(err)
	}
	return t, nil
}

// historyFile returns where the history is kept.
func historyFile() (string, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) { // others are to be ignored
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("there is no place for the chat's history: %w; set XDG_STATE_HOME", err)
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "plughook", "history"), nil
}

func (t *terminal) read(ctx context.Context, prompt string) (string, error) {
	come := make(chan typed, 1)
	go func() { // ends with the line, or with the process
		text, err := t.Prompt(prompt)
		come <- typed{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case line := <-come:
		switch {
		case errors.Is(line.err, liner.ErrPromptAborted):
			return "", errAborted
		case line.err != nil && !errors.Is(line.err, io.EOF):
			return "", exitUsage.errorf("terminal: %w", line.err)
		}
		return line.text, line.err
	}
}

// remember keeps what the history's file, of lines, can hold.
func (t *terminal) remember(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" && len(line) < 4000 && utf8.ValidString(line) {
			t.AppendHistory(line)
		}
	}
}

// close restores the terminal and writes the history, which is the person's own.
func (t *terminal) close() error {
	err := t.Close()
	dir := filepath.Dir(t.history)
	if e := os.MkdirAll(dir, 0o700); e != nil {
		return errors.Join(err, e)
	}
	f, e := os.CreateTemp(dir, "history-*") // of mode 0600
	if e != nil {
		return errors.Join(err, e)
	}
	_, e = t.WriteHistory(f)
	if e = errors.Join(e, f.Close()); e == nil {
		e = os.Rename(f.Name(), t.history)
	}
	if e != nil {
		_ = os.Remove(f.Name()) // it is of no use
	}
	return errors.Join(err, e)
}

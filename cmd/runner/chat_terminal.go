package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/peterh/liner"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/signals"
)

type typed struct {
	text string
	err  error
}

// editedLines reads lines with editing and a history.
type editedLines struct {
	*liner.State
	history string // its file
	signals *signals.Signals
	come    chan typed // a line that is being read, nil if none is
}

func (p *program) openTerminal(complete func(line string) []string) (lineSource, error) {
	file, err := historyFile()
	if err != nil {
		return nil, exit.Usage.As(err)
	}
	t := &editedLines{State: liner.NewLiner(), history: file, signals: &p.Signals}
	t.SetCtrlCAborts(true)
	t.SetMultiLineMode(true)
	t.SetCompleter(complete)
	f, err := os.Open(file)
	if err == nil {
		_, _ = t.ReadHistory(f) // up to where it can be read: it is a convenience
		f.Close()
	} else if !errors.Is(err, os.ErrNotExist) {
		t.Close()
		return nil, exit.Usage.As(err)
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

// read takes Ctrl-C as a key, or as a signal where lines are not edited: on a terminal that cannot,
// or is too narrow. Then the line that was being read is still to come.
func (t *editedLines) read(ctx context.Context, prompt string) (string, error) {
	prompting, done := t.signals.During(ctx)
	defer done()
	if t.come == nil {
		come := make(chan typed, 1)
		t.come = come
		go func() { // ends with the line, or with the process
			text, err := t.Prompt(prompt)
			come <- typed{text, err}
		}()
	} else {
		fmt.Print(prompt) // as Prompt does
	}
	select {
	case <-prompting.Done():
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		fmt.Println()
		return "", errAborted
	case line := <-t.come:
		t.come = nil
		switch {
		case errors.Is(line.err, liner.ErrPromptAborted):
			return "", errAborted
		case line.err != nil && !errors.Is(line.err, io.EOF):
			return "", exit.Usage.Errorf("terminal: %w", line.err)
		}
		return line.text, line.err
	}
}

// remember keeps what the history's file, of lines, can hold.
func (t *editedLines) remember(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" && len(line) < 4000 && utf8.ValidString(line) {
			t.AppendHistory(line)
		}
	}
}

// close restores the terminal and writes the history, which is the person's own.
func (t *editedLines) close() error {
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
	e = errors.Join(e, f.Close())
	if e == nil {
		e = os.Rename(f.Name(), t.history)
	}
	if e != nil {
		_ = os.Remove(f.Name()) // it is of no use
	}
	return errors.Join(err, e)
}

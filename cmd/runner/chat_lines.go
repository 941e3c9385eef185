package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/terminal"
)

// lineSource is where a chat's lines come from: a terminal with editing, or anything else as it is.
type lineSource interface {
	// read returns a line, io.EOF at the end, errAborted at Ctrl-C, or the context's cause.
	read(ctx context.Context, prompt string) (string, error)
	// remember puts a message, or a command, into the history.
	remember(text string)
	close() error
}

var errAborted = errors.New("aborted")

// openLines returns the lines of standard input.
func (p *program) openLines(ctx context.Context) (lineSource, error) {
	if p.Stdin == os.Stdin && terminal.Is(os.Stdin) && terminal.Is(p.Stdout) {
		return p.openTerminal()
	}
	l := &plainLines{come: make(chan typed), done: make(chan struct{})}
	if terminal.Is(p.Stdin) {
		l.prompt = p.Err
	}
	from := p.StandardInput(ctx)
	from.MaxLine = cli.MaxMessage
	go l.scan(from)
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

// scan ends with the input, at close, or with the input's context.
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
			return "", exit.Usage.Errorf("standard input: %w", line.err)
		}
		return line.text, line.err
	}
}

func (l *plainLines) remember(string) {}

func (l *plainLines) close() error {
	close(l.done)
	return nil
}

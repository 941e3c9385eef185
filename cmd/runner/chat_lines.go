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

// openLines returns the lines of standard input. On a terminal, complete returns what a line can go on to.
func (p *program) openLines(ctx context.Context, complete func(line string) []string) (lineSource, error) {
	if p.Stdin == os.Stdin && terminal.Is(os.Stdin) && terminal.Is(p.Stdout) {
		return p.openTerminal(complete)
	}
	in := p.StandardInput(ctx)
	in.MaxLine = cli.MaxMessage
	l := &plainLines{from: bufio.NewReader(in)}
	if terminal.Is(p.Stdin) {
		l.prompt = p.Err
	}
	return l, nil
}

// plainLines reads lines as they are.
type plainLines struct {
	prompt io.Writer // nil if nobody would see it
	from   *bufio.Reader
	end    error // what the input has ended with: that stays its end
}

func (l *plainLines) read(ctx context.Context, prompt string) (string, error) {
	if l.prompt != nil {
		fmt.Fprint(l.prompt, prompt)
	}
	if l.end != nil {
		return "", l.end
	}
	text, err := l.from.ReadString('\n')
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil && !errors.Is(err, io.EOF):
		err = exit.Usage.Errorf("standard input: %w", err)
	case err != nil:
		l.end = err
		if text != "" { // the next read says that it has ended
			err = nil
		}
	}
	return strings.TrimRight(text, "\r\n"), err
}

func (l *plainLines) close() error         { return nil }
func (l *plainLines) remember(text string) {}

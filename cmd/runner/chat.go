package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/printer"
	"github.com/plughook/plughook/cmd/runner/internal/signals"
	"github.com/plughook/plughook/cmd/runner/internal/terminal"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/session"
)

func (p *program) chatCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "Talk with the configured agent",
		Args:  cli.NoArgs,
		Long: `Chat reads messages, one a line, and prints what the agent and plugins say as it
comes, with the calls of tools. A line that ends with a backslash continues on the next line. A
line that begins with a slash is a command; begin it with two slashes to send a message that
begins with one.

` + chatHelp() + `
The chat asks about calls that a human must agree to, and puts the questions of workflows, also those that
an earlier process has left. An empty line leaves a question for later, and a command is carried out first.
Ctrl-C stops the current turn, and the chat goes on. Ctrl-D, or Ctrl-C twice at the prompt, ends the chat.
If a turn fails, the error is shown and the chat goes on; its exit code is 0.`,
		Example: `  runner chat --config examples/weather/runner.yaml
  runner chat --store sqlite:sessions.db --session ada
  runner chat --server http://127.0.0.1:8080 --app weather`,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if p.JSONL {
				return exit.Usage.Errorf("chat is for people and takes no --jsonl; runner run has it")
			}
			var c *config.Config
			if p.server == "" {
				if c, err = p.LoadConfig(cmd.Context()); err != nil {
					return err
				}
			}
			s, err := p.setUp(cmd.Context(), c)
			if err != nil {
				return err
			}
			defer s.finish(&err)
			chat := &chat{program: p, set: s, style: p.Style(), later: map[string]bool{}}
			return chat.talk(cmd.Context())
		},
	}
	p.serverFlag(cmd.Flags())
	return cmd
}

// chat is a conversation in progress.
type chat struct {
	*program
	set   *setup
	style terminal.Style
	lines lineSource
	later map[string]bool // calls that are not asked about again by themselves
}

// errQuit says that the person has ended the chat.
var errQuit = errors.New("quit")

// talk talks until the person ends it, or something does that no turn outlives.
func (c *chat) talk(ctx context.Context) (err error) {
	if c.lines, err = c.openLines(ctx, func(line string) []string { return c.complete(ctx, line) }); err != nil {
		return err
	}
	defer func() {
		if e := c.lines.close(); err == nil {
			err = exit.Other.As(e)
		}
	}()
	c.Note("/help lists the commands, Ctrl-D ends the chat")
	err = c.settle(ctx)
	for err == nil {
		var text string
		if text, err = c.message(ctx); err == nil {
			err = c.say(ctx, text)
		}
	}
	if errors.Is(err, errQuit) || errors.Is(err, io.EOF) {
		if !c.set.inMemory {
			c.Note("to go on: runner chat %s", strings.TrimPrefix(c.again(c.set), "runner run "))
		}
		return nil
	}
	return err
}

// message reads a message: lines that end with a backslash go on.
func (c *chat) message(ctx context.Context) (string, error) {
	var text strings.Builder
	prompt := "> "
	aborted := false
	for {
		line, err := c.lines.read(ctx, prompt)
		switch {
		case errors.Is(err, errAborted) && (aborted || text.Len() > 0):
			if text.Len() == 0 {
				return "", errQuit
			}
			text.Reset() // what was typed is dropped, as a shell does
			prompt = "> "
			continue
		case errors.Is(err, errAborted):
			aborted = true
			c.Note("Ctrl-C again, or Ctrl-D, ends the chat")
			continue
		case err != nil && text.Len() == 0 || err != nil && !errors.Is(err, io.EOF):
			return "", err
		}
		more := strings.HasSuffix(line, `\`) && err == nil
		text.WriteString(strings.TrimSuffix(line, `\`))
		if !more {
			return text.String(), nil
		}
		text.WriteByte('\n')
		prompt = "… "
		aborted = false
	}
}

// say does what a message asks for.
func (c *chat) say(ctx context.Context, text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return nil
	case strings.HasPrefix(text, "//"):
		text = text[1:]
	case strings.HasPrefix(text, "/"):
		c.lines.remember(text)
		if err := c.command(ctx, text); err != nil {
			return c.survive(ctx, err)
		}
		return c.settle(ctx)
	}
	return c.turn(ctx, session.Message(text))
}

// turn runs a turn, and asks about the calls that wait then.
func (c *chat) turn(ctx context.Context, input *session.Event) error {
	if err := c.run(ctx, input); err != nil {
		return err
	}
	return c.settle(ctx)
}

// run runs one turn; a nil input goes on with what the session leaves open. An error is one that the chat does not outlive.
func (c *chat) run(ctx context.Context, input *session.Event) error {
	turn, done := c.Signals.During(ctx)
	defer done()
	out := c.printer(true)
	err := c.print(turn, out, c.set, input)
	if strings.HasPrefix(out.Input, "/") { // one slash begins a command
		out.Input = "/" + out.Input
	}
	c.lines.remember(out.Input)
	if err != nil {
		return c.survive(ctx, err)
	}
	failed := out.Result.Err() != nil
	if !out.Answered && (input == nil || input.Content != nil) && !failed {
		if waiting, err := c.set.waiting(ctx); err != nil || len(waiting) == 0 {
			none := "(no answer)"
			if input == nil {
				none = "(nothing was left open)"
			}
			fmt.Fprintln(c.Out, c.style.Dim(none))
		}
	}
	if failed && c.set.hasFailed(ctx) {
		fmt.Fprintln(c.Out, c.style.Dim("(/continue goes on where it has failed)"))
	}
	return c.Out.Flush()
}

// printer returns what prints a run in the chat.
func (c *chat) printer(stream bool) *printer.Printer {
	return &printer.Printer{Out: c.Out, Style: c.style, Stream: stream, Chat: true}
}

// survive shows what went wrong, and returns the error if the chat is over with it.
func (c *chat) survive(ctx context.Context, err error) error {
	var out *terminal.OutputError
	switch {
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case errors.As(err, &out), errors.Is(err, errQuit), errors.Is(err, io.EOF):
		return err
	case errors.Is(err, signals.ErrStopped):
		fmt.Fprintln(c.Out, c.style.Dim("(stopped)"))
		return c.Out.Flush()
	}
	if err := c.Out.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(c.Err, "%s %s\n", terminal.StyleOf(c.Stderr).Red("error:"),
		eventtext.Printable(strings.TrimPrefix(err.Error(), "runner: ")))
	return nil
}

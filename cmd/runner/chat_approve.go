package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/session"
)

// errCommand says that the person has typed a command where an answer was asked for.
type errCommand struct{ line string }

func (e *errCommand) Error() string { return "a command in place of an answer: " + e.line }

// settle asks about the calls that wait for a yes or no, and puts the questions of workflows, until
// none waits or the person puts it off; the answers to those that wait at once are one input. A
// command in place of an answer is carried out, and what waits then is asked.
func (c *chat) settle(ctx context.Context) error {
	for {
		calls, err := c.set.waiting(ctx)
		if err != nil {
			return c.survive(ctx, err)
		}
		input, err := c.answersTo(ctx, calls)
		var command *errCommand
		if err != nil && !errors.As(err, &command) {
			return err
		}
		if input != nil {
			if err := c.run(ctx, input); err != nil {
				return err
			}
		}
		if command != nil {
			c.lines.remember(command.line)
			if err := c.command(ctx, command.line); err != nil {
				if err := c.survive(ctx, err); err != nil {
					return err
				}
			}
		}
		if input == nil && command == nil {
			return c.Out.Flush()
		}
	}
}

// answersTo asks about calls that wait, and returns the input with the answers, nil if there are none.
// With an *errCommand as the error, the input has the answers before the command.
func (c *chat) answersTo(ctx context.Context, calls []session.Call) (*session.Event, error) {
	input := &session.Event{Author: session.User}
	var command *errCommand
	for _, call := range calls {
		if c.later[call.ID] {
			continue
		}
		var err error
		if asks(call) {
			var response *session.Event
			if response, err = c.askForAnswer(ctx, call); response != nil {
				attach(input, response.Content.Parts)
			}
			c.later[call.ID] = response == nil && err == nil
		} else {
			answer := ""
			if answer, err = c.ask(ctx, call); answer != "" {
				input.Actions.Confirm(call.ID, session.Confirmation{Confirmed: answer == "y"})
			}
			c.later[call.ID] = answer == "" && err == nil
		}
		if errors.As(err, &command) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if input.Content == nil && input.Actions.RequestedToolConfirmations == nil {
		input = nil
	}
	if command != nil {
		return input, command
	}
	return input, nil
}

// readAnswer reads a line. One that begins with a slash is a command, which is returned as an
// *errCommand; with two, it is an answer that begins with one.
func (c *chat) readAnswer(ctx context.Context, prompt string) (string, error) {
	line, err := c.lines.read(ctx, prompt)
	line = strings.TrimSpace(line)
	switch {
	case err != nil:
		return "", err
	case strings.HasPrefix(line, "//"):
		return line[1:], nil
	case strings.HasPrefix(line, "/"):
		return "", &errCommand{line: line}
	}
	return line, nil
}

// ask asks about a call. A call that waits for its response is only shown: nobody types a response
// here.
func (c *chat) ask(ctx context.Context, call session.Call) (string, error) {
	fmt.Fprintf(c.Out, "%s %s\n", c.style.Bold("waiting:"), eventtext.Printable(question(call)))
	if !held(call) {
		fmt.Fprintln(c.Out, c.style.Dim(eventtext.Printable(fmt.Sprintf("  its response comes later: %s --respond %s=JSON", c.again(c.set), quote(call.ID)))))
		return "", c.Out.Flush()
	}
	if err := c.Out.Flush(); err != nil {
		return "", err
	}
	for {
		line, err := c.readAnswer(ctx, "may it? [y/n/later] ")
		if errors.Is(err, io.EOF) || errors.Is(err, errAborted) {
			return "", nil // whoever leaves says neither
		}
		if err != nil {
			return "", err
		}
		switch strings.ToLower(line) {
		case "y", "yes":
			return "y", nil
		case "n", "no":
			return "n", nil
		case "l", "later":
			return "", nil
		}
		c.Note("please answer y (yes), n (no) or l (later; /approve asks again)")
	}
}

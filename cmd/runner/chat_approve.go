package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/session"
)

// settle asks about the calls that wait for a yes or no, and puts the questions of workflows, until
// none waits or the person puts it off; the answers to those that wait at once are one input.
func (c *chat) settle(ctx context.Context) error {
	for {
		calls, err := c.set.waiting(ctx)
		if err != nil {
			return c.survive(ctx, err)
		}
		decisions := map[string]session.Confirmation{}
		var responses []*genai.Part
		for _, call := range calls {
			if c.later[call.ID] {
				continue
			}
			if asks(call) {
				response, err := c.askForAnswer(ctx, call)
				if err != nil {
					return err
				}
				if response == nil {
					c.later[call.ID] = true
				} else {
					responses = append(responses, response.Content.Parts...)
				}
				continue
			}
			answer, err := c.ask(ctx, call)
			if err != nil {
				return err
			}
			switch answer {
			case "y":
				decisions[call.ID] = session.Confirmation{Confirmed: true}
			case "n":
				decisions[call.ID] = session.Confirmation{}
			default:
				c.later[call.ID] = true
			}
		}
		if len(decisions)+len(responses) == 0 {
			return c.Out.Flush()
		}
		input := &session.Event{Author: session.User,
			Actions: session.Actions{RequestedToolConfirmations: decisions}}
		if len(decisions) == 0 {
			input.Actions.RequestedToolConfirmations = nil
		}
		if len(responses) > 0 {
			input.Content = &genai.Content{Role: genai.RoleUser, Parts: responses}
		}
		if err := c.run(ctx, input); err != nil {
			return err
		}
	}
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
		line, err := c.lines.read(ctx, "may it? [y/n/later] ")
		if errors.Is(err, io.EOF) || errors.Is(err, errAborted) {
			return "", nil // whoever leaves says neither
		}
		if err != nil {
			return "", err
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
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

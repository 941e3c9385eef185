package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

func (p *program) runCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "run [MESSAGE]",
		Short: "Run the configured agent once on a session",
		Long: `Run puts a message into a session, runs the agent and prints what the agent and plugins say.

The message is the argument, or standard input if there is none or it is "-". The session is made
if it is not there. With --jsonl every event of the run is printed, the input included.`,
		Example: `  runner run --config runner.yaml "What are your opening hours?"
  runner run --store sqlite:sessions.db --session ada "And on Sundays?"`,
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.loadConfig()
			if err != nil {
				return err
			}
			if _, err := c.agent(); err != nil { // before anybody types a message
				return err
			}
			text, err := p.message(cmd.Context(), args)
			if err != nil {
				return err
			}
			return p.turn(cmd.Context(), c, text)
		},
	}
}

// message returns what the user says: the argument or standard input.
func (p *program) message(ctx context.Context, args []string) (string, error) {
	if len(args) == 1 && args[0] != "-" {
		if strings.TrimSpace(args[0]) == "" {
			return "", exitUsage.errorf("the message is empty")
		}
		return args[0], nil
	}
	if len(args) == 0 && isTerminal(p.stdin) {
		return "", exitUsage.errorf(`there is no message; try: runner run "Hello"`)
	}
	type input struct {
		data []byte
		err  error
	}
	read := make(chan input, 1)
	go func() { // ends with the input, or with the process: a read of standard input cannot be cancelled
		data, err := io.ReadAll(p.stdin)
		read <- input{data, err}
	}()
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case in := <-read:
		text := strings.TrimRight(string(in.data), "\r\n")
		if in.err != nil {
			return "", exitUsage.errorf("standard input: %w", in.err)
		}
		if strings.TrimSpace(text) == "" {
			return "", exitUsage.errorf("the message on standard input is empty")
		}
		return text, nil
	}
}

// turn runs the configured agent once.
func (p *program) turn(ctx context.Context, c *config, text string) (err error) {
	a, err := c.agent()
	if err != nil {
		return err
	}
	where, err := p.storeOf(c)
	if err != nil {
		return err
	}
	key := p.key(c)
	if key.ID == "" {
		key.ID = session.NewID()
		p.note("session %s", key.ID)
	}
	if err := key.Check(false); err != nil {
		return exitUsage.as(err)
	}
	plugins, err := c.plugins(ctx, p.log)
	if err != nil {
		return err
	}
	svc, err := open(ctx, where, true)
	if err != nil {
		return errors.Join(err, closePlugins(ctx, plugins))
	}
	defer closeStore(svc, &err)
	r, finish, err := p.newRunner(ctx, runner.Options{Agent: a, Sessions: svc, Plugins: plugins})
	if err != nil {
		return err
	}
	defer func() {
		if e := finish(); err == nil {
			err = e
		}
	}()
	return p.speak(ctx, r, key, text)
}

// speak runs one turn and prints its events.
func (p *program) speak(ctx context.Context, r *runner.Runner, key session.Key, text string) error {
	var v verdict
	spoken := false
	for e, err := range r.Run(ctx, key, session.Message(text), session.RunConfig{Create: true}) {
		if err != nil {
			return runFailure(err)
		}
		v.note(e)
		said := e.Author != session.User && strings.TrimSpace(e.Text()) != ""
		spoken = spoken || said
		switch {
		case p.jsonl:
			if err := p.writeJSON(e); err != nil {
				return err
			}
		case said:
			fmt.Fprintln(p.out, printable(strings.TrimRight(e.Text(), "\n")))
		}
		if err := p.out.Flush(); err != nil {
			return err
		}
	}
	if err := v.err(); err != nil {
		return err
	}
	if !spoken && !p.jsonl {
		p.note("the run ended without an answer (--explain shows what plugins did)")
	}
	return nil
}

package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/genai"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/printer"
	"github.com/plughook/plughook/cmd/runner/internal/terminal"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/session"
)

func (p *program) runCommand() *cobra.Command {
	var a answers
	var files []string
	stream := false
	cmd := &cobra.Command{
		Use:   "run [MESSAGE]",
		Short: "Run the configured agent once on a session",
		Long: `Run adds a message to a session, runs the agent, and prints what the agent and
plugins say.

The message is the argument, or standard input if there is no argument or it is "-". The session
is created if it is not there. On a terminal, or with --stream, text is printed as it comes. With
--jsonl every event of the run is printed, the input included; with --stream partial events too.

A call waits if a human must agree to it, or if its answer comes later. Then the run ends with
exit code 7 and says how to go on. --approve, --decline and --respond answer such calls, all at
once or one by one, also in a later process; a message can go with them.

With --server, a server that "runner serve" started runs the agent, and keeps the session.`,
		Example: `  runner run --config runner.yaml "What are your opening hours?"
  runner run --store sqlite:sessions.db --session ada "And on Sundays?"
  runner run --file photo.jpg "What is this?"
  runner run --store sqlite:sessions.db --session ada --approve call-1`,
		Args: cli.Args(0, 1, "the message is more than one argument: put it in quotes"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			ctx := cmd.Context()
			var c *config.Config
			if p.server == "" {
				if c, err = p.LoadConfig(ctx); err != nil {
					return err
				}
				if err := c.CheckAgent(ctx); err != nil { // before anybody types a message
					return configError(c, err)
				}
			}
			attached, err := attachments(ctx, files)
			if err != nil {
				return err
			}
			text := ""
			if a.none() || len(args) > 0 {
				if text, err = p.message(ctx, args); err != nil {
					return err
				}
			}
			if !a.none() && p.Session == "" {
				return exit.Usage.Errorf("which session? Name the one whose calls you answer with --session")
			}
			s, err := p.setUp(ctx, c)
			if err != nil {
				return err
			}
			defer s.finish(&err)
			return p.turn(ctx, s, &a, text, attached, stream || terminal.Is(p.Stdout) && !p.JSONL)
		},
	}
	f := cmd.Flags()
	p.serverFlag(f)
	f.BoolVar(&stream, "stream", false,
		"print text as it comes, also where standard output is no terminal")
	f.StringArrayVar(&files, "file", nil,
		"send a `file` with the message, such as a picture; may be repeated")
	f.StringArrayVar(&a.approve, "approve", nil,
		"say yes to the waiting `call` of this id; may be repeated")
	f.StringArrayVar(&a.decline, "decline", nil,
		"say no to the waiting `call` of this id; may be repeated")
	f.StringArrayVar(&a.respond, "respond", nil,
		"give the response of a long-running call, as `ID=JSON`; may be repeated")
	return cmd
}

// message returns what the user says: the argument or standard input.
func (p *program) message(ctx context.Context, args []string) (string, error) {
	if len(args) == 1 && args[0] != "-" {
		if strings.TrimSpace(args[0]) == "" {
			return "", exit.Usage.Errorf("the message is empty")
		}
		return args[0], nil
	}
	if len(args) == 0 && terminal.Is(p.Stdin) {
		return "", exit.Usage.Errorf(`there is no message; try: runner run "Hello"`)
	}
	data, err := p.StandardInput(ctx).All(cli.MaxMessage)
	text := strings.TrimRight(string(data), "\r\n")
	if err != nil {
		return "", exit.Usage.As(err)
	}
	if strings.TrimSpace(text) == "" {
		return "", exit.Usage.Errorf("the message on standard input is empty")
	}
	return text, nil
}

// turn runs the agent once, with a text, answers and files, and prints its events.
func (p *program) turn(ctx context.Context, s *setup, a *answers, text string, files []*genai.Part,
	stream bool) error {
	input := session.Message(text)
	if !a.none() {
		waiting, err := s.waiting(ctx)
		if err != nil {
			return err
		}
		if input, err = a.event(waiting, text); err != nil {
			return err
		}
	}
	attach(input, files)
	out := &printer.Printer{Out: p.Out, Style: p.Style(), JSONL: p.JSONL, Stream: stream}
	if err := p.print(ctx, out, s, input); err != nil {
		return err
	}
	waits := p.reportWaiting(ctx, s)
	if err := out.Result.Err(); err != nil {
		return err
	}
	if !out.Answered && waits == nil && !p.JSONL {
		p.Note("the run ended without an answer (--explain shows what plugins did)")
	}
	return waits
}

// print runs one turn and prints its events.
func (p *program) print(ctx context.Context, out *printer.Printer, s *setup,
	input *session.Event) error {
	for e, err := range s.runner.Run(ctx, s.key, input, out.RunConfig()) {
		if err != nil {
			out.End()
			return exit.OfRun(err)
		}
		if err := out.Event(e); err != nil {
			return err
		}
	}
	return nil
}

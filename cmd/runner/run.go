package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

func (p *program) runCommand() *cobra.Command {
	var a answers
	var files []string
	stream := false
	cmd := &cobra.Command{
		Use:   "run [MESSAGE]",
		Short: "Run the configured agent once on a session",
		Long: `Run puts a message into a session, runs the agent and prints what the agent and plugins say.

The message is the argument, or standard input if there is none or it is "-". The session is made
if it is not there. On a terminal, or with --stream, text is printed as it comes. With --jsonl every
event of the run is printed, the input included, with --stream partial events too.

A call that a human must agree to, or whose answer comes later, waits: the run ends with exit code 7
and says how to go on. --approve, --decline and --respond answer such calls, all at once or one by
one, in this process or a later one; a message can go with them.`,
		Example: `  runner run --config runner.yaml "What are your opening hours?"
  runner run --store sqlite:sessions.db --session ada "And on Sundays?"
  runner run --file photo.jpg "What is this?"
  runner run --store sqlite:sessions.db --session ada --approve call-1`,
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			ctx := cmd.Context()
			c, err := p.loadConfig(ctx)
			if err != nil {
				return err
			}
			if _, err := p.builder(ctx, c, true, nil, nil).agent(); err != nil { // before anybody types a message
				return err
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
			if !a.none() && p.session == "" {
				return exitUsage.errorf("no session is named; give the one whose calls are answered with --session")
			}
			s, err := p.setUp(ctx, c)
			if err != nil {
				return err
			}
			defer s.finish(&err)
			return p.turn(ctx, s, &a, text, attached, stream || isTerminal(p.stdout) && !p.jsonl)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&stream, "stream", false, "print text as it comes, also where standard output is no terminal")
	f.StringArrayVar(&files, "file", nil, "send a `file` with the message, such as a picture; may be repeated")
	f.StringArrayVar(&a.approve, "approve", nil, "say yes to the waiting `call` of this id; may be repeated")
	f.StringArrayVar(&a.decline, "decline", nil, "say no to the waiting `call` of this id; may be repeated")
	f.StringArrayVar(&a.respond, "respond", nil, "give the response of a long-running call, as `ID=JSON`; may be repeated")
	return cmd
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
	data, err := p.standardInput(ctx).all(maxMessage)
	text := strings.TrimRight(string(data), "\r\n")
	if err != nil {
		return "", exitUsage.as(err)
	}
	if strings.TrimSpace(text) == "" {
		return "", exitUsage.errorf("the message on standard input is empty")
	}
	return text, nil
}

// turn runs the agent once, with a text, answers and files, and prints its events.
func (p *program) turn(ctx context.Context, s *setup, a *answers, text string, files []*genai.Part, stream bool) error {
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
	out := &speaker{program: p, style: styleOf(p.stdout), stream: stream}
	if err := out.run(ctx, s, input); err != nil {
		return err
	}
	waits := p.tellWaiting(ctx, s)
	if err := out.verdict.err(); err != nil {
		return err
	}
	if !out.spoken && waits == nil && !p.jsonl {
		p.note("the run ended without an answer (--explain shows what plugins did)")
	}
	return waits
}

// run runs one turn and prints its events. What events say went wrong is in the verdict.
func (s *speaker) run(ctx context.Context, set *setup, input *session.Event) error {
	for e, err := range set.runner.Run(ctx, set.key, input, s.config()) {
		if err == nil {
			err = s.event(e)
		} else {
			s.end()
			err = runFailure(err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent/workflow"
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
	var goOn, abandon bool
	stream := false
	cmd := &cobra.Command{
		Use:   "run [MESSAGE]",
		Short: "Run the configured agent once on a session",
		Long: `Run adds a message to a session, runs the agent, and prints what the agent and
plugins say.

The message is the argument, or standard input if there is no argument or it is "-". The session
is created if it is not there. A message that the chat takes for one of its commands, such as
"/rewind 4", is refused; with two slashes it is sent with one.

On a terminal, or with --stream, text is printed as it comes. A terminal is also told, in a line that
goes away, which model, tool or plugin the run has waited for longer than a second. With --jsonl every event of the run is
printed, the input included; with --stream partial events too.

A call waits if a human must agree to it, or if its answer comes later. Then the run ends with
exit code 7 and says how to go on. --approve, --decline and --respond answer such calls, all at
once or one by one, also in a later process; a message can go with them.

--continue says nothing new: the agent goes on with what the session leaves open, such as a
workflow that was cut off, has failed or was taken back to its middle. --abandon ends the runs of
workflows in the session that have not ended, whatever they wait for.

With --server, a server that "runner serve" started runs the agent, and keeps the session.`,
		Example: `  runner run --config runner.yaml "What are your opening hours?"
  runner run --store sqlite:sessions.db --session ada "And on Sundays?"
  runner run --file photo.jpg "What is this?"
  runner run --store sqlite:sessions.db --session ada --approve call-1
  runner run --store sqlite:sessions.db --session ada --continue`,
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
			silent := goOn || abandon
			if silent && (goOn == abandon || !a.none() || len(args) > 0 || len(files) > 0) {
				return exit.Usage.Errorf("--continue and --abandon go with no message, file or answer, nor with one another")
			}
			if !silent && (a.none() || len(args) > 0) {
				if text, err = p.message(ctx, args); err != nil {
					return err
				}
				if err := notInChat(text); err != nil {
					return err
				}
				if strings.HasPrefix(text, "//") && notInChat(text[1:]) != nil {
					text = text[1:]
				}
			}
			if !a.none() && p.Session == "" {
				return exit.Usage.Errorf("which session? Name the one whose calls you answer with --session")
			}
			if silent && p.Session == "" {
				return exit.Usage.Errorf("which session? Name it with --session")
			}
			s, err := p.setUp(ctx, c)
			if err != nil {
				return err
			}
			defer s.finish(&err)
			stream = stream || terminal.Is(p.Stdout) && !p.JSONL
			switch {
			case abandon:
				return p.abandon(ctx, s)
			case goOn:
				return p.report(ctx, s, nil, stream)
			}
			return p.turn(ctx, s, &a, text, attached, stream)
		},
	}
	f := cmd.Flags()
	p.serverFlag(f)
	f.BoolVar(&stream, "stream", false,
		"print text as it comes, also where standard output is no terminal")
	f.StringArrayVar(&files, "file", nil,
		"send a `file` with the message, such as a picture; may be repeated")
	f.BoolVar(&goOn, "continue", false,
		"say nothing, and go on with what the session leaves open")
	f.BoolVar(&abandon, "abandon", false,
		"end the runs of workflows in the session that have not ended")
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
		return "", exit.Usage.Errorf(
			`the message on standard input is empty; try: runner run "Hello"`)
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
	return p.report(ctx, s, input, stream)
}

// report runs the agent once, and says what it has come to. A nil input goes on with what the session
// leaves open.
func (p *program) report(ctx context.Context, s *setup, input *session.Event, stream bool) error {
	out := &printer.Printer{Out: p.Out, Style: p.Style(), JSONL: p.JSONL, Stream: stream}
	out.Node = func(line string) { p.Note("%s", line) }
	if err := p.print(ctx, out, s, input); err != nil {
		return err
	}
	waits := p.reportWaiting(ctx, s)
	if err := out.Result.Err(); err != nil {
		if !s.inMemory && s.hasFailed(ctx) {
			p.Note("to go on where it has failed: %s --continue    (--abandon ends it)", p.again(s))
		}
		return err
	}
	switch {
	case out.Answered || waits != nil || p.JSONL:
	case input == nil && out.Events == 0:
		p.Note("nothing was done: the session leaves nothing open")
	default:
		p.Note("the run ended without an answer (--explain shows what plugins did)")
	}
	return waits
}

// print runs one turn and prints its events.
func (p *program) print(ctx context.Context, out *printer.Printer, s *setup,
	input *session.Event) error {
	cfg := out.RunConfig()
	cfg.Create = input != nil
	if !p.Quiet {
		defer p.Waiting.Show()()
	}
	done := s.waits()
	defer func() { done() }()
	for e, err := range s.runner.Run(ctx, s.key, input, cfg) {
		done()
		if err != nil {
			out.End()
			return exit.OfRun(err)
		}
		if err := out.Event(e); err != nil {
			return err
		}
		done = s.waits()
	}
	return nil
}

// abandon ends the runs of workflows in the session that have not ended.
func (p *program) abandon(ctx context.Context, s *setup) error {
	live, err := s.live(ctx)
	if err != nil {
		return err
	}
	abandoned := 0
	for _, w := range session.NewWorkflowRuns(live).Workflows() {
		if !w.Open() {
			continue
		}
		out := &printer.Printer{Out: p.Out, Style: p.Style(), JSONL: p.JSONL}
		if err := p.print(ctx, out, s, workflow.Abandon(w.Path)); err != nil {
			return err
		}
		if err := out.Result.Err(); err != nil {
			return err
		}
		if live, err = s.live(ctx); err != nil {
			return err
		}
		if now := session.NewWorkflowRuns(live).Workflow(w.Path); now != nil && now.Open() {
			return exit.Usage.Errorf("the run %s has not ended: only a workflow that is the configuration's agent ends it; rewind the session to before it",
				w.Path)
		}
		p.Note("abandoned: %s", w.Path)
		abandoned++
	}
	if abandoned == 0 {
		return exit.Usage.Errorf("no workflow of the session has a run that has not ended")
	}
	return nil
}

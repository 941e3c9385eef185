// Package cli has what the commands of runner share: the flags of all commands, standard input and
// output, the log, the configuration and the store that the flags name, and the form of a command
// line.
//
// A flag of all commands is added to Program.Flags; a flag of those that choose sessions, in sessions.go.
package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/export"
	"github.com/plughook/plughook/cmd/runner/internal/printer"
	"github.com/plughook/plughook/cmd/runner/internal/signals"
	"github.com/plughook/plughook/cmd/runner/internal/terminal"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/internal/escape"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/internal/input"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// MaxMessage is how many bytes a message, or a line of a chat, may have: what is typed may never
// end.
const MaxMessage = 16 << 20

// A Program is one run of the program: what it is given, and what its flags say.
type Program struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Adjust         func(*runner.Options) // changes what runs; nil but in tests
	Signals        signals.Signals

	// What the flags of all commands say; "" and false if they are not given.
	ConfigFile, StoreName, App, User, Session string
	JSONL, Quiet, Verbose, Explain            bool
	LogFormat                                 string

	// Run sets these. Out is standard output, Err standard error for several goroutines, Waiting the line on
	// standard error that says what a run waits for.
	Out     *terminal.Output
	Err     *terminal.LockedWriter
	Waiting *terminal.Waiting
	Log     *slog.Logger

	flush func() error // sends what is left of traces and metrics; nil before a command runs
}

// Run runs a command line and returns the exit code of the program.
func (p *Program) Run(ctx context.Context, root *cobra.Command, args []string) int {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p.Waiting = terminal.NewWaiting(p.Stderr)
	p.Out = terminal.NewOutput(p.Waiting.Writer(p.Stdout), cancel)
	p.Err = terminal.NewLockedWriter(p.Waiting.Writer(p.Stderr))
	root.SetArgs(args)
	root.SetIn(p.Stdin)
	root.SetOut(p.Out)
	root.SetErr(p.Err)
	err := root.ExecuteContext(ctx)
	if p.flush != nil {
		if e := p.flush(); e != nil && p.Log != nil {
			p.Log.Warn("not all traces and metrics were sent", "error", e)
		}
	}
	if e := p.Out.Flush(); err == nil {
		err = e
	}
	code := exit.Of(ctx, err)
	// If the program was told to end, that is the reason; what else went wrong follows from it.
	if cause := context.Cause(ctx); cause != nil && err != nil {
		if p.Log != nil && err != cause {
			p.Log.Debug("ended", "error", err)
		}
		err = cause
	}
	if err != nil && !exit.Silent(err) {
		text := strings.TrimPrefix(err.Error(), "runner: ")
		fmt.Fprintf(p.Err, "%s %s\n", terminal.StyleOf(p.Stderr).Red("runner:"),
			eventtext.Printable(text))
	}
	return code.Number
}

// Flags defines the flags of all commands, and reads those of the log before a command runs.
func (p *Program) Flags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringVar(&p.ConfigFile, "config", "",
		"configuration `file` (default "+config.DefaultName+" if it is there)")
	f.StringVar(&p.StoreName, "store", "",
		"where sessions are kept: memory:, sqlite:FILE or postgres://… (default memory:)")
	f.StringVar(&p.App, "app", "", "app that the session belongs to (default runner)")
	f.StringVar(&p.User, "user", "", "user that the session belongs to (default user)")
	f.StringVar(&p.Session, "session", "", "id of the session (run, chat: default a new one)")
	f.BoolVar(&p.JSONL, "jsonl", false, "write results as JSON Lines")
	f.BoolVarP(&p.Quiet, "quiet", "q", false,
		"write only errors to standard error, and what --explain and -v ask for")
	f.BoolVarP(&p.Verbose, "verbose", "v", false, "log each hook call on standard error")
	f.StringVar(&p.LogFormat, "log-format", "text", "form of log records: text or json")
	f.BoolVar(&p.Explain, "explain", false,
		"write to standard error what each plugin did to each event, and why")
	forms := cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp)
	if err := root.RegisterFlagCompletionFunc("log-format", forms); err != nil {
		panic(err) // the flag was defined above
	}
	if err := root.RegisterFlagCompletionFunc("session", p.CompleteIDs(0)); err != nil {
		panic(err) // the flag was defined above
	}
	root.SetFlagErrorFunc(flagError)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := p.setLog(); err != nil {
			return exit.Usage.As(err)
		}
		var err error
		p.flush, err = export.Start(cmd.Context(), root.Version, os.Getenv, p.Err)
		return exit.Usage.As(err)
	}
}

// setLog makes the log that the flags ask for, on standard error.
func (p *Program) setLog() error {
	level := slog.LevelInfo
	switch {
	case p.Quiet && p.Verbose:
		return errors.New("-q and -v exclude each other")
	case p.Quiet:
		level = slog.LevelError
	case p.Verbose:
		level = slog.LevelDebug
	}
	options := &slog.HandlerOptions{Level: level}
	switch p.LogFormat {
	case "text":
		p.Log = slog.New(slog.NewTextHandler(p.Err, options))
	case "json":
		p.Log = slog.New(slog.NewJSONHandler(escape.Writer(p.Err), options))
	default:
		return CheckChoice("log-format", p.LogFormat, "text", "json")
	}
	slog.SetDefault(p.Log) // libraries that log on their own do so here
	return nil
}

// Note tells the person something on standard error, unless --quiet is given.
func (p *Program) Note(format string, args ...any) {
	if !p.Quiet {
		text := eventtext.Printable(fmt.Sprintf(format, args...))
		fmt.Fprintln(p.Err, terminal.Wrap(text, terminal.Columns(p.Stderr)))
	}
}

// WriteJSON writes a value as a line of JSON to standard output.
func (p *Program) WriteJSON(v any) error { return exit.Other.As(p.Out.WriteJSON(v)) }

// Style returns the style of standard output.
func (p *Program) Style() terminal.Style { return terminal.StyleOf(p.Stdout) }

// Progress returns a bar for total things to do, on standard error. It draws nothing where nobody
// would see it as a bar.
func (p *Program) Progress(what string, total int) *terminal.Progress {
	if p.Quiet || p.Verbose || p.Explain || !terminal.Is(p.Stderr) {
		return terminal.NewProgress(nil, what, total)
	}
	return terminal.NewProgress(p.Stderr, what, total)
}

// Confirm asks on the terminal, and returns an error unless the answer is yes: otherwise is its text, such
// as "nothing was deleted".
func (p *Program) Confirm(ctx context.Context, question, otherwise string) error {
	if !terminal.Is(p.Stdin) {
		return exit.Usage.Errorf("%s Nobody can be asked here: give --yes", question)
	}
	fmt.Fprintf(p.Err, "%s [y/N] ", question)
	in := p.StandardInput(ctx)
	in.MaxLine = MaxMessage
	answer, _ := bufio.NewReader(in).ReadString('\n') // the end of the input is no yes
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return exit.Usage.Errorf("%s", otherwise)
}

// OpenInput opens a file; "-" is standard input.
func (p *Program) OpenInput(ctx context.Context, name string) (*input.Input, error) {
	if name == "-" {
		return p.StandardInput(ctx), nil
	}
	return input.Open(ctx, name)
}

// StandardInput returns standard input. Reading it ends with the context.
func (p *Program) StandardInput(ctx context.Context) *input.Input {
	return input.Reader(ctx, "standard input", p.Stdin)
}

// LoadConfig reads the configuration that --config names. Without the flag it reads runner.yaml, or
// if that is not there, returns an empty configuration, whose name is "".
func (p *Program) LoadConfig(ctx context.Context) (*config.Config, error) {
	c, err := config.Load(ctx, cmp.Or(p.ConfigFile, config.DefaultName))
	if p.ConfigFile == "" && errors.Is(err, fs.ErrNotExist) {
		c, err = config.Parse("", nil)
	}
	return c, exit.Usage.As(err)
}

// NeedConfig is LoadConfig where there has to be a configuration.
func (p *Program) NeedConfig(ctx context.Context) (*config.Config, error) {
	c, err := p.LoadConfig(ctx)
	if err == nil && c.Name() == "" {
		return nil, exit.Usage.Errorf("there is no %s here; name a configuration with --config",
			config.DefaultName)
	}
	return c, err
}

// NewRunner makes a Runner with the program's log and --explain, and what closes it: for as long as
// runs, observers and background work take, at most ten seconds.
func (p *Program) NewRunner(ctx context.Context,
	o runner.Options) (*runner.Runner, func() error, error) {
	o.Log = p.Log
	if p.Explain {
		o.Trace = both(o.Trace, printer.Explain(p.Err, o.Plugins))
	}
	if p.Adjust != nil {
		p.Adjust(&o)
	}
	r, err := runner.New(o)
	if err != nil {
		return nil, nil, exit.Usage.As(err)
	}
	return r, func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		return exit.Plugin.As(r.Close(ctx))
	}, nil
}

func both(f, g func(runner.HookCall)) func(runner.HookCall) {
	if f == nil {
		return g
	}
	return func(c runner.HookCall) {
		f(c)
		g(c)
	}
}

// Key returns the session that the flags and the configuration name. Its ID is empty if they do
// not.
func (p *Program) Key(c *config.Config) session.Key {
	return session.Key{
		App:  cmp.Or(p.App, c.App(), "runner"),
		User: cmp.Or(p.User, "user"),
		ID:   p.Session,
	}
}

// Package hook has the commands "runner hook …": what coding agents start at points of their runs, and what
// puts that into their settings and looks whether it works.
//
// A new agent needs nothing here: see hooks/dialect.
package hook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/early"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/hooks/coding"
	"github.com/plughook/plughook/hooks/dialect"
	"github.com/plughook/plughook/hooks/forward"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

type program struct {
	*cli.Program
	socket string
}

// Command returns the command "hook".
func Command(shared *cli.Program) *cobra.Command {
	p := &program{Program: shared}
	cmd := &cobra.Command{
		Use:   "hook",
		Short: "Put coding agents under the plugins",
		Long: `Hook lets plugins judge what coding agents do: Claude Code, Codex, Copilot, Cursor and Gemini CLI.

    runner hook install claude      puts hooks into the agent's settings, after showing the difference
    runner hook doctor              says what is installed, and whether it works
    runner hook uninstall claude    takes them out again

The agent then starts "runner hook claude --event …" for each prompt, call and result. A policy, budgets
and a log of sessions hold for it as for agents of your own. If nobody can decide, the call is refused.

The configuration is the one of --config, or .plughook/` + config.DefaultName + ` in this directory or one above it, or
the user's own (which "install --user" makes). With "runner serve --hooks" running, hooks are answered
there, by its configuration, which is faster.`,
	}
	f := cmd.PersistentFlags()
	f.StringVar(&p.socket, "socket", coding.Socket(), "where a server may listen for hooks, a `file`")
	for _, name := range dialect.Agents() {
		cmd.AddCommand(p.agentCommand(name))
	}
	return cli.Group(cmd, p.installCommand(), p.uninstallCommand(), p.doctorCommand())
}

// agentCommand returns the command that an agent starts.
func (p *program) agentCommand(name string) *cobra.Command {
	var event string
	cmd := &cobra.Command{
		Use:    name,
		Short:  "Answer a hook of " + name + ", which starts this command",
		Hidden: true,
		Args:   cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.answer(cmd.Context(), name, event)
		},
	}
	cmd.Flags().StringVar(&event, "event", "", "the `name` of the event, as the agent's settings have it")
	return cmd
}

// answer answers one hook. Whatever happens, what is printed is what the agent has to hear.
func (p *program) answer(ctx context.Context, name, event string) error {
	in := coding.Input{Agent: name, Event: event, Env: forward.Environment()}
	var err error
	reply := dialect.Reply{}
	if in.Payload, err = io.ReadAll(io.LimitReader(p.Stdin, dialect.MaxInput+1)); err == nil {
		reply, err = p.decide(ctx, in)
	} else {
		reply = coding.Refuse(in)
	}
	if err != nil {
		p.logFailure(in, err)
	}
	if _, err := p.Out.Write(reply.Stdout); err != nil {
		return err
	}
	if reply.Stderr != "" {
		fmt.Fprintln(p.Err, reply.Stderr)
	}
	return exit.Hook(reply.Exit)
}

// decide lets a server answer if there is one, or else the plugins in this process.
func (p *program) decide(ctx context.Context, in coding.Input) (dialect.Reply, error) {
	if err := early.Failure(); err != nil {
		return coding.Refuse(in), err
	}
	reply, err := coding.Forward(p.socket, in)
	if err == nil {
		return reply, nil
	}
	if !errors.Is(err, coding.ErrNoServer) {
		return coding.Refuse(in), err
	}
	ctx, cancel := context.WithTimeout(ctx, coding.Deadline)
	defer cancel()
	h, stop, err := p.host(ctx)
	if err != nil {
		return coding.Refuse(in), err
	}
	reply, err = h.Answer(ctx, in)
	return reply, errors.Join(err, stop())
}

// host opens the plugins and the store of the configuration.
func (p *program) host(ctx context.Context) (h coding.Host, stop func() error, err error) {
	debug.SetGCPercent(400) // the process is over before a collection pays
	file, err := p.configFile()
	if err != nil {
		return h, nil, err
	}
	c, err := config.Load(ctx, file)
	if err != nil {
		return h, nil, exit.Usage.As(err)
	}
	opened, err := c.Open(ctx, config.Options{Store: p.StoreName, NoAgent: true})
	if err != nil {
		return h, nil, exit.OfConfig(err)
	}
	r, err := runner.New(runner.Options{
		Agent:     agent.Outside(coding.App, "coding agents"),
		Sessions:  opened.Sessions,
		Plugins:   opened.Plugins,
		KeptViews: -1, // the process is over before a view is asked for again
	})
	if err != nil {
		return h, nil, errors.Join(err, opened.Close(ctx))
	}
	h = coding.Host{
		Runner:       r,
		Sessions:     opened.Sessions,
		App:          cmp.Or(p.App, c.App(), coding.App),
		User:         cmp.Or(p.User, session.User),
		AllowUnknown: c.Hooks().Unknown == "allow",
	}
	return h, func() error {
		ctx := context.WithoutCancel(ctx)
		return errors.Join(r.Close(ctx), opened.Close(ctx))
	}, nil
}

// configFile returns the configuration for hooks.
func (p *program) configFile() (string, error) {
	if p.ConfigFile != "" {
		return p.ConfigFile, nil
	}
	directory, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		name := filepath.Join(directory, ".plughook", config.DefaultName)
		if _, err := os.Stat(name); err == nil {
			return name, nil
		}
		parent := filepath.Dir(directory)
		if parent == directory {
			break
		}
		directory = parent
	}
	own, err := userDirectory()
	if err != nil {
		return "", err
	}
	name := filepath.Join(own, config.DefaultName)
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return "", exit.Usage.Errorf("there is no configuration for hooks, neither .plughook/%s here or above nor %s: "+
			"\"runner hook install\" makes one", config.DefaultName, name)
	}
	return name, nil
}

// userDirectory returns where the configuration of a user's own hooks is.
func userDirectory() (string, error) {
	directory, err := os.UserConfigDir()
	return filepath.Join(directory, "plughook", "hooks"), err
}

const failures = "failures.log"

// logFailure appends to a file why nobody could decide: agents read what hooks print.
func (p *program) logFailure(in coding.Input, err error) {
	directory, dirErr := userDirectory()
	if dirErr != nil || os.MkdirAll(directory, 0o700) != nil {
		return
	}
	f, openErr := os.OpenFile(filepath.Join(directory, failures), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if openErr != nil {
		return
	}
	defer f.Close()
	fmt.Fprintf(f, "%s %s %q: %s\n", time.Now().UTC().Format(time.RFC3339), in.Agent, in.Event, strings.Join(strings.Fields(err.Error()), " "))
}

package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/evaluate"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/hook"
	"github.com/plughook/plughook/cmd/runner/internal/plugin"
	"github.com/plughook/plughook/cmd/runner/internal/policy"
	"github.com/plughook/plughook/cmd/runner/internal/session"
	"github.com/plughook/plughook/cmd/runner/internal/version"
)

const about = `runner runs agents under plugins, and keeps, shows and replays their sessions.

A session is an append-only log of events. A run adds events to it. Plugins, named in a configuration
file, steer the run: they observe, edit, answer, deny and end it.

Start with "runner demo": it needs no key, no network and no configuration.`

// program is one run of the program, with the commands that are in this package.
type program struct {
	*cli.Program
	server  string   // the URL of a server that runs the agent; "" runs it here
	headers []string // that are sent to it
	// hooksOnly says that there is no agent: the server answers hooks of agents in other programs.
	hooksOnly bool
	// keepsHooks says that the calls of hooks are kept, for the page of the server.
	keepsHooks bool
}

// newRoot returns the command line of a program.
func newRoot(shared *cli.Program) *cobra.Command {
	p := &program{Program: shared}
	root := &cobra.Command{
		Use:           "runner",
		Version:       version.Get().Version,
		Short:         "Run agents under plugins",
		Long:          about + "\n\nExit codes:\n\n" + exit.Table(),
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	p.Flags(root)
	cli.Group(root,
		p.demoCommand(),
		p.runCommand(),
		p.chatCommand(),
		p.serveCommand(),
		p.replayCommand(),
		p.compactCommand(),
		session.Command(p.Program),
		plugin.Command(p.Program),
		hook.Command(p.Program),
		policy.Command(p.Program),
		evaluate.Command(p.Program),
		p.workflowCommand(),
		p.configCommand(),
		p.versionCommand(),
		manCommand(),
		exitCodesTopic(),
	)
	// Without a command the root prints the help, and does not complain as other groups do.
	unknown := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return unknown(cmd, args)
	}
	return root
}

func exitCodesTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit codes mean",
		Long:  strings.TrimSpace("Exit codes:\n\n" + exit.Table()),
	}
}

package main

import (
	"strings"

	"github.com/spf13/cobra"
)

const about = `runner runs agents under plugins, and keeps, shows and replays their sessions.

A session is an append-only log of events. A run puts events into it. Plugins, named in a
configuration file, steer the run: they observe, edit, answer, deny and end it.

Start with "runner demo": it needs no key, no network and no configuration.`

// root returns the command line.
func (p *program) root() *cobra.Command {
	cmd := &cobra.Command{
		Use: "runner", Version: build().Version,
		Short: "Run agents under plugins",
		Long:  about + "\n\nExit codes:\n\n" + exitTable(),
		Args:  cobra.ArbitraryArgs, SilenceErrors: true, SilenceUsage: true,
		PersistentPreRunE: func(*cobra.Command, []string) error { return exitUsage.as(p.setLog()) },
	}
	f := cmd.PersistentFlags()
	f.StringVar(&p.config, "config", "", "configuration `file` (default "+defaultConfig+" if it is there)")
	f.StringVar(&p.store, "store", "", "where sessions are kept: memory:, sqlite:FILE or postgres://… (default memory:)")
	f.StringVar(&p.app, "app", "", "app that the session belongs to (default runner)")
	f.StringVar(&p.user, "user", "", "user that the session belongs to (default user)")
	f.StringVar(&p.session, "session", "", "id of the session (run, chat: default a new one)")
	f.BoolVar(&p.jsonl, "jsonl", false, "write results as JSON Lines")
	f.BoolVarP(&p.quiet, "quiet", "q", false, "say nothing on standard error but errors, and what --explain and -v ask for")
	f.BoolVarP(&p.verbose, "verbose", "v", false, "log each hook call on standard error")
	f.StringVar(&p.logFormat, "log-format", "text", "form of log records: text or json")
	f.BoolVar(&p.explain, "explain", false, "say on standard error what each plugin did to each event, and why")
	if err := cmd.RegisterFlagCompletionFunc("log-format", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is there
	}
	cmd.SetFlagErrorFunc(flagError)
	commands := []*cobra.Command{p.demoCommand(), p.runCommand(), p.chatCommand(), p.replayCommand(), p.compactCommand(), p.sessionCommand(), p.pluginCommand(),
		p.policyCommand(), p.configCommand(), p.versionCommand(), p.manCommand(), exitCodesTopic()}
	group(cmd, commands...)
	unknown := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return unknown(cmd, args)
	}
	return cmd
}

func exitCodesTopic() *cobra.Command {
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: strings.TrimSpace("Exit codes:\n\n" + exitTable())}
}

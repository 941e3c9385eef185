package main

import "github.com/spf13/cobra"

func (p *program) pluginCommand() *cobra.Command {
	return group(&cobra.Command{Use: "plugin", Short: "List the configured plugins, and pin those that are processes"},
		p.pluginListCommand(),
		p.pluginLockCommand(),
		p.newPluginCommand(),
		p.verifyCommand(),
	)
}

func (p *program) pluginListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the configured plugins in their order", Args: arguments(cobra.NoArgs),
		Long: `List the configured plugins in their order. Those that are processes are started, asked who they are,
and stopped again. One that does not start is listed with what is wrong, and the exit code is 4 then.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.listPlugins(cmd.Context()) },
	}
}

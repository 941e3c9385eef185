// Package plugin has the commands about plugins: runner plugin list, lock, new, verify.
//
// A new command: a file with a function that returns it, added in plugin.go. What "new" writes is below template.
package plugin

import (
	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
)

// commands are those of plugins.
type commands struct{ *cli.Program }

// Command returns the command plugin.
func Command(program *cli.Program) *cobra.Command {
	p := &commands{program}
	return cli.Group(
		&cobra.Command{Use: "plugin", Short: "List, pin, write and verify plugins"},
		p.listCommand(),
		p.lockCommand(),
		p.newCommand(),
		p.verifyCommand(),
	)
}

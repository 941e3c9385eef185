package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/version"
)

func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cli.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := version.Get()
			if p.JSONL {
				return p.WriteJSON(b)
			}
			_, err := fmt.Fprintf(p.Out, "runner %s %s %s/%s\n", b.Version, b.Go, runtime.GOOS,
				runtime.GOARCH)
			return err
		},
	}
}

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the man pages into a directory",
		Args:  cli.Args(1, 1, "which directory? Name one"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return exit.Usage.As(err)
			}
			b := version.Get()
			root := cmd.Root()
			root.DisableAutoGenTag = true
			listsAsBlocks(root)
			header := &doc.GenManHeader{
				Title:   "RUNNER",
				Section: "1",
				Source:  "runner " + b.Version,
				Manual:  "Plughook",
			}
			// The date is that of the source, so that pages do not depend on the day. A build that does not know it has
			// today's, or that of the variable SOURCE_DATE_EPOCH.
			if date, err := time.Parse(time.RFC3339, b.Time); err == nil {
				header.Date = &date
			}
			return exit.Usage.As(doc.GenManTree(root, header, args[0]))
		},
	}
}

// listsAsBlocks indents the lists in the texts of a command, and of those below it, so far that a man page has them as
// they are.
func listsAsBlocks(cmd *cobra.Command) {
	var text strings.Builder
	for line := range strings.Lines(cmd.Long) {
		if strings.HasPrefix(line, " ") {
			text.WriteString("    ")
		}
		text.WriteString(line)
	}
	cmd.Long = text.String()
	for _, c := range cmd.Commands() {
		listsAsBlocks(c)
	}
}

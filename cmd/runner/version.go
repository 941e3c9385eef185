package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: arguments(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			b := build()
			if p.jsonl {
				return p.writeJSON(b)
			}
			_, err := fmt.Fprintf(p.out, "runner %s %s %s/%s\n", b.Version, b.Go, runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// built says what the program was built from.
type built struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Revision string `json:"revision,omitzero"`
	Time     string `json:"time,omitzero"`
}

func build() built {
	b := built{Version: "unknown", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version = info.Main.Version
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		}
	}
	return b
}

func (p *program) manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write the man pages into a directory", Args: arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return exitUsage.as(err)
			}
			date, err := time.Parse(time.RFC3339, build().Time) // that of the source: pages do not depend on the day
			if err != nil {
				date = time.Unix(0, 0).UTC()
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			header := &doc.GenManHeader{Title: "RUNNER", Section: "1", Source: "runner " + build().Version, Manual: "Plughook", Date: &date}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return exitUsage.as(err)
			}
			return nil
		},
	}
}

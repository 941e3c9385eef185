// Command runner runs agents under plugins, and keeps, shows and replays their sessions.
//
// A new command: a file here with a function that returns it, one line in newRoot (root.go), and a script in testdata/script.
// Commands about sessions, policies and plugins stand in internal/session, internal/policy and internal/plugin.
package main

import (
	"bytes"
	"context"
	"os"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/early"
)

func main() {
	p := &cli.Program{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	if payload, read := early.Payload(); read {
		p.Stdin = bytes.NewReader(payload)
	}
	os.Exit(run(p))
}

// run runs the command line of this process, with a context that signals cancel, and returns the
// exit code.
func run(p *cli.Program) int {
	ctx, stop := p.Signals.Watch(context.Background())
	defer stop()
	return p.Run(ctx, newRoot(p), os.Args[1:])
}

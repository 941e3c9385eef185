// Command runner runs agents under plugins, and keeps, shows and replays their sessions.
package main

import (
	"context"
	"os"
)

func main() {
	p := &program{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	os.Exit(p.main(os.Args[1:]))
}

// main is run with a context that signals cancel.
func (p *program) main(args []string) int {
	ctx, stop := p.signals.watch(context.Background())
	defer stop()
	return p.run(ctx, args)
}

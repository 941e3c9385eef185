// Command demo shows, offline, what plugins do to conversations: package show has it. "runner demo" shows the same; this
// program links less, so it is built sooner.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/plughook/plughook/examples/demo/show"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	d := &show.Demo{Out: os.Stdout}
	if err := d.Run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote"
)

// bench is what plugin bench is asked for.
type bench struct {
	config   remote.Config
	settings string
	count    int
	time     time.Duration
}

func (p *program) benchCommand() *cobra.Command {
	b := &bench{}
	cmd := &cobra.Command{
		Use: "bench [flags] PATH [ARGS...]", Short: "Measure a plugin in a process of its own",
		Long: `Starts a plugin, calls its hooks and writes how long they take, in the format of Go benchmarks,
which benchstat reads. PATH is an executable, a directory with a Go program, or one with package.json. Settings are
those of --settings, or of a file verify.json in the directory, or beside the executable.

Measured are the start up to the first answer, each hook that the plugin has with 1 KB and with 64 KB at
hand, one call after the other and with 32 callers at once, and what a hook costs that it has not. The time of
a call is that of the whole way: encode, send, the plugin's work, answer, decode.`,
		Example: `  runner plugin bench ./bin/audit --count 10 > new.txt
  benchstat old.txt new.txt`,
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return p.bench(cmd.Context(), b, args[0], args[1:]) },
	}
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.StringVar(&b.settings, "settings", "", "the plugin's settings, a JSON object")
	f.StringArrayVar(&b.config.Env, "env", nil, "a variable of the environment that the plugin gets: `NAME` or NAME=value")
	f.BoolVar(&b.config.Network, "network", false, "let the plugin use the network")
	f.IntVar(&b.count, "count", 1, "measure `n` times")
	f.DurationVar(&b.time, "time", time.Second, "how long each measurement takes")
	return cmd
}

// bench measures the plugin at a path.
func (p *program) bench(ctx context.Context, b *bench, path string, args []string) error {
	switch {
	case b.count < 1:
		return exitUsage.errorf("--count %d: it is 1 or more", b.count)
	case b.time <= 0:
		return exitUsage.errorf("--time %v: it is above 0", b.time)
	case b.settings != "" && !json.Valid([]byte(b.settings)):
		return exitUsage.errorf("--settings: it is not JSON")
	}
	command, dir, cleanup, err := p.pluginCommandOf(ctx, path, args)
	if err != nil {
		return err
	}
	defer cleanup()
	b.config.Command, b.config.Dir = command, dir
	if b.config.Settings, err = settingsFor(path, b.settings); err != nil {
		return err
	}
	b.config.Timeout, b.config.BackgroundTimeout = time.Minute, time.Minute
	b.config.Log = p.log
	host, err := remote.Open(ctx, b.config)
	if err != nil {
		return exitPlugin.as(err)
	}
	defer func() { _ = host.Close(context.WithoutCancel(ctx)) }()
	plug := host.Plugin()
	fmt.Fprintf(p.out, "goos: %s\ngoarch: %s\npkg: %s\n", runtime.GOOS, runtime.GOARCH, filepath.ToSlash(filepath.Clean(path)))
	for range b.count {
		for _, m := range b.measurements(plug) {
			if err := p.benchLine(ctx, b, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// measurements lists what is measured.
func (b *bench) measurements(plug *plugin.Plugin) []measurement {
	list := []measurement{{name: "Start", callers: 1, call: b.start}}
	for _, hook := range plug.Subscribes() {
		sizes := []int{1 << 10, 64 << 10}
		if hook == plugin.BeforeRun || hook == plugin.AfterRun {
			sizes = sizes[:1] // the input is sent once
		}
		for _, size := range sizes {
			for _, callers := range []int{1, 32} {
				name := fmt.Sprintf("%s/%dKB", hook, size>>10)
				if callers > 1 {
					name += fmt.Sprintf("/callers=%d", callers)
				}
				list = append(list, measurement{name: name, callers: callers, warm: 200, call: hookCall(plug, hook, size)})
			}
		}
	}
	return append(list, measurement{name: "Unsubscribed", callers: 1, batch: 1000, call: unsubscribed(plug)})
}

// start starts the plugin once more, up to its first answer.
func (b *bench) start(ctx context.Context, _ int) (time.Duration, error) {
	c := b.config
	c.Log = slog.New(slog.DiscardHandler) // it has said it all once
	began := time.Now()
	host, err := remote.Open(ctx, c)
	if err != nil {
		return 0, err
	}
	plug := host.Plugin()
	_, err = hookCall(plug, plug.Subscribes()[0], 1<<10)(ctx, 0)
	took := time.Since(began)
	if e := host.Close(ctx); err == nil {
		err = e
	}
	return took, err
}

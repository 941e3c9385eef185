package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/yamlfile"
)

// program is one run of the program: what it is given, and what its flags say.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	adjust         func(*runner.Options) // changes what runs; nil but in tests
	signals        signals

	config, store, app, user, session string
	jsonl, quiet, verbose, explain    bool
	logFormat                         string

	out *output
	err *lockedWriter
	log *slog.Logger
}

// run runs the program and returns its exit code.
func (p *program) run(ctx context.Context, args []string) int {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p.out, p.err = newOutput(p.stdout, cancel), &lockedWriter{w: p.stderr}
	root := p.root()
	root.SetArgs(args)
	root.SetIn(p.stdin)
	root.SetOut(p.out)
	root.SetErr(p.err)
	err := root.ExecuteContext(ctx)
	if e := p.out.Flush(); err == nil {
		err = e
	}
	end := exitOf(ctx, err)
	if cause := context.Cause(ctx); cause != nil && err != nil {
		if p.log != nil && err != cause {
			p.log.Debug("ended", "error", err)
		}
		err = cause // what else went wrong follows from it
	}
	if err != nil && !quiet(err) {
		fmt.Fprintf(p.err, "%s %s\n", styleOf(p.stderr).red("runner:"), printable(strings.TrimPrefix(err.Error(), "runner: ")))
	}
	return end.code
}

// setLog makes the log that the flags ask for, on standard error.
func (p *program) setLog() error {
	level := slog.LevelInfo
	switch {
	case p.quiet && p.verbose:
		return errors.New("-q and -v exclude each other")
	case p.quiet:
		level = slog.LevelError
	case p.verbose:
		level = slog.LevelDebug
	}
	options := &slog.HandlerOptions{Level: level}
	switch p.logFormat {
	case "text":
		p.log = slog.New(slog.NewTextHandler(p.err, options))
	case "json":
		p.log = slog.New(slog.NewJSONHandler(p.err, options))
	default:
		return fmt.Errorf("--log-format %q: it is text or json%s", p.logFormat, yamlfile.Guess(p.logFormat, []string{"text", "json"}))
	}
	slog.SetDefault(p.log) // libraries that log on their own do so here
	return nil
}

// note tells the person at standard error something, unless they asked for quiet.
func (p *program) note(format string, args ...any) {
	if !p.quiet {
		fmt.Fprintln(p.err, printable(fmt.Sprintf(format, args...)))
	}
}

// newRunner makes a Runner and what closes it: for as long as runs, observers and background work take,
// at most ten seconds.
func (p *program) newRunner(ctx context.Context, o runner.Options) (*runner.Runner, func() error, error) {
	o.Log = p.log
	if p.explain {
		o.Trace = both(o.Trace, explainer(p.err, o.Plugins))
	}
	if p.adjust != nil {
		p.adjust(&o)
	}
	r, err := runner.New(o)
	if err != nil {
		return nil, nil, exitUsage.as(errors.Join(err, closePlugins(ctx, o.Plugins)))
	}
	return r, func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		return exitPlugin.as(r.Close(ctx))
	}, nil
}

// closePlugins closes plugins that no Runner has.
func closePlugins(ctx context.Context, plugins []*plugin.Plugin) (err error) {
	for _, p := range plugins {
		if p.Close != nil {
			err = errors.Join(err, p.Close(ctx))
		}
	}
	return err
}

// key returns the session that the flags and the configuration name, its ID empty if they do not.
func (p *program) key(c *config) session.Key {
	return session.Key{App: cmp.Or(p.app, c.App, "runner"), User: cmp.Or(p.user, "user"), ID: p.session}
}

func both(f, g func(runner.HookCall)) func(runner.HookCall) {
	if f == nil {
		return g
	}
	return func(c runner.HookCall) { f(c); g(c) }
}

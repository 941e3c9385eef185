package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/sqlite"
)

// demoTalk plays the scenes on a store in file.
func (p *program) demoTalk(ctx context.Context, file string, st style, seen *demoCounts) (err error) {
	svc, err := sqlite.Open(ctx, file)
	if err != nil {
		return exitStore.as(err)
	}
	defer closeStore(svc, &err)
	plugins, err := p.demoPlugins(seen)
	if err != nil {
		return exitUsage.as(err)
	}
	a, heard, err := demoAgent()
	if err != nil {
		return exitUsage.as(err)
	}
	r, finish, err := p.newRunner(ctx, runner.Options{Agent: a, Sessions: svc, Plugins: plugins})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, finish()) }()
	for i, scene := range demoScenes {
		fmt.Fprintf(p.out, "\n%s\n", st.bold(fmt.Sprintf("%d. %s", i+1, scene.title)))
		p.demoLine(st, "ada says", scene.text)
		if err := p.demoTurn(ctx, r, st, scene, session.Message(scene.text), heard); err != nil {
			return err
		}
		if scene.approves != "" {
			p.demoLine(st, "her boss", "yes")
			yes := map[string]session.Confirmation{scene.approves: {Confirmed: true}}
			if err := p.demoTurn(ctx, r, st, scene, &session.Event{Author: session.User, Actions: session.Actions{RequestedToolConfirmations: yes}}, heard); err != nil {
				return err
			}
		}
		if err := p.out.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// demoTurn runs one input of a scene.
func (p *program) demoTurn(ctx context.Context, r *runner.Runner, st style, scene demoScene, input *session.Event, heard *overheard) error {
	config := session.RunConfig{Create: true}
	if scene.stream {
		config.Streaming = session.SSE
	}
	var v verdict
	var shown []string
	for e, err := range r.Run(ctx, demoKey, input, config) {
		switch {
		case err != nil:
			return runFailure(err)
		case e.Partial:
			shown = append(shown, e.Text())
			continue
		case len(shown) > 0: // the whole event has the rest
			shown = append(shown, strings.TrimPrefix(e.Text(), strings.Join(shown, "")))
			p.demoLine(st, "the model", strings.Join(heard.chunks, "|"))
			p.demoLine(st, "ada sees", strings.Join(shown, "|"))
			shown = nil
		}
		v.note(e)
		if e.Author != session.User || e.Text() != scene.text { // what the customer said is there already
			p.demoEvent(st, e)
		}
	}
	if v.err() != nil {
		p.demoLine(st, "", fmt.Sprintf(`(a denial: "runner run" would exit with code %d)`, exitOf(ctx, v.err()).code))
	}
	return nil
}

// demoStored opens the file again and prints what is in it.
func (p *program) demoStored(ctx context.Context, file string, st style) (err error) {
	svc, err := sqlite.Open(ctx, file)
	if err != nil {
		return exitStore.as(err)
	}
	defer closeStore(svc, &err)
	fmt.Fprintf(p.out, "\n%s\n", st.bold("What the SQLite file has, opened again:"))
	for e, err := range svc.Read(ctx, demoKey, session.Selection{}) {
		if err != nil {
			return exitStore.as(err)
		}
		fmt.Fprintf(p.out, "  %2d  %-16s  %s\n", e.Seq, e.Author, oneLine(strings.Join(eventLines(e), " "), 84))
	}
	return nil
}

// demoEvent prints an event of the run as it went into the log.
func (p *program) demoEvent(st style, e *session.Event) {
	who := strings.TrimPrefix(e.Author, session.PluginPrefix)
	if e.Author == session.User {
		who = "in the log"
	}
	p.demoLine(st, who, strings.Join(eventLines(e), " "))
}

func (p *program) demoLine(st style, who, what string) {
	fmt.Fprintf(p.out, "  %s %s\n", st.bold(fmt.Sprintf("%-10s", who)), what)
}

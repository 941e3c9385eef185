package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// A measurement is something that is done again and again. call returns how long it took without what it had
// to prepare; it is told which caller it is.
type measurement struct {
	name    string
	callers int
	warm    int // calls before any that count: what is made once is made then
	batch   int // how often one call does it, if more than once
	call    func(ctx context.Context, caller int) (time.Duration, error)
}

// benchLine measures, and writes a line in Go's format for benchmarks.
func (p *program) benchLine(ctx context.Context, b *bench, m measurement) error {
	for range m.warm {
		if _, err := m.call(ctx, 0); err != nil {
			return benchFailure(ctx, m, err)
		}
	}
	took, wall, err := m.run(ctx, b.time)
	if err != nil {
		return benchFailure(ctx, m, err)
	}
	batch := max(m.batch, 1)
	var sum time.Duration
	for _, d := range took {
		sum += d
	}
	n := len(took) * batch
	line := fmt.Sprintf("Benchmark%s-%d\t%8d", m.name, runtime.GOMAXPROCS(0), n)
	if m.callers > 1 { // together, so that it compares with one caller
		line += fmt.Sprintf("\t%12.1f ns/op\t%12.0f calls/s", float64(wall)/float64(n), float64(n)/wall.Seconds())
	} else {
		line += fmt.Sprintf("\t%12.1f ns/op", float64(sum)/float64(n))
	}
	if m.batch == 0 {
		slices.Sort(took)
		line += fmt.Sprintf("\t%12d p50-ns\t%12d p99-ns", took[len(took)/2], took[len(took)*99/100])
	}
	_, err = fmt.Fprintln(p.out, line)
	return errors.Join(err, p.out.Flush())
}

func benchFailure(ctx context.Context, m measurement, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return exitPlugin.errorf("%s: the plugin failed, so there is nothing to measure: %w", m.name, err)
}

// run calls for a time, by all callers, and returns how long each call and all together took.
func (m measurement) run(ctx context.Context, d time.Duration) (took []time.Duration, wall time.Duration, err error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	began := time.Now()
	for caller := range m.callers {
		all.Go(func() {
			var mine []time.Duration
			var e error
			for e == nil && (len(mine) == 0 || time.Since(began) < d) {
				var t time.Duration
				if t, e = m.call(ctx, caller); e == nil {
					mine = append(mine, t)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, mine...)
			err = errors.Join(err, e)
		})
	}
	all.Wait()
	return took, time.Since(began), err
}

// hookCall returns calls of a hook with size bytes of text at hand. Each caller has a session of its own, and
// nothing at hand was encoded before.
func hookCall(plug *plugin.Plugin, hook plugin.Hook, size int) func(context.Context, int) (time.Duration, error) {
	return func(ctx context.Context, caller int) (time.Duration, error) {
		id := fmt.Sprintf("%032d", caller)
		inv := &session.Invocation{ID: id, Key: session.Key{App: "bench", User: "user", ID: id}}
		e := session.Reply(benchText[:size-256])
		e.ID, e.InvocationID, e.Author, e.Timestamp = id, id, "agent", time.Unix(1700000000, 0)
		var err error
		began := time.Now()
		switch hook {
		case plugin.BeforeRun:
			_, err = plug.BeforeRun(ctx, inv)
		case plugin.BeforeModel:
			req := &model.Request{Agent: "agent", Model: "model", Config: &genai.GenerateContentConfig{}, Contents: []*genai.Content{e.Content}}
			_, err = plug.BeforeModel(ctx, inv, req)
		case plugin.OnEvent:
			_, err = plug.OnEvent(ctx, inv, e)
		case plugin.AfterRun:
			_, err = plug.AfterRun(ctx, inv, plugin.End{Kind: plugin.EndDone})
		}
		return time.Since(began), err
	}
}

// unsubscribed returns what asks a plugin a thousand times whether it takes an event that it does not take:
// what a hook costs that is not called.
func unsubscribed(plug *plugin.Plugin) func(context.Context, int) (time.Duration, error) {
	not := *plug
	not.Filter = &plugin.Filter{Has: []plugin.Has{plugin.HasMarker}}
	e := session.Reply(benchText[:1<<10])
	return func(context.Context, int) (time.Duration, error) {
		called := 0
		began := time.Now()
		for range 1000 {
			if not.OnEvent == nil || !not.Filter.Match(e) {
				called++
			}
		}
		took := time.Since(began)
		if called != 1000 {
			return 0, errors.New("the filter selects what it does not name")
		}
		return took, nil
	}
}

// benchText is text as people and models write it.
var benchText = strings.Repeat(`Some lines of text, as people and models write it: some sentences to a line, and
most of them without anything that JSON would have to write in another way. Only
now and then there is "something in quotes", a word as naïve as this one, or a blank
line, which ends what belongs together.

`, 1<<8)

package plugintest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// concurrent runs several sessions at once, and looks for words of one in the others.
func concurrent(ctx context.Context, p *plugin.Plugin) error {
	const sessions, runs = 8, 5
	store := memory.New()
	turns := []turn{{steps: []step{{ask: true}, {event: session.Reply("well")}}}}
	var w watcher
	r, err := runner.New(runner.Options{Agent: player(turns), Sessions: store, Plugins: []*plugin.Plugin{watched(p, &w)}})
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	for s := range sessions {
		all.Go(func() {
			for range runs {
				in := session.Message(mark(s) + " is what this session says")
				in.InvocationID = "0"
				for range r.Run(ctx, session.Key{App: key.App, User: mark(s), ID: mark(s)}, in, session.RunConfig{Create: true}) {
				}
			}
		})
	}
	all.Wait()
	if err := errors.Join(r.Close(ctx), w.broken[noPanic], w.broken[inPlace], w.broken[allowed]); err != nil {
		return err
	}
	for s := range sessions {
		for e, err := range store.Read(ctx, session.Key{App: key.App, User: mark(s), ID: mark(s)}, session.Selection{}) {
			if err != nil {
				return err
			}
			data, err := e.MarshalJSON()
			if err != nil {
				return err
			}
			for other := range sessions {
				if other != s && strings.Contains(string(data), mark(other)) {
					return fmt.Errorf("session %s has something of session %s: %.300s", mark(s), mark(other), data)
				}
			}
		}
	}
	return nil
}

// mark returns a word that only one session has.
func mark(s int) string { return fmt.Sprintf("zebra-%c", 'a'+s) }

// encoded compares the ordinary conversation with the plugin in process, and with all calls
// encoded as for a process of its own.
func encoded(ctx context.Context, p *plugin.Plugin) error {
	c := *p
	c.Close = nil
	converse := func(p *plugin.Plugin) (string, error) {
		t, err := try(ctx, p, memory.New(), talk()...)
		if err != nil {
			return "", err
		}
		return t.text(), errors.Join(t.broken[noPanic], t.broken[inPlace], t.broken[allowed])
	}
	first, err := converse(&c)
	if err != nil {
		return err
	}
	looped := remote.Loopback(&c)
	wired, err := converse(looped)
	if err := errors.Join(err, looped.Close(ctx)); err != nil {
		return fmt.Errorf("through the wire: %w", err)
	}
	if wired == first {
		return nil
	}
	again, err := converse(&c)
	if err != nil || again != first {
		return errors.Join(err, Skip("it does not answer the same conversation in the same way twice"))
	}
	return fmt.Errorf("through the wire the conversation is another one:\n%s", firstDifference("in process", first, "through the wire", wired))
}

package plugintest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// concurrent has conversations on several sessions at once.
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

func mark(s int) string { return fmt.Sprintf("zebra-%c", 'a'+s) }

// encoded compares the ordinary conversation in process and through the encoding.
func encoded(ctx context.Context, p *plugin.Plugin) error {
	c := *p
	c.Close = nil
	have := func(p *plugin.Plugin) (string, error) {
		t, err := try(ctx, p, memory.New(), talk()...)
		if err != nil {
			return "", err
		}
		return t.text(), errors.Join(t.broken[noPanic], t.broken[inPlace], t.broken[allowed])
	}
	first, err := have(&c)
	if err != nil {
		return err
	}
	far := remote.Loopback(&c)
	wired, err := have(far)
	if err := errors.Join(err, far.Close(ctx)); err != nil {
		return fmt.Errorf("through the wire: %w", err)
	}
	if wired == first {
		return nil
	}
	if again, err := have(&c); err != nil || again != first {
		return errors.Join(err, Skip("it does not answer the same conversation in the same way twice"))
	}
	return fmt.Errorf("through the wire the conversation becomes another one:\n%s", firstDifference("in process", first, "through the wire", wired))
}

// closes closes the plugin.
func closes(ctx context.Context, p *plugin.Plugin) error {
	if p.Close == nil {
		return Skip("it has no Close")
	}
	for _, what := range []string{"Close", "a second Close", "Close with a context that is done"} {
		within, cancel := context.WithTimeout(ctx, patience)
		if what != "Close" && what != "a second Close" {
			cancel()
		}
		done := make(chan error, 1)
		go func() {
			var err error
			defer func() { done <- errors.Join(err, plugin.Recovered(recover())) }()
			if e := p.Close(within); what == "Close" {
				err = e
			}
		}()
		var err error
		select {
		case err = <-done:
		case <-time.After(2 * patience):
			err = fmt.Errorf("it did not return within %v, with a context of %v", 2*patience, patience)
		}
		cancel()
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

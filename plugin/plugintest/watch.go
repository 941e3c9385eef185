package plugintest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// hookLimit is how long a hook may take in a case. It is far beyond what a runner would allow.
const hookLimit = 10 * time.Second

// A rule is a rule that a single call of a hook can break.
type rule string

const (
	returns  rule = "returns"
	noPanic  rule = "does not panic"
	inPlace  rule = "changes nothing in place"
	allowed  rule = "answers what the hook may"
	observes rule = "asks nothing"
	keeps    rule = "keeps unknown keys"
)

// watcher watches the calls of a plugin's hooks, and notes the rules that they break.
type watcher struct {
	mu       sync.Mutex
	broken   map[rule]error // how, the first time
	calls    int
	own      []error // what calls returned
	replaced int     // events with unknown keys
	ends     map[plugin.EndKind]int
}

// watched returns p with its hooks watched by w. An observer, and AfterRun in the background, are
// called synchronously, so that a case sees what they do. Close does nothing.
func watched(p *plugin.Plugin, w *watcher) *plugin.Plugin {
	w.broken = map[rule]error{}
	w.ends = map[plugin.EndKind]int{}
	c := p.Wrap(func(ctx context.Context, inv *session.Invocation, args plugin.Args, call plugin.HookFunc) (plugin.Outcome, error) {
		if args.Hook == plugin.AfterRun {
			w.mu.Lock()
			w.ends[args.End.Kind]++
			w.mu.Unlock()
		}
		return w.call(p, args.Hook, inv, args.Event, func() (plugin.Outcome, error) { return call(ctx, inv, args) })
	})
	c.Observer = false
	c.Background = false
	c.Close = nil
	return c
}

// call calls a hook, and compares what it was given and what it answers with the rules.
func (w *watcher) call(p *plugin.Plugin, hook plugin.Hook, inv *session.Invocation, e *session.Event, f func() (plugin.Outcome, error)) (plugin.Outcome, error) {
	w.mu.Lock()
	hung := w.broken[returns]
	w.mu.Unlock()
	if hung != nil { // a hook did not return: no other is called, so that the case ends
		return plugin.Outcome{}, hung
	}
	before := snapshot(inv, e)
	var out plugin.Outcome
	late, err := within(hookLimit, func() (err error) { out, err = f(); return err })
	w.mu.Lock()
	defer w.mu.Unlock()
	at := fmt.Sprintf("%s in invocation %s", hook, inv.ID)
	if e != nil {
		at = fmt.Sprintf("OnEvent, given %.300s", before[len(before)-1])
	}
	note := func(r rule, format string, args ...any) {
		if w.broken[r] == nil {
			w.broken[r] = fmt.Errorf("%s: %w", at, fmt.Errorf(format, args...))
		}
	}
	w.calls++
	if err != nil {
		w.own = append(w.own, err)
	}
	if late {
		note(returns, "%w", err)
		return plugin.Outcome{}, err // the hook may still write to out
	}
	switch {
	case errors.Is(err, plugin.ErrPanic):
		note(noPanic, "%w", err)
	case errors.Is(err, plugin.ErrOutcome):
		note(allowed, "%w", err)
	case errors.Is(err, plugin.ErrInPlace):
		note(inPlace, "%w", err)
	}
	if now := snapshot(inv, e); !same(before, now) {
		note(inPlace, "%w", plugin.ErrInPlace)
	}
	if err != nil {
		return out, err
	}
	if err := out.Check(hook); err != nil {
		note(allowed, "%w", err)
	}
	for _, emitted := range out.Emit {
		if emitted != nil && emitted.CustomMetadata[session.NotesKey] != nil {
			note(allowed, "it emits customMetadata.%s, which only the runner writes", session.NotesKey)
		}
	}
	if p.Observer && !out.IsZero() {
		note(observes, "it is an observer and answers %s", asked(out))
	}
	if out.Replace != nil && e != nil && strings.HasPrefix(e.ID, oddID) {
		w.replaced++
		if err := lost(e, out.Replace); err != nil {
			note(keeps, "%w", err)
		}
	}
	return out, err
}

// within calls f and waits for it, for limit at most. late reports that f has not returned by then.
func within(limit time.Duration, f func() error) (late bool, err error) {
	done := make(chan error, 1)
	go func() {
		err := fmt.Errorf("%w: runtime.Goexit", plugin.ErrPanic)
		defer func() { done <- err }()
		defer func() {
			if e := plugin.Recovered(recover()); e != nil {
				err = e
			}
		}()
		err = f()
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-done:
		return false, err
	case <-timer.C:
		return true, fmt.Errorf("it did not return within %v", limit)
	}
}

// snapshot returns what a hook is given, as JSON, the event last. Of a long live view it has the
// last five events.
func snapshot(inv *session.Invocation, e *session.Event) [][]byte {
	var all [][]byte
	add := func(v any) {
		data, err := json.Marshal(v)
		if err != nil {
			data = []byte(err.Error())
		}
		all = append(all, data)
	}
	for _, live := range inv.Live[max(0, len(inv.Live)-5):] {
		add(live)
	}
	add(inv.State)
	add([]any{inv.ID, inv.Key, inv.Config, inv.Position, inv.Frontier, inv.Input})
	if e != nil {
		add(e)
	}
	return all
}

// same reports whether two snapshots are equal.
func same(a, b [][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// asked lists the fields of an outcome, for an error text.
func asked(o plugin.Outcome) string {
	return fmt.Sprintf("replace: %t, emit: %d, withhold: %t, stop: %t, reason: %q, unchecked: %q", o.Replace != nil, len(o.Emit), o.Withhold, o.Stop, o.Reason, o.Unchecked)
}

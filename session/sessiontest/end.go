package sessiontest

import (
	"context"
	"fmt"

	"github.com/plughook/plughook/session"
)

var endCases = []testCase{{
	Name: "end/done context",
	Rule: "An operation whose context is done returns its error and has no effect.",
	On: func(t *tester, key session.Key) {
		t.put(key, say("a"))
		before := t.get(key)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, err := range t.all(ctx, key) {
			t.Is(err, context.Canceled)
		}
		t.equal("the session", t.get(key), before)
		t.hasLog(key, "1:a")
		t.equal("the sessions", t.list(t.App, ""), []string{key.String()})
		t.lease(key)
	},
}, {
	Name: "end/context done meanwhile",
	Rule: "An append whose context ends while it runs has its whole effect or none, and can be repeated " +
		"until it has.",
	On: func(t *tester, key session.Key) {
		for i := range 40 {
			batch := []*session.Event{
				delta(fmt.Sprint("a", i), "a", i), add(fmt.Sprint("n", i), "app:n", 1),
				delta(fmt.Sprint("b", i), "b", i),
			}
			ctx, cancel := context.WithCancel(t.Context())
			go cancel()
			last, err := t.Append(ctx, session.AppendTarget{Key: key, After: int64(3 * i)}, batch...)
			cancel()
			s := t.get(key)
			switch {
			case err == nil && (last != int64(3*i+3) || s.Position != last):
				t.Fatalf("Append returned %d, the position is %d, want %d", last, s.Position, 3*i+3)
			case err != nil && s.Position != int64(3*i) && s.Position != int64(3*i+3):
				t.Fatalf("the position is %d after a batch of 3 at %d", s.Position, 3*i)
			case err != nil:
				t.Is(err, context.Canceled)
			}
			t.Must(t.append(key, int64(3*i), 0, batch...))
		}
		t.folds(key)
		t.hasState(key, map[string]any{"a": 39, "b": 39, "app:n": 40})
	},
}, {
	Name: "end/closed",
	Rule: "After Close every operation is an error that is ErrClosed; a lease's Release and another Close " +
		"do no harm.",
	On: func(t *tester, key session.Key) {
		lease := t.lease(key)
		t.Must(t.Close())
		for _, err := range t.all(t.Soon(), key) {
			t.Is(err, session.ErrClosed)
		}
		lease.Release()
		_ = t.Close()
	},
}, {
	Name: "end/closed while waiting",
	Rule: "Close ends a call of Lease that waits, with ErrClosed.",
	On: func(t *tester, key session.Key) {
		t.lease(key)
		ctx := &watched{Context: t.Soon(), asked: make(chan struct{})}
		waited := t.waits(ctx, key)
		<-ctx.asked
		t.Must(t.Close())
		t.Is(<-waited, session.ErrClosed)
	},
}}

// all is reaching with operations that are not about one session.
func (t *tester) all(ctx context.Context, key session.Key) []error {
	_, err := t.Create(ctx, t.Key("ann", "new"), map[string]any{"app:a": 1})
	return append(t.reaching(ctx, key), fmt.Errorf("create: %w", err),
		fmt.Errorf("list: %w", firstError(t, t.List(ctx, t.App, ""))),
		fmt.Errorf("search: %w", firstError(t, t.Search(ctx, session.Query{App: t.App}))))
}

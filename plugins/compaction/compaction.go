// Package compaction is a plugin that keeps long sessions affordable: when the live view has become large, an
// event with a summary stands in for the older part of it. The log keeps everything; a rewind to before the
// summary, or the tool Recall, brings the originals back.
//
// # When
//
// Any of the triggers of Config starts a compaction: the tokens of the live view, events, invocations, a pause
// in the conversation, the provider's "too long", or the command Now. They are looked at after each invocation,
// in the background if Config.Foreground does not say otherwise, and before each model call: a prompt above
// Config.Budget is never sent. If what must stay word for word does not fit, the model is not called, and an
// event with the ErrorCode TooLong says what to do.
//
// # What
//
// Covered is everything up to a point but for what stays: the tail, the question that is being answered, the first
// message if it is short, pinned authors, tools and events, calls that wait with the questions about them, and
// what other branches are working on. A call and its response are covered together or not at all, and
// an event is covered whole, so signed parts stay as they are or go.
//
// Summaries of branches that do not see each other stay apart (session.Compaction.Branches).
//
// # By whom
//
// Without a Summarizer nothing leaves the process: package extract takes words and lines out of the events, and
// keeps a ledger of values (ids, amounts, dates, names) that later calls may need. With one (see Model), its
// prose is followed by the same ledger. One that fails changes nothing: after Config.Attempts the offline
// summary is used.
//
// A compaction gains at least Config.MinGain tokens or does not happen; why it did not is the outcome's reason,
// a log record and a counter (plughook.compaction.declined; see Metrics).
package compaction

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// Name is the name of the plugin, and begins the name of its command.
const Name = "compaction"

// TooLong is the ErrorCode of the event in place of a model's answer when the prompt does not fit, whatever is
// compacted.
const TooLong = "PROMPT_TOO_LONG"

// New returns the plugin, or an error if the configuration cannot be. Put it before plugins that redact, since
// they are offered its summaries, and before those that record. The command is carried out before the agent runs, when
// all plugins have seen it, wherever they stand.
func New(c Config) (*plugin.Plugin, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	k := &keeper{Config: c, busy: map[session.Key]bool{}, late: map[session.Key]late{}, cut: map[string]int{}, failed: map[session.Key]int{}, metrics: newMetrics()}
	return &plugin.Plugin{
		Name: Name, Doc: "Puts a summary in place of the older part of a long session.",
		Partials: true, Background: !c.Foreground,
		BeforeRun:   k.beforeRun,
		BeforeModel: k.beforeModel,
		OnEvent:     k.onEvent,
		AfterRun:    k.afterRun,
	}, nil
}

// command is the trigger of who asks for it.
const command = "command"

// keeper is the plugin. What it knows of a session is in the log; what it keeps here only spares work.
type keeper struct {
	Config
	metrics *metrics
	bare    bool // the view is measured as Text draws it, without what a prompt puts around a summary

	mu     sync.Mutex
	busy   map[session.Key]bool // a summary is being made
	late   map[session.Key]late // one was made, and waits for the session's turn
	failed map[session.Key]int  // how often in a row the Summarizer has failed
	cut    map[string]int       // by invocation, how often the provider has said "too long"
}

// begin reports whether a session's compaction may begin: there is one at a time.
func (k *keeper) begin(key session.Key) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.busy[key] {
		return false
	}
	k.busy[key] = true
	return true
}

func (k *keeper) end(key session.Key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.busy, key)
}

// late is a summary that the runner appends once it has the session's turn.
type late struct {
	frontier int64
	made     time.Time
}

// patientFor is how long a late summary is waited for before another one is made.
const patientFor = time.Minute

// waits reports whether a summary of the session waits for its turn.
func (k *keeper) waits(inv *session.Invocation) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	l, ok := k.late[inv.Key]
	if ok && (l.frontier != inv.Frontier || time.Since(l.made) > patientFor) {
		delete(k.late, inv.Key)
		return false
	}
	return ok
}

// wait notes that a summary waits for the session's turn.
func (k *keeper) wait(inv *session.Invocation) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.late) >= 1000 {
		maps.DeleteFunc(k.late, func(_ session.Key, l late) bool { return time.Since(l.made) > patientFor })
	}
	k.late[inv.Key] = late{inv.Frontier, time.Now()}
}

// beforeRun carries out the command, once every plugin has seen it, and compacts a session that nobody has talked in
// for Config.Idle: what a provider had cached of its prompt is gone by now.
func (k *keeper) beforeRun(ctx context.Context, inv *session.Invocation) (plugin.Outcome, error) {
	if inv.Input != nil {
		if c, ok := inv.Input.Command(); ok && c.Name == Now("").Name {
			return k.now(ctx, inv, c)
		}
	}
	if !k.idle(inv) {
		return plugin.Outcome{}, nil
	}
	return k.compact(ctx, inv, task{trigger: "idle", running: true})
}

// beforeModel keeps the prompt in its bound.
func (k *keeper) beforeModel(ctx context.Context, inv *session.Invocation, req *model.Request) (plugin.Outcome, error) {
	m := k.meter(inv.Live)
	t := task{trigger: "budget", running: true, branch: req.Branch, limit: k.Budget}
	size, rest := m.request(req)
	t.slack, t.told = rest, max(0, size-m.view(inv.Live, req.Branch))
	if size+rest <= k.Budget {
		if !k.Foreground {
			return plugin.Outcome{}, nil
		}
		if t.trigger = k.triggered(m, inv.Live, req.Branch); t.trigger == "" {
			return plugin.Outcome{}, nil
		}
		t.limit = 0
		return k.compact(ctx, inv, t)
	}
	out, err := k.compact(ctx, inv, t)
	if err != nil || len(out.Emit) > 0 {
		return out, err
	}
	return plugin.Outcome{Withhold: true, Reason: out.Reason, Emit: []*session.Event{{Branch: req.Branch, ErrorCode: TooLong, ErrorMessage: k.tooLong(size, rest, out.Reason)}}}, nil
}

// onEvent takes the provider's "too long".
func (k *keeper) onEvent(ctx context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
	if e.Partial {
		return plugin.Outcome{}, nil
	}
	if !overflow(e) || !k.again(inv.ID) {
		return plugin.Outcome{}, nil
	}
	// The provider counts otherwise than we do: half of what it did not take is what it may take.
	m := k.meter(inv.Live)
	t := task{trigger: "too long", running: true, branch: e.Branch}
	size := m.view(inv.Live, e.Branch)
	for _, t.limit = range []int{min(k.Budget, size/2), size * 9 / 10} { // the second if what stays has more than half
		if out, err := k.compact(ctx, inv, t); err != nil || len(out.Emit) > 0 {
			out.Withhold = err == nil
			return out, err
		}
	}
	return plugin.Outcome{}, nil
}

// now carries out the command. If it came with a message, that is answered afterwards.
func (k *keeper) now(ctx context.Context, inv *session.Invocation, c session.Command) (plugin.Outcome, error) {
	refuse := func(code, why string) plugin.Outcome {
		return plugin.Outcome{Emit: []*session.Event{{ErrorCode: code, ErrorMessage: "compaction: " + why}}, Reason: why}
	}
	instructions, text := c.Args["instructions"].(string)
	rest := len(c.Args)
	if text {
		rest--
	}
	var out plugin.Outcome
	var err error
	if rest > 0 {
		out = refuse("INVALID_ARGUMENT", "the command takes one argument, instructions, which is a text")
	} else if out, err = k.compact(ctx, inv, task{trigger: command, instructions: instructions, running: inv.Input.Content != nil}); err != nil {
		return out, err
	} else if len(out.Emit) == 0 {
		out = refuse("FAILED_PRECONDITION", out.Reason)
	}
	out.Stop = inv.Input.Content == nil
	return out, nil
}

// again reports whether an invocation's "too long" is answered once more.
func (k *keeper) again(invocation string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cut[invocation]++
	return k.cut[invocation] <= 3
}

// afterRun compacts what has become large.
func (k *keeper) afterRun(ctx context.Context, inv *session.Invocation, end plugin.End) (plugin.Outcome, error) {
	k.mu.Lock()
	delete(k.cut, inv.ID)
	k.mu.Unlock()
	if k.waits(inv) {
		return plugin.Outcome{}, nil
	}
	trigger := k.triggered(k.meter(inv.Live), inv.Live, "")
	if trigger == "" {
		return plugin.Outcome{}, nil
	}
	out, err := k.compact(ctx, inv, task{trigger: trigger, late: !k.Foreground})
	if err != nil && !errors.Is(err, context.Canceled) {
		return plugin.Outcome{Reason: err.Error()}, nil // the caller has its answer: nothing is to fail any more
	}
	return out, err
}

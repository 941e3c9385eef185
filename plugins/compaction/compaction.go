// Package compaction is a plugin that keeps long sessions affordable. When the live view of a session has
// become large, the plugin appends an event with a summary that stands in for the older part of the view. The
// log keeps everything: a rewind to a position before the summary brings the originals back, and the tool
// Recall reads them.
//
// # When
//
// Each of these starts a compaction, in the hook that looks for it:
//
//	AfterRun     the tokens of the live view; the events or invocations since the last summary.
//	             In the background, unless Config.Foreground is set. Not after a rewind, until something
//	             is said.
//	BeforeRun    the command Now; a pause in the conversation
//	BeforeModel  a prompt above Config.Budget, which is not sent; what plugins after this one add to the
//	             prompt is not counted
//	OnEvent      the provider's error that the prompt is too long
//
// If the events that must stay do not fit into Config.Budget, the model is not called; an event with the
// ErrorCode TooLong says what to do.
//
// # What
//
// A compaction covers all events up to a position, except those that stay. The type Plan says which do, and
// what gives way if the prompt has no room. An event is covered as a whole, so a signed part is never
// changed.
//
// Branches that do not see each other have separate summaries (session.Compaction.Branches).
//
// # Who writes it
//
// Without a Summarizer, nothing leaves the process: words and lines are taken from the events, and a ledger
// keeps exact values (ids, amounts, dates, names) that later calls may need. With a Summarizer, such as a
// Model, its prose is followed by the same ledger. If the Summarizer fails Config.Attempts times, the summary
// is written without it.
//
// A summary that a Summarizer writes in the background comes too late if the budget is reached meanwhile: another one
// is written offline then. The late one takes its place before the next model call, as a compaction that covers the
// same.
//
// A compaction that would save less than Config.MinGain tokens does not happen. The reason is in the outcome,
// in a log record, and in the counter plughook.compaction.declined of OpenTelemetry's global meter provider.
// The other counters are plughook.compaction.made, tokens_saved, cost and summarizer_failures.
//
// # Where to add what
//
// A new trigger: Settings.Due in internal/plan, or the hook that sees it (here), and a row in the list above.
// A new way to write summaries: a Summarizer; Model is one. A new reason why events stay or give way:
// internal/plan. Something new that a summary carries word for word: the ledger of internal/extract. A new
// part of a prompt that costs tokens: internal/meter.
package compaction

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/compaction/internal/meter"
	"github.com/plughook/plughook/plugins/compaction/internal/plan"
	"github.com/plughook/plughook/session"
)

const (
	// Name is the name of the plugin.
	Name = meter.PluginName
	// TooLong is the ErrorCode of the event in place of a model's answer, if the prompt does not fit into
	// Config.Budget even after a compaction.
	TooLong = "PROMPT_TOO_LONG"
)

// nowCommand is the name of the command Now.
const nowCommand = Name + ".now"

// New returns the plugin, or an error if the configuration is invalid. Put the plugin before plugins that
// redact, so that they are offered its summaries, and before plugins that record. The command Now is carried
// out before the agent runs, after all plugins have seen it, wherever they are in the list.
func New(given Config) (*plugin.Plugin, error) {
	c, err := given.complete()
	if err != nil {
		return nil, err
	}
	if c.Clear.Artifacts > 0 && c.Artifacts == nil {
		return nil, errors.New("compaction: clear.artifacts needs a place to save to; set Config.Artifacts")
	}
	k := newCompactor(c)
	return &plugin.Plugin{
		Name:        Name,
		Doc:         "Puts a summary in place of the older part of a long session.",
		Partials:    true,
		Background:  !c.Foreground,
		BeforeRun:   k.beforeRun,
		BeforeModel: k.beforeModel,
		OnEvent:     k.onEvent,
		AfterRun:    k.afterRun,
		Commands:    []plugin.Command{{Action: plugin.Compact, Name: nowCommand, DryRun: given.dryRun}},
	}, nil
}

// Now returns the command to compact now. Instructions, unless they are "", say what the summary should not
// leave out. Send the command as an input without content: then no agent runs, and the run yields the
// compaction, or an event with an ErrorCode that says why there is none.
func Now(instructions string) session.Command {
	c := session.Command{Name: nowCommand}
	if instructions != "" {
		c.Args = map[string]any{"instructions": instructions}
	}
	return c
}

// A compactor is the plugin. Everything that it must know of a session is in the log. Its fields only save
// work, so that losing them is harmless.
type compactor struct {
	Config
	metrics *metrics

	mu        sync.Mutex
	busy      map[session.Key]bool    // a summary is being made
	pending   map[session.Key]pending // a summary or a clearing was made in the background, and is not appended yet
	drafts    map[session.Key]*draft  // a Summarizer writes in the background, or has written
	failed    map[session.Key]int     // how often in a row the Summarizer has failed
	overflows map[string]int          // by invocation: how often the provider said that the prompt is too long
	sent      map[sentBy]int          // the tokens of the last prompt
}

// sentBy names the invocation and the branch that a prompt was made for.
type sentBy struct{ invocation, branch string }

func newCompactor(c Config) *compactor {
	return &compactor{
		Config:    c,
		metrics:   newMetrics(),
		busy:      map[session.Key]bool{},
		pending:   map[session.Key]pending{},
		drafts:    map[session.Key]*draft{},
		failed:    map[session.Key]int{},
		overflows: map[string]int{},
		sent:      map[sentBy]int{},
	}
}

// maxOverflows is how often in one invocation the plugin compacts because the provider says that the prompt
// is too long.
const maxOverflows = 3

// beforeRun carries out the command Now, and compacts a session after a pause of Config.Idle: the provider's
// cache of its prompt has expired by then, so that a new prompt costs nothing more.
func (k *compactor) beforeRun(ctx context.Context, inv *session.Invocation) (plugin.Outcome, error) {
	if inv.Input != nil {
		if c, ok := inv.Input.Command(); ok && c.Name == nowCommand {
			return k.now(ctx, inv, c)
		}
	}
	if !k.idle(inv) {
		return plugin.Outcome{}, nil
	}
	out, _, err := k.compact(ctx, inv, plan.Task{Trigger: "idle", Running: true})
	return out, err
}

// now carries out the command Now. If the input has a message too, the agent answers that afterwards.
func (k *compactor) now(
	ctx context.Context,
	inv *session.Invocation,
	c session.Command,
) (plugin.Outcome, error) {
	hasMessage := inv.Input.Content != nil
	refuse := func(code, message, reason string) plugin.Outcome {
		refusal := &session.Event{ErrorCode: code, ErrorMessage: message}
		return plugin.Outcome{Emit: []*session.Event{refusal}, Reason: reason, Stop: !hasMessage}
	}

	instructions, isText := c.Args["instructions"].(string)
	if len(c.Args) > 1 || len(c.Args) == 1 && !isText {
		why := "The command " + nowCommand + " takes one argument: instructions, a text."
		return refuse("INVALID_ARGUMENT", why, why), nil
	}
	t := plan.Task{Trigger: "command", Instructions: instructions, Running: hasMessage}
	out, p, err := k.compact(ctx, inv, t)
	if err != nil {
		return out, err
	}
	if len(out.Emit) == 0 {
		return refuse("FAILED_PRECONDITION", "Not compacted: "+p.Why+".", out.Reason), nil
	}
	out.Stop = !hasMessage
	return out, nil
}

// beforeModel keeps the prompt within the budget.
func (k *compactor) beforeModel(
	ctx context.Context,
	inv *session.Invocation,
	req *model.Request,
) (plugin.Outcome, error) {
	m := k.meter(inv.Live)
	m.Cleared.Apply(req, inv.Live)
	contents, fixed := m.Request(req)
	t := plan.Task{
		Trigger:           "budget",
		Running:           true,
		Branch:            req.Branch,
		Limit:             k.Budget,
		FixedTokens:       fixed,
		AttributionTokens: max(0, contents-m.View(inv.Live, req.Branch)),
	}

	k.mu.Lock()
	k.sent[sentBy{inv.ID, req.Branch}] = contents + fixed
	k.mu.Unlock()

	fits := contents+fixed <= k.Budget
	late := k.late(ctx, inv, m, fits, k.Budget-contents-fixed+m.Heading(inv.Live)-m.Head)
	if late != nil {
		return plugin.Outcome{Emit: []*session.Event{late}, Reason: "a model's summary has come"}, nil
	}

	// A prompt that fits is compacted only if a trigger asks for a summary and the caller waits anyway.
	if fits {
		due := k.settings.Due(m, inv.Live, req.Branch)
		if !k.Foreground || due.Trigger == "" || due.Trigger == plan.TriggerClear {
			return plugin.Outcome{}, nil
		}
		t.Trigger = due.Trigger
		t.Clear = due.Clear
		t.Limit = 0
	} else if k.Clear.Trigger > 0 {
		t.Clear = contents + fixed - k.Budget + 1
	}

	// A prompt that does not fit is not sent.
	out, p, err := k.compact(ctx, inv, t)
	if err != nil || fits || len(out.Emit) > 0 {
		return out, err
	}
	refusal := &session.Event{
		Branch:       req.Branch,
		ErrorCode:    TooLong,
		ErrorMessage: k.tooLong(contents, fixed, p.Why),
	}
	return plugin.Outcome{Withhold: true, Reason: out.Reason, Emit: []*session.Event{refusal}}, nil
}

// tooLong returns the message for a prompt that does not fit: how long it is, and what the user can do.
func (k *compactor) tooLong(contents, fixed int, why string) string {
	return fmt.Sprintf(
		"The prompt is too long: %d tokens of conversation and %d of instruction and tools, and the budget is %d (not compacted: %s). "+
			"Send less at once, keep less (keep), limit what tools return, or raise budget and window to what the model takes.",
		contents,
		fixed,
		k.Budget,
		why,
	)
}

// onEvent compacts when the provider says that the prompt is too long. The event with the error is withheld
// then, and the agent asks the model again: package agent/llm does so when the new head of the live view is a
// compaction.
func (k *compactor) onEvent(
	ctx context.Context,
	inv *session.Invocation,
	e *session.Event,
) (plugin.Outcome, error) {
	if e.Partial || !overflow(e) || !k.mayRetry(inv.ID) {
		return plugin.Outcome{}, nil
	}

	// The provider counts tokens differently. So the limit is half of the view that it refused; or, if too
	// much of the view must stay for that, nine tenths.
	m := k.meter(inv.Live)
	size := m.View(inv.Live, e.Branch)
	k.mu.Lock()
	refused, known := k.sent[sentBy{inv.ID, e.Branch}]
	k.mu.Unlock()
	if !known {
		refused = size + m.Beside
	}
	for _, limit := range []int{min(k.Budget, size/2), size * 9 / 10} {
		t := plan.Task{
			Trigger: "too long",
			Running: true,
			Branch:  e.Branch,
			Limit:   limit,
			Refused: refused,
			Message: e.ErrorMessage,
		}
		out, _, err := k.compact(ctx, inv, t)
		if err != nil {
			return out, err
		}
		if len(out.Emit) > 0 {
			out.Withhold = true
			return out, nil
		}
	}
	return plugin.Outcome{}, nil
}

// meter returns the Meter for a live view.
func (k *compactor) meter(live []*session.Event) meter.Meter {
	o := meter.Options{Count: k.Count, TextOnly: k.settings.TextOnly}
	if k.Artifacts != nil {
		o.SaveFrom = k.Clear.Artifacts
	}
	return meter.New(o, live)
}

// mayRetry reports whether the plugin compacts once more because the provider says that the prompt is too
// long.
func (k *compactor) mayRetry(invocation string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.overflows[invocation]++
	return k.overflows[invocation] <= maxOverflows
}

// afterRun compacts a session that a trigger asks for.
func (k *compactor) afterRun(
	ctx context.Context,
	inv *session.Invocation,
	_ plugin.End,
) (plugin.Outcome, error) {
	k.mu.Lock()
	delete(k.overflows, inv.ID)
	maps.DeleteFunc(k.sent, func(by sentBy, _ int) bool { return by.invocation == inv.ID })
	k.mu.Unlock()
	if k.isPending(inv) || k.isLate(inv) || justRewound(inv) {
		return plugin.Outcome{}, nil
	}
	t := k.settings.Due(k.meter(inv.Live), inv.Live, "")
	if t.Trigger == "" {
		return plugin.Outcome{}, nil
	}
	t.Background = !k.Foreground
	out, _, err := k.compact(ctx, inv, t)
	if err != nil && !errors.Is(err, context.Canceled) {
		return plugin.Outcome{
			Reason: err.Error(),
		}, nil // the caller has the answer already, so nothing may fail
	}
	return out, err
}

// justRewound reports whether nothing was said since the session was rewound. What counts again then stays as
// it is until something is said.
func justRewound(inv *session.Invocation) bool {
	return inv.Frontier > 0 &&
		!slices.ContainsFunc(inv.Live, func(e *session.Event) bool { return e.Seq >= inv.Frontier })
}

// compact returns the outcome with the compaction that a task asks for, or with the reason why there is none.
// The Plan is not nil.
func (k *compactor) compact(
	ctx context.Context,
	inv *session.Invocation,
	t plan.Task,
) (plugin.Outcome, *Plan, error) {
	e, p, err := k.make(ctx, inv, t)
	if err == nil && e == nil && t.Trigger == plan.TriggerClear {
		return plugin.Outcome{}, p, nil // it is asked for after each invocation, so this is no news
	}
	k.report(ctx, inv, p, e)
	if err != nil {
		return plugin.Outcome{}, p, err
	}
	out := plugin.Outcome{Reason: p.Reason()}
	if e != nil {
		out.Emit = []*session.Event{e}
	}
	return out, p, nil
}

// Package plan decides what a compaction does to a live view: what stays, what gives way, and what is
// summarized.
//
// A new trigger: Settings.Due (task.go), and a field of Settings. A new reason for which events stay:
// stayIfNeeded (stays.go). A new way in which events give way: makeRoom (gives_way.go). Each has a reason in
// plan.go, and a step in the comment of Plan.
package plan

import (
	"fmt"
	"maps"
	"slices"

	"github.com/plughook/plughook/plugins/compaction/internal/meter"
	"github.com/plughook/plughook/session"
)

// A Plan says what a compaction would do to a live view: for each event whether the next prompt has it, and
// why. The function Make decides that, in this order, and nothing else does:
//
//  1. Events are put into groups that stay or go together: a call with its response, the question about it and the
//     answer to that.
//  2. Old results of tools are cleared (Config.Clear). If that is enough, everything stays, and that is all. It is not
//     enough for Config.Events and Config.Invocations: then it is done only if the plan is declined otherwise.
//  3. A group stays if it must: it has the message that is being answered, another branch of the running invocation is
//     working on it, it has a call that waits for an answer, a workflow's run that has not ended needs it, or no model
//     has been asked with a response in it since. A group stays, too, if Config.Keep names an event in it, or if it has
//     the first message of the session and that is short.
//  4. If the prompt has a limit, and all events fit when unseen responses and the message that is being answered are cut
//     to no less than half of the room, they are cut, everything stays, and that is all.
//  5. In groups that are older than the tail and stay for the sake of one call, the results of the other calls are
//     cleared. Then, if the groups that Config.Keep names have more than Keep.Tokens, the oldest give way: the summary
//     has their first lines. The first message stays all the same.
//  6. The latest groups stay, up to Config.Tail: the tail.
//  7. If the prompt has a limit, and what stays does not fit, more gives way, until it fits: the tail; the first
//     message; results in what stays, the largest first; what Config.Keep names, the oldest first; the arguments of
//     calls that wait for an answer, the largest first; and such calls themselves, if they are of earlier
//     invocations, the oldest first. For all that, what can be cut counts as half of the room at most. Then it is cut to
//     the room that is left beside a whole summary. What is of earlier invocations and has no room then is summarized.
//  8. What does not stay is summarized. The summary has values of what is cut, too.
//  9. If nothing is summarized or shortened, or too little is saved, the plan is declined. If the prompt has a limit,
//     it is tried first whether everything can stay and be cut.
//
// The JSON of a Plan is the answer to a dry run.
type Plan struct {
	// Trigger is what asks for the compaction: command, budget, tokens, events, invocations, idle, too long
	// or clear.
	Trigger string `json:"trigger,omitzero"`
	// ClearedNext is how many old results of tools the plugin clears at the end of the next
	// invocation, by Config.Clear and in place of a summary. Only Preview sets it.
	ClearedNext int `json:"clearedNext,omitzero"`
	// Declined is why the compaction does not happen: nothing (there is nothing to cover), gain (it would
	// save too little), busy (another one is being made), failed (no summary could be made) or late (another one was
	// made meanwhile, whose place it takes). It is "" if the compaction happens. Why says the reason in words.
	Declined string `json:"declined,omitzero"`
	Why      string `json:"why,omitzero"`
	// Through and Keep are those of session.Compaction.
	Through int64   `json:"through,omitzero"`
	Keep    []int64 `json:"-"`
	// Covered are the events that the summary stands in for, and Covers their positions. The summary before
	// it is covered too.
	Covered []*session.Event `json:"-"`
	Covers  []int64          `json:"covers,omitzero"`

	// The positions of events, by a reason in their fates: of those that stay; and of those of which the
	// prompt has results as lines, has nothing, or has the first lines in the summary.
	Stays       map[string][]int64 `json:"stays,omitempty"`
	InPart      map[string][]int64 `json:"cleared,omitempty"`
	NotShown    map[string][]int64 `json:"hidden,omitempty"`
	InFirstLine map[string][]int64 `json:"lines,omitempty"`

	// Before, Kept and Summary are tokens. Before is the prompt (the live view, where no prompt is at hand),
	// Kept what stays of it, instruction and tools included, and Summary the most that the summary may have.
	Before  int `json:"before"`
	Kept    int `json:"kept"`
	Summary int `json:"summary"`
	// Pinned are the tokens of the events that Config.Keep names.
	Pinned int `json:"pinned,omitzero"`
	// Text is the summary as it would be without a model. Added are the sentences and values that it would
	// take up, and Left those of the summary before that it would leave out. Only Preview sets them.
	Text  string   `json:"text,omitzero"`
	Added []string `json:"added,omitzero"`
	Left  []string `json:"left,omitzero"`

	// After is how many tokens the view has when the summary is made, 0 until then.
	After int `json:"-"`
	// Fates says, by position, what becomes of each event of the live view. The earlier summary is not in it.
	Fates map[int64]Fate `json:"-"`
	// Cut are the events of the groups of which a part is cut now.
	Cut []*session.Event `json:"-"`
	// Cleared are the results and arguments that are cleared now, and Hidden the calls that are hidden now.
	Cleared int `json:"-"`
	Hidden  int `json:"-"`
	// Replaced are the tokens of the view that the summary replaces, and MinGain those that the compaction
	// must save.
	Replaced int `json:"-"`
	MinGain  int `json:"-"`
	// Meter counts the prompt as the Plan makes it: what the Plan clears counts as cleared.
	Meter meter.Meter `json:"-"`
	// FirstLines are, by branch, the first lines of what Config.Keep names and does not stay.
	FirstLines map[string][]string `json:"-"`
}

// A Fate is what becomes of an event.
type Fate struct {
	Form meter.Form
	// Stays is why the event stays in the live view, "" if it does not: question (the message that is being
	// answered), branch (another branch of the invocation is working on it), open (a call waits for an
	// answer), workflow (it is of a workflow's run that has not ended, or that run's input), unseen (no model
	// has been asked with its response since), pinned (Config.Keep names it), goal (the first message of the session), tail (it is one of the latest) or room
	// (clearing old results is enough, so everything stays).
	Stays string
	// GaveWay is why the event is not whole, although it stays or would have stayed: old (Config.Clear),
	// beside (its results are not those for which the group stays), tokens (Keep.Tokens) or room (the prompt
	// is too long). It is before if an earlier compaction decided it, and "" for an event that nothing speaks
	// for.
	GaveWay string
}

// Reasons why an event stays; see Fate.Stays.
const (
	stayQuestion = "question"
	stayBranch   = "branch"
	stayOpen     = "open"
	stayWorkflow = "workflow"
	stayUnseen   = "unseen"
	stayPinned   = "pinned"
	stayGoal     = "goal"
	stayTail     = "tail"
	stayRoom     = "room"
)

// Reasons why an event is not whole; see Fate.GaveWay.
const (
	gaveOld    = "old"
	gaveBeside = "beside"
	gaveTokens = "tokens"
	gaveRoom   = "room"
	gaveBefore = "before"
)

// Reasons why a compaction does not happen; see Plan.Declined.
const (
	DeclineNothing = "nothing"
	DeclineGain    = "gain"
	DeclineBusy    = "busy"
	DeclineFailed  = "failed"
	DeclineLate    = "late"
)

// list fills in the positions of the events, by what becomes of them and why.
func (p *Plan) list() {
	p.Stays = map[string][]int64{}
	p.InPart = map[string][]int64{}
	p.NotShown = map[string][]int64{}
	p.InFirstLine = map[string][]int64{}
	byForm := map[meter.Form]map[string][]int64{
		meter.InPart:     p.InPart,
		meter.Hidden:     p.NotShown,
		meter.FirstLines: p.InFirstLine,
	}
	for _, seq := range slices.Sorted(maps.Keys(p.Fates)) {
		f := p.Fates[seq]
		if f.Stays != "" {
			p.Stays[f.Stays] = append(p.Stays[f.Stays], seq)
		}
		if by := byForm[f.Form]; by != nil {
			by[f.GaveWay] = append(by[f.GaveWay], seq)
		}
	}
}

// Clears reports whether the plan only clears: nothing is summarized.
func (p *Plan) Clears() bool { return p.Declined == "" && len(p.Covered) == 0 }

// Decline says why the compaction does not happen.
func (p *Plan) Decline(reason, format string, args ...any) {
	p.Declined = reason
	p.Why = fmt.Sprintf(format, args...)
}

// Reason returns the reason of the plugin's outcome.
func (p *Plan) Reason() string {
	if p.Declined != "" {
		return fmt.Sprintf("trigger %s: not compacted: %s", p.Trigger, p.Why)
	}
	number := func(n int, one, several string) string {
		if n == 1 {
			return "1 " + one
		}
		return fmt.Sprint(n, " ", several)
	}
	what := number(len(p.Covered), "event", "events") + " summarized"
	if p.Clears() {
		what = number(p.Cleared, "part", "parts") + " shortened"
		if p.Hidden > 0 {
			what += ", " + number(p.Hidden, "call", "calls") + " hidden"
		}
	}
	return fmt.Sprintf("trigger %s: %s, %d tokens to %d", p.Trigger, what, p.Before, p.After)
}

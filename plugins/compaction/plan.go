package compaction

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/plughook/plughook/session"
)

// A Plan says what a compaction would do to a live view.
type Plan struct {
	// Trigger is what asks for the compaction: command, budget, tokens, events, invocations, idle or too long.
	Trigger string
	// Declined is why the compaction does not happen: nothing (there is nothing to cover), gain (it would save too
	// little), busy (another one is being made) or failed (no summary could be made). It is "" if the compaction
	// happens. Why says the reason in words.
	Declined string
	Why      string
	// Through and Keep are those of session.Compaction.
	Through int64
	Keep    []int64
	// Stays says, by position, why an event stays: question (the message that is being answered), goal (the first
	// message of the session), pinned (Config.Keep names it), branch (another branch of the invocation is working on
	// it), open (a call waits for an answer), workflow (it is of a workflow's run that has not ended, or that run's input)
	// or tail (it is one of the latest).
	Stays map[int64]string
	// Covered are the events that the summary stands in for. The summary before it is covered too.
	Covered []*session.Event
	// Before, Kept and Summary are tokens. Before is the prompt (the live view, where no prompt is at hand), Kept what
	// stays of it, instruction and tools included, and Summary the most that the summary may have.
	Before, Kept, Summary int
	// After is how many tokens the view has when the summary is made, 0 until then.
	After int
	// Pinned are the tokens of the events that Config.Keep names; Shortened are those of them that the summary has the
	// first lines of, since they have more than Keep.Tokens or there is no room for them.
	Pinned    int
	Shortened []int64
	// Cleared is how many results of tools the prompt has a line in place of, of the events that stay; Hidden is how many
	// calls that wait for an answer it does not have, since there is no room for them.
	Cleared, Hidden int

	// Draft has the texts of the summaries, if the Plan is of the function Draft.
	Draft SummaryDraft

	replaced int                 // tokens of the view that the summary replaces
	minGain  int                 // tokens that the compaction must save
	meter    meter               // with what is cleared afterwards
	lines    map[string][]string // by branch: the first lines of what was kept
}

// Reasons why an event stays; see Plan.Stays.
const (
	stayQuestion = "question"
	stayGoal     = "goal"
	stayPinned   = "pinned"
	stayBranch   = "branch"
	stayOpen     = "open"
	stayWorkflow = "workflow"
	stayTail     = "tail"
)

// Reasons why a compaction does not happen; see Plan.Declined.
const (
	declineNothing = "nothing"
	declineGain    = "gain"
	declineBusy    = "busy"
	declineFailed  = "failed"
)

// A task is what a compaction is asked to do.
type task struct {
	trigger      string
	instructions string // what the summary should not leave out
	branch       string // the branch of the prompt
	running      bool   // the invocation goes on, so its question and what its other branches work on stay
	background   bool   // the summary is appended later
	offline      bool   // the Summarizer is not asked

	// refused is how many tokens the prompt had that the provider refused with a message, 0 if none was refused.
	refused int
	message string

	// limit is how many tokens the prompt may have afterwards; 0 if the compaction has to save Config.MinGain.
	limit int
	// fixedTokens are the tokens of the prompt that are not conversation: instruction and tools.
	fixedTokens int
	// attributionTokens are the tokens of the conversation that are not in the view: words about who said what, and
	// what plugins added.
	attributionTokens int
}

// decline says why the compaction does not happen.
func (p *Plan) decline(reason, format string, args ...any) {
	p.Declined = reason
	p.Why = fmt.Sprintf(format, args...)
}

// reason returns the reason of the plugin's outcome.
func (p *Plan) reason() string {
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
	if len(p.Covered) == 0 {
		what = number(p.Cleared, "result of a tool", "results of tools") + " cleared"
		if p.Hidden > 0 {
			what += ", " + number(p.Hidden, "call", "calls") + " hidden"
		}
	}
	return fmt.Sprintf("trigger %s: %s, %d tokens to %d", p.Trigger, what, p.Before, p.After)
}

// plan decides what to cover. It counts the attribution tokens as fixed first. If nothing fits then, it counts them as
// part of the events, so that they disappear with the events that are covered.
func (k *compactor) plan(m meter, inv *session.Invocation, t task) Plan {
	fixed := t
	fixed.fixedTokens += t.attributionTokens
	fixed.attributionTokens = 0
	p := k.planned(m, inv, fixed)
	if p.Declined == "" || t.attributionTokens == 0 || t.limit == 0 {
		return p
	}
	shared := k.planned(m, inv, t)
	if shared.Declined == "" {
		return shared
	}
	return p
}

func (k *compactor) planned(m meter, inv *session.Invocation, t task) Plan {
	m = m.copy()
	p := Plan{Trigger: t.trigger, meter: m}

	// Group the events that can only be covered together. The summary before, which heads the view, is always covered.
	events := inv.Live
	if len(events) > 0 && events[0].Marker() {
		events = events[1:]
	}
	groups := grouped(events)
	k.pin(m, inv, t, groups)

	// Measure the prompt of the branch. What other branches work on is not in it. Attribution tokens are spread over
	// the events by size.
	view := m.view(inv.Live, t.branch)
	size := func(g *group) int {
		return m.seen(g, t.branch) * (view + t.attributionTokens) / max(1, view)
	}
	p.Before = view + t.attributionTokens + t.fixedTokens
	pins := k.boundPins(m, &p, groups)
	room := t.limit // for the whole prompt
	summary := k.Summary
	tail := k.Tail
	p.minGain = 1
	if t.limit == 0 {
		summary, tail, p.minGain = k.sizes(p.Before)
		room = p.Before - max(1, p.minGain)
	}
	p.Kept = t.fixedTokens + m.head
	for _, g := range groups {
		if g.stays {
			p.Kept += size(g)
		}
	}

	// Keep the latest groups as the tail, newest first, until Config.Tail is used or less than half a summary's room is
	// left. The newest group stays if it takes no more than a quarter of the room, even if it is larger than
	// Config.Tail.
	latest := slices.Clone(groups)
	slices.SortStableFunc(latest, func(a, b *group) int { return int(b.newest() - a.newest()) })
	used := 0
	for _, g := range latest {
		if g.stays {
			continue
		}
		own := size(g)
		all := max(own, m.seen(g, "")) // Config.Tail counts what any branch sees
		newest := used == 0 && own <= room/4
		if used+all > tail && !newest {
			break
		}
		if p.Kept+own > room-summary/2 {
			break
		}
		used += all
		g.keep(stayTail, true)
		p.Kept += own
	}

	// If the prompt would be too long all the same, the tail and then the goal give way.
	if t.limit > 0 {
		p.Kept -= giveUp(groups, p.Kept-room, size)
	}

	// If it is too long still, the prompt gets lines in place of results, and then of more.
	if t.limit > 0 {
		k.shrink(&p, inv, t, groups, room, size)
	}
	k.shorten(&p, pins)

	// The summary gets the rest of the room.
	p.Summary = max(0, min(summary, room-p.Kept))
	p.replaced = view - m.head
	for _, g := range groups {
		if g.stays {
			p.replaced -= m.seen(g, t.branch)
		}
	}
	p.cover(inv.Live, groups)
	k.check(&p, m, inv, t, room)
	return p
}

// check declines a plan that is not worth to be carried out.
func (k *compactor) check(p *Plan, m meter, inv *session.Invocation, t task, room int) {
	heading := m.heading(inv.Live)
	minSummary := min(k.Summary, smallest/4)
	if len(p.Covered) == 0 {
		p.Kept += max(0, heading-m.head) // the summary stays
	}
	switch {
	case len(p.Covered) == 0 && t.limit > 0 && t.refused == 0 && p.Kept <= room && p.Cleared+p.Hidden > 0:
		// Clearing is enough. A prompt that the provider has refused is only sent again after a compaction.
	case len(p.Covered) == 0:
		p.decline(declineNothing, "all events stay (%d tokens); there is nothing to summarize", p.Before)
	case t.limit == 0 && p.Before <= p.minGain:
		p.decline(declineGain, "too short (%d tokens); a summary must save %d (min_gain)", p.Before, p.minGain)
	case t.limit > 0 && p.Kept > room:
		p.decline(declineGain, "the events that stay have %d tokens, and there is room for %d", p.Kept, room)
	case t.limit > 0 && !k.measureTextOnly && p.Summary < k.Summary/4 && heading > p.Summary:
		// Shortening the summary this much would lose nearly everything.
		p.decline(declineGain, "the events that stay have %d tokens; that leaves %d for the summary, which has %d now", p.Kept, p.Summary, heading)
	case t.limit == 0 && p.Summary < minSummary:
		p.decline(declineGain, "%d of %d tokens stay; a summary of the others cannot save %d (min_gain)", p.Kept, p.Before, p.minGain)
	}
}

// cover fills in what is covered: all groups that do not stay.
func (p *Plan) cover(live []*session.Event, groups []*group) {
	covered := map[int64]bool{}
	for _, g := range groups {
		if g.stays {
			continue
		}
		for _, e := range g.events {
			covered[e.Seq] = true
			p.Through = max(p.Through, e.Seq)
			p.Covered = append(p.Covered, e)
		}
	}

	// All covered events may be ones that the summary before kept. The new one has to reach as far as that one.
	if len(covered) > 0 && live[0].Marker() && live[0].Actions.Compaction != nil {
		p.Through = max(p.Through, live[0].Actions.Compaction.Through)
	}

	p.Stays = map[int64]string{}
	for _, g := range groups {
		for _, e := range g.events {
			if covered[e.Seq] {
				continue
			}
			p.Stays[e.Seq] = g.why
			if e.Seq <= p.Through {
				p.Keep = append(p.Keep, e.Seq)
			}
		}
	}
	slices.Sort(p.Keep)
	slices.SortFunc(p.Covered, func(a, b *session.Event) int { return int(a.Seq - b.Seq) })
}

// pin marks the groups that stay wherever they are in the view.
func (k *compactor) pin(m meter, inv *session.Invocation, t task, groups []*group) {
	asked := answering(inv, t)
	for _, g := range groups {
		for _, e := range g.events {
			g.keep(stayQuestion, e == asked)
			g.keep(stayPinned, k.names(e))
			g.keep(stayBranch, t.running && e.InvocationID == inv.ID && elsewhere(t.branch, e.Branch))
		}
		g.keep(stayOpen, g.open)
	}

	// The conversation of an agent that answers an open call stays with the call.
	asTools := slices.DeleteFunc(slices.Clone(groups), func(g *group) bool {
		return !slices.ContainsFunc(g.events, func(e *session.Event) bool { return strings.Contains(e.Branch, "@") })
	})
	for _, c := range session.Calls(inv.Live) {
		if c.Response != nil {
			continue
		}
		for _, g := range asTools {
			g.keep(stayOpen, slices.ContainsFunc(g.events, func(e *session.Event) bool {
				return c.Conversation(e.Branch)
			}))
		}
	}

	// A workflow goes on with what the live view has of its run, so all of that stays until the run has ended.
	unfinished := map[*session.Event]bool{}
	for _, w := range session.Nodes(inv.Live).Workflows() {
		if !w.Open() {
			continue
		}
		unfinished[w.Input] = true
		for _, e := range w.Events {
			unfinished[e] = true
		}
	}
	for _, g := range groups {
		g.keep(stayWorkflow, slices.ContainsFunc(g.events, func(e *session.Event) bool { return unfinished[e] }))
	}

	// The goal comes last: a group that has another reason to stay is not given up with the goal.
	first := firstMessage(inv.Live)
	if first == nil || m.event(first) > k.Budget/8 {
		return
	}
	for _, g := range groups {
		g.keep(stayGoal, slices.Contains(g.events, first))
	}
}

// names reports whether Config.Keep names an event.
func (k *compactor) names(e *session.Event) bool {
	if slices.Contains(k.Keep.Authors, e.Author) || slices.Contains(k.Keep.Events, e.ID) {
		return true
	}
	for _, c := range e.FunctionCalls() {
		if slices.Contains(k.Keep.Tools, c.Name) {
			return true
		}
	}
	return false
}

// answering returns the message that the running invocation answers.
func answering(inv *session.Invocation, t task) *session.Event {
	if !t.running {
		return nil
	}
	for _, e := range slices.Backward(inv.Live) {
		if e.Author == session.User && e.Content != nil && len(e.FunctionResponses()) == 0 && !e.Marker() {
			return e
		}
	}
	return nil
}

// firstMessage returns the first message of the session, nil if a summary covers it.
func firstMessage(live []*session.Event) *session.Event {
	for i, e := range live {
		switch {
		case i == 0 && e.Marker():
		case e.Author == session.User && e.Content != nil && e.Branch == "":
			return e
		case i > 0 && live[0].Marker():
			return nil
		}
	}
	return nil
}

// elsewhere reports whether a branch is beside own: neither above nor below it. An agent that runs others in branches
// below its own waits for them before it calls its model, so nothing below is in work at that time.
func elsewhere(own, branch string) bool {
	if own == "" || branch == "" || own == branch {
		return false
	}
	return !strings.HasPrefix(own, branch+".") && !strings.HasPrefix(branch, own+".")
}

// A group is events that are covered together or not at all: one event, or calls with their responses, the questions
// about them and the answers to those; in the form of other kits too.
type group struct {
	events []*session.Event
	open   bool // a call in it has no response that counts
	stays  bool
	why    string // the reason why it stays
	pinned int    // tokens of what Config.Keep names in it
}

// grouped returns the groups of events, in the order of their first events.
func grouped(events []*session.Event) []*group {
	of := make(map[*session.Event]*group, len(events))
	for _, e := range events {
		of[e] = &group{events: []*session.Event{e}}
	}
	calls := session.Calls(events)
	kits := answers(events, calls)
	for i, c := range calls {
		own := of[c.Event]
		own.open = own.open || c.Response == nil || kits[i].open
		related := append([]*session.Event{c.Response, c.Deferred, c.Held, c.Decision}, kits[i].related...)
		for _, e := range related {
			other := of[e]
			if other == nil || other == own {
				continue
			}
			own.events = append(own.events, other.events...)
			own.open = own.open || other.open
			for _, e := range other.events {
				of[e] = own
			}
		}
	}
	var groups []*group
	seen := map[*group]bool{}
	for _, e := range events {
		g := of[e]
		if !seen[g] {
			seen[g] = true
			groups = append(groups, g)
		}
	}
	return groups
}

// keep makes the group stay for a reason, if stays is true. The first reason counts; but a pin may give way, so every other
// reason that may not counts before it.
func (g *group) keep(why string, stays bool) {
	overPin := g.why == stayPinned && why != stayGoal && why != stayTail
	if stays && (!g.stays || overPin) {
		g.stays = true
		g.why = why
	}
}

// newest returns the position of the group's last event.
func (g *group) newest() (seq int64) {
	for _, e := range g.events {
		seq = max(seq, e.Seq)
	}
	return seq
}

// giveUp makes groups stay no longer, as far as the prompt needs it: the tail, and then the goal. It stops when something
// is covered and the tokens given up are at least over. It returns how many those are.
func giveUp(groups []*group, over int, size func(*group) int) (tokens int) {
	for _, why := range []string{stayTail, stayGoal} {
		somethingCovered := slices.ContainsFunc(groups, func(g *group) bool { return !g.stays })
		if tokens >= over && somethingCovered {
			return tokens
		}
		for _, g := range groups {
			if g.why == why {
				g.stays = false
				g.why = ""
				tokens += size(g)
			}
		}
	}
	return tokens
}

// boundPins makes the oldest of the groups that Config.Keep names stay no longer, until the others have at most Keep.Tokens.
// Of older groups that stay for the sake of one call, it clears the results of the other calls. It returns the groups that
// were named, the oldest first.
func (k *compactor) boundPins(m meter, p *Plan, groups []*group) (pins []*group) {
	tail := k.tailFrom(m, groups)
	for _, g := range groups {
		if g.why != stayPinned && g.why != stayOpen {
			continue
		}
		others := k.others(m, g)
		if g.newest() < tail {
			p.clear(m, others...)
			others = nil
		}
		if g.why != stayPinned {
			continue
		}
		g.pinned = m.seen(g, "")
		for _, r := range others {
			g.pinned -= r.gain
		}
		p.Pinned += g.pinned
		pins = append(pins, g)
	}
	slices.SortStableFunc(pins, oldestFirst)
	left := p.Pinned
	for _, g := range pins {
		if left <= k.Keep.Tokens {
			break
		}
		left -= g.pinned
		g.giveWay()
	}
	return pins
}

func oldestFirst(a, b *group) int { return cmp.Compare(a.newest(), b.newest()) }

// tailFrom returns the position from which on the latest events have at most Config.Tail tokens.
func (k *compactor) tailFrom(m meter, groups []*group) int64 {
	latest := slices.Clone(groups)
	slices.SortStableFunc(latest, func(a, b *group) int { return oldestFirst(b, a) })
	from := int64(math.MaxInt64)
	used := 0
	for _, g := range latest {
		used += m.seen(g, "")
		if used > k.Tail {
			break
		}
		from = g.newest()
	}
	return from
}

// others returns the results in a group that can be cleared: all but those of calls that Config.Keep names.
func (k *compactor) others(m meter, g *group) (list []result) {
	for _, e := range g.events {
		if e.Content == nil || slices.Contains(k.Keep.Authors, e.Author) || slices.Contains(k.Keep.Events, e.ID) {
			continue
		}
		for i, part := range e.Content.Parts {
			if part == nil || part.FunctionResponse == nil || slices.Contains(k.Keep.Tools, part.FunctionResponse.Name) {
				continue
			}
			if r, ok := m.clearable(e, i, smallest/4); ok {
				list = append(list, r)
			}
		}
	}
	return list
}

// clear notes that results are cleared.
func (p *Plan) clear(m meter, results ...result) {
	m.clear(results...)
	p.Cleared += len(results)
}

// giveWay makes a group stay no longer.
func (g *group) giveWay() {
	g.stays = false
	g.why = ""
}

// shrink makes what stays fit into the room: results become lines, the largest first; then pins give way, the oldest first;
// then the arguments of open calls become lines; then open calls of earlier invocations are hidden, the oldest first.
func (k *compactor) shrink(p *Plan, inv *session.Invocation, t task, groups []*group, room int, size func(*group) int) {
	m := p.meter
	if !k.measureTextOnly {
		// The summary needs room too: if nothing is covered, the one before stays as it is.
		heading := m.heading(inv.Live)
		if slices.ContainsFunc(groups, func(g *group) bool { return !g.stays }) {
			heading = min(heading, k.Summary/4)
		}
		room -= heading
	}
	of := map[*session.Event]*group{}
	for _, g := range groups {
		for _, e := range g.events {
			of[e] = g
		}
	}
	change := func(g *group, do func()) {
		if g.stays {
			p.Kept -= size(g)
		}
		do()
		if g.stays {
			p.Kept += size(g)
		}
	}
	clear := func(results []result) {
		slices.SortStableFunc(results, func(a, b result) int { return cmp.Compare(b.gain, a.gain) })
		for _, r := range results {
			if p.Kept <= room {
				return
			}
			change(of[r.event], func() { p.clear(m, r) })
		}
	}
	oldest := slices.Clone(groups)
	slices.SortStableFunc(oldest, oldestFirst)

	// Lines in place of results. Then pins give way.
	if p.Kept > room {
		var results []result
		for _, g := range groups {
			if g.stays {
				results = append(results, k.others(m, g)...)
			}
		}
		clear(results)
	}
	for _, g := range oldest {
		if p.Kept > room && g.why == stayPinned {
			change(g, g.giveWay)
		}
	}

	// Lines in place of arguments, and then nothing in place of open calls. These leave room for the whole summary, and for
	// what comes next: else the next prompt would have to be made smaller again.
	if !k.measureTextOnly {
		room = min(room, t.limit-k.Summary-k.MinGain)
	}
	if p.Kept <= room {
		return
	}
	var arguments []result
	for _, g := range groups {
		if g.stays && g.open {
			arguments = append(arguments, m.arguments(g)...)
		}
	}
	clear(arguments)
	for _, g := range oldest {
		if p.Kept <= room {
			return
		}
		own := slices.ContainsFunc(g.events, func(e *session.Event) bool { return e.InvocationID == inv.ID })
		if g.why != stayOpen || !g.open || own { // what is not open is the conversation in which an agent answers a call
			continue
		}
		change(g, func() { p.hide(m, g) })
	}
}

// hide notes that a group's calls are not shown.
func (p *Plan) hide(m meter, g *group) {
	for _, e := range g.events {
		calls := len(e.FunctionCalls())
		responses := len(e.FunctionResponses()) // they are shown with their calls
		if calls+responses > 0 && !m.cleared.hidden[e.Seq] {
			m.cleared.hidden[e.Seq] = true
			delete(m.of, e)
			p.Hidden += calls
		}
	}
}

// arguments returns the arguments of a group's calls that can be cleared. A part with a signature must not be changed.
func (m *meter) arguments(g *group) (list []result) {
	for _, e := range g.events {
		if e.Content == nil {
			continue
		}
		for i, part := range e.Content.Parts {
			if part == nil || part.FunctionCall == nil || len(part.ThoughtSignature) > 0 {
				continue
			}
			if r, ok := m.clearable(e, i, smallest/4); ok {
				list = append(list, r)
			}
		}
	}
	return list
}

// shorten notes the first lines of the groups that were kept and do not stay.
func (k *compactor) shorten(p *Plan, pins []*group) {
	p.lines = map[string][]string{}
	for _, g := range pins {
		if g.stays {
			continue
		}
		for _, e := range g.events {
			p.Shortened = append(p.Shortened, e.Seq)
		}
		branch := g.events[0].Branch
		p.lines[branch] = append(p.lines[branch], k.firstLines(g))
	}
	slices.Sort(p.Shortened)
}

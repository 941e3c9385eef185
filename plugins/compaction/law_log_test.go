package compaction_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// laws compares what the store says of the session with the model, and holds every new event to the laws.
func (w *world) laws() {
	w.Helper()
	turn, err := w.store.Lease(context.Background(), w.key, "") // nobody appends in between
	w.must(err)
	s, err := w.store.Get(context.Background(), w.key)
	w.must(err)
	fresh, live := w.read(session.Selection{After: int64(len(w.written))}), w.read(session.Selection{Live: true})
	turn.Release()
	for _, e := range fresh {
		line := asJSON(e)
		w.written = append(w.written, line)
		if strings.Contains(line, "SECRET") || strings.Contains(line, "LEAKED") {
			w.Fatalf("event %d has in it what was taken out: %s", e.Seq, line)
		}
		w.naive.add(e)
		switch {
		case e.Actions.Compaction != nil && e.Marker():
			if w.rewound[e.InvocationID] && e.Author == session.PluginPrefix+compaction.Name {
				w.Fatalf("the run %s has rewound the session, and then the compaction at %d",
					e.InvocationID, e.Seq)
			}
			w.compacted(e)
		case e.ErrorCode == compaction.TooLong:
			w.tooLong(e)
		case e.Actions.Rewind != nil:
			w.rewound[e.InvocationID] = true
			w.note("rewound")
		}
	}
	if err := w.naive.differs(s, live); err != nil {
		w.Fatalf("%v", err)
	}
	w.actor.mu.Lock()
	defer w.actor.mu.Unlock()
	if len(w.actor.wrong) > 0 {
		w.Fatalf("%s", strings.Join(w.actor.wrong, "\n"))
	}
}

func asJSON(e *session.Event) string {
	data, err := json.Marshal(e)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// compacted holds a compaction to the laws. Nothing is said of what another plugin writes into its own.
func (w *world) compacted(e *session.Event) {
	w.Helper()
	before := w.naive.views[e.Seq-1]
	live := w.naive.events(before)
	fresh, prior := w.naive.covered(e.Seq)
	wrong := func(format string, args ...any) {
		w.Helper()
		w.Fatalf("the compaction at %d, which covers %v of %v: %s\n%s", e.Seq, fresh, seqs(live),
			fmt.Sprintf(format, args...), asJSON(e))
	}
	if len(fresh) == 0 && (prior == 0 || w.naive.log[prior-1].Actions.Compaction.Through != e.Actions.Compaction.Through) {
		wrong("it covers nothing new")
	}
	if e.Actions.Compaction.Frontier != before.frontier {
		wrong("it knew another frontier")
	}
	covered := map[int64]bool{}
	for _, seq := range fresh {
		covered[seq] = true
	}
	for _, c := range session.Calls(live) {
		switch {
		case c.Response == nil && covered[c.Event.Seq]:
			wrong("it covers the call %q at %d, which is open", c.ID, c.Event.Seq)
		case c.Response != nil && covered[c.Event.Seq] != covered[c.Response.Seq]:
			wrong("it covers only one of the call %q at %d and its response at %d", c.ID,
				c.Event.Seq, c.Response.Seq)
		}
	}
	if e.Author != session.PluginPrefix+compaction.Name {
		w.note("compaction of another plugin")
		return
	}
	isLate := noteOn(e)["trigger"] == "late"
	if isLate != (len(fresh) == 0) {
		wrong("it covers %d new events", len(fresh))
	}
	waits := func(live []*session.Event) (calls []string) {
		for _, c := range session.Calls(live) {
			if c.Waits() {
				calls = append(calls, fmt.Sprintf("%s at %d", c.ID, c.Event.Seq))
			}
		}
		slices.Sort(calls)
		return calls
	}
	if was, is := waits(live), waits(w.naive.events(w.naive.views[e.Seq])); !slices.Equal(was, is) {
		wrong("the calls %v wait, and then %v", was, is)
	}
	// What is kept stays, unless it has more tokens than it may have, or the prompt has no room for it.
	trigger, _ := noteOn(e)["trigger"].(string)
	pins := map[*session.Event]bool{}
	for _, c := range session.Calls(live) {
		for _, of := range []*session.Event{c.Event, c.Response} {
			pins[of] = pins[of] || of != nil && slices.Contains(w.config.Keep.Tools, c.Name)
		}
	}
	together := map[*session.Event]bool{} // with what goes with them
	for _, event := range live {
		pins[event] = pins[event] || slices.Contains(w.config.Keep.Events, event.ID)
		together[event] = pins[event]
	}
	for _, c := range session.Calls(live) {
		for _, of := range []*session.Event{c.Response, c.Deferred, c.Held, c.Decision} {
			together[of] = together[of] || together[c.Event]
		}
	}
	kept := 0
	for event, is := range together {
		if is && event != nil && event.Content != nil {
			kept += tokens(event.Content)
		}
	}
	noRoom := kept > w.config.Keep.Tokens || trigger == "budget" || trigger == "too long"
	for _, event := range live {
		if pins[event] && covered[event.Seq] && !noRoom {
			wrong("it covers the pinned event at %d, and all have %d tokens", event.Seq, kept)
		}
	}
	if isLate {
		w.instead(e, wrong)
		return
	}
	w.gained(e, wrong)
	if w.config.Summarizer != nil && author(e) == "teller" {
		w.toldAll(e, fresh, prior, wrong)
	}
}

// instead holds a summary that takes the place of one that was written without a model: the model has seen only
// what is behind it, and its words are in it.
func (w *world) instead(e *session.Event, wrong func(string, ...any)) {
	w.Helper()
	w.note("a late summary")
	by := author(w.naive.log[w.naive.views[e.Seq-1].head-1])
	if author(e) != "teller" || by != "offline" {
		wrong("it is by %q in place of one by %q", author(e), by)
	}
	raw := w.naive.now().raw
	for branch, text := range sectionsOf(e.Actions.Compaction) {
		_, seen, _ := seenIn(text)
		if i := slices.IndexFunc(seen, func(seq int64) bool { return slices.Contains(raw, seq) }); i >= 0 {
			wrong("the summarizer was shown event %d of branch %q, which stays", seen[i], branch)
		}
	}
}

// noteOn returns what a compaction's event says of itself.
func noteOn(e *session.Event) map[string]any {
	n, _ := e.CustomMetadata["compaction"].(map[string]any)
	return n
}

func author(e *session.Event) string { s, _ := noteOn(e)["by"].(string); return s }

// gained holds a compaction to its minimum gain: by its own count, and by that of the view.
func (w *world) gained(e *session.Event, wrong func(string, ...any)) {
	n := noteOn(e)
	trigger, _ := n["trigger"].(string)
	least := w.config.MinGain
	if trigger == "budget" ||
		trigger == "too long" { // what is at stake is that the model can be asked at all
		least = 1
	}
	if gain := int(n["before"].(float64) - n["after"].(float64)); gain < least {
		wrong("by its note it gains %d", gain)
	}
	was := viewTokens(w, w.config, w.naive.events(w.naive.views[e.Seq-1]))
	is := viewTokens(w, w.config, w.naive.events(w.naive.views[e.Seq]))
	if w.shape == "solo" && was-is < least {
		wrong("the view had %d tokens and has %d", was, is)
	}
	w.note("compaction: %s by %s", trigger, author(e))
}

// toldAll compares what the summarizer was shown, by the summary's own words, with what the compaction
// covers: each section what was said in its branch, and no more. Calls of an agent as a tool leave
// nothing behind.
func (w *world) toldAll(e *session.Event, fresh []int64, prior int64, wrong func(string, ...any)) {
	c := e.Actions.Compaction
	want := map[string]map[int64]bool{}
	of := func(branch string) map[int64]bool {
		if want[branch] == nil {
			want[branch] = map[int64]bool{}
		}
		return want[branch]
	}
	of("")
	for _, seq := range fresh {
		if branch := w.naive.log[seq-1].Branch; !strings.Contains(branch, "@") {
			of(branch)[seq] = true
		}
	}
	told := map[string]int{}
	if prior != 0 {
		for branch, text := range sectionsOf(w.naive.log[prior-1].Actions.Compaction) {
			if text == "" && want[branch] == nil { // nothing is left of it
				continue
			}
			section := of(branch)
			request, seen, _ := seenIn(text)
			told[branch] = request
			for _, seq := range seen {
				section[seq] = true
			}
		}
	}
	got := sectionsOf(c)
	if !slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want))) {
		wrong("it has sections of %q, want %q", slices.Sorted(maps.Keys(got)),
			slices.Sorted(maps.Keys(want)))
	}
	for branch, text := range got {
		request, seen, _ := seenIn(text)
		if request <= told[branch] {
			w.note("section offline")
			continue
		}
		w.note("section by the summarizer")
		if wanted := slices.Sorted(maps.Keys(want[branch])); !slices.Equal(seen, wanted) {
			wrong("the summarizer was shown %v of branch %q, want %v", seen, branch, wanted)
		}
	}
}

func sectionsOf(c *session.Compaction) map[string]string {
	all := map[string]string{}
	if c.Content == nil {
		return all
	}
	for i, p := range c.Content.Parts {
		branch := ""
		if i < len(c.Branches) {
			branch = c.Branches[i]
		}
		all[branch] += p.Text
	}
	return all
}

// unchanged compares the whole log with what was appended.
func (w *world) unchanged() {
	w.Helper()
	for _, e := range w.read(session.Selection{}) {
		if line := asJSON(e); line != w.written[e.Seq-1] {
			w.Fatalf("event %d has changed after it was appended:\n  was %s\n  is %s", e.Seq,
				w.written[e.Seq-1], line)
		}
	}
}

// copied exports the session, imports it elsewhere, and compares.
func (w *world) copied() {
	w.Helper()
	var file bytes.Buffer
	w.must(session.Export(context.Background(), w.store, w.key, &file))
	other := memory.New()
	defer other.Close()
	for rec, err := range session.ReadRecordings("law.jsonl", &file) {
		w.must(err)
		w.must(session.Import(context.Background(), other, rec))
	}
	s, err := other.Get(context.Background(), w.key)
	w.must(err)
	var live []*session.Event
	for e, err := range other.Read(context.Background(), w.key, session.Selection{Live: true}) {
		w.must(err)
		live = append(live, e)
	}
	if err := w.naive.differs(s, live); err != nil {
		w.Fatalf("after a reload from a file: %v", err)
	}
	for _, e := range live {
		if got := asJSON(e); got != w.written[e.Seq-1] {
			w.Fatalf("event %d after a reload from a file is\n%s\nwas\n%s", e.Seq, got,
				w.written[e.Seq-1])
		}
	}
}

// tooLong holds a refusal to ask the model to its reason: what must stay of what its agent sees does not fit.
func (w *world) tooLong(e *session.Event) {
	w.Helper()
	w.note("too long")
	if strings.Contains(e.Branch, "@") || w.forged {
		return // a conversation that answers a call stays as long as the call is open
	}
	live := w.naive.events(w.naive.views[e.Seq-1])
	if must := w.mustStay(live, e); must+60+30 <= w.config.Budget {
		w.Fatalf(
			"the model of branch %q was not asked at %d, though what must stay has %d tokens and the budget is %d: %s\nlive: %v",
			e.Branch,
			e.Seq,
			must,
			w.config.Budget,
			e.ErrorMessage,
			brief(live),
		)
	}
}

// brief tells events in a line each.
func brief(events []*session.Event) string {
	var b strings.Builder
	for _, e := range events {
		content := e.Content
		if e.Marker() && e.Actions.Compaction != nil {
			content = e.Actions.Compaction.Content
		}
		n := 0
		if content != nil {
			n = tokens(content)
		}
		fmt.Fprintf(&b, "\n%d %s %q: %d tokens, calls %d, responses %d", e.Seq, e.Author, e.Branch,
			n, len(e.FunctionCalls()), len(e.FunctionResponses()))
	}
	return b.String()
}

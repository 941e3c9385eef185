// Package timeline tells a session's log to people: turns, with a row for each thing that happened in them, and what plugins
// decided about it. It is a function of the events, and of the hook calls that were kept. It holds no rule: what counts, what
// a call waits for and what a denial is, package session and the plugins say.
//
// Another kind of row: row.describe. Another word for a decision: row.decide.
package timeline

import (
	"time"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/prices"
	"github.com/plughook/plughook/server/internal/page/visible"
	"github.com/plughook/plughook/session"
)

// A Log is what a timeline is made of.
type Log struct {
	Key session.Key
	// Events are those of a part of the log, in order, and Status says what has become of each.
	Events []*session.Event
	Status func(*session.Event) session.EventStatus
	// Kept are the events that stay as they are beside the summary that heads the live view.
	Kept   map[int64]bool
	Hooks  []session.HookRecord
	Prices *prices.Table
}

// A Turn is what one invocation has left in that part of the log.
type Turn struct {
	Number     int // among the turns that are shown
	Invocation string
	Title      []visible.Piece
	Rows       []*Row
	Begin      time.Time
	Took       time.Duration
	Share      int // of the slowest turn's time, in percent
	Sums
	Tags         []Tag
	Behind, Void int64 // where all of its rows are
	Open         bool  // unfolded at first
}

// Sums are tokens and what they cost.
type Sums struct {
	Prompt, Cached, Output int64
	Cost                   float64
	Unpriced               bool // tokens of a model without a price are among them
}

// Tokens is the sum of prompts and answers.
func (s Sums) Tokens() int64 { return s.Prompt + s.Output }

// Add adds the tokens of an event.
func (s *Sums) Add(e *session.Event, table *prices.Table) {
	u := e.UsageMetadata
	if u == nil {
		return
	}
	s.Prompt += int64(u.PromptTokenCount) + int64(u.ToolUsePromptTokenCount)
	s.Cached += int64(u.CachedContentTokenCount)
	s.Output += int64(u.CandidatesTokenCount) + int64(u.ThoughtsTokenCount)
	cost, known := table.Cost(e.ModelVersion, u)
	s.Cost += cost
	s.Unpriced = s.Unpriced || !known
}

// Plus adds other sums.
func (s *Sums) Plus(o Sums) {
	s.Prompt += o.Prompt
	s.Cached += o.Cached
	s.Output += o.Output
	s.Cost += o.Cost
	s.Unpriced = s.Unpriced || o.Unpriced
}

// A Row is one thing that happened: an event, a call with its response, or a message that is not in the log.
type Row struct {
	Seq, Last int64 // of its first and its last event; 0 if the log does not have it
	ID        string
	Who       string
	Class     string // of its colour and style: change, deny, wait, error; user
	What      What
	Tags      []Tag
	Status    session.EventStatus
	Events    []*session.Event
	Hooks     []session.HookRecord // the calls about its events
	Took      time.Duration
	Bars      []Bar
	Sums
	Open bool

	// Instead is, for a message that the log does not have, the position of the first event in its place.
	Instead int64

	log *Log
}

// What says on a line what happened.
type What struct {
	Code   string          // the name of a tool
	Args   []visible.Piece // what it is called with
	Arrow  bool            // a response follows
	Text   []visible.Piece
	Struck bool
}

// A Bar is a part of a turn's time, in percent of the turn.
type Bar struct {
	Kind     string // model, tool, held
	X, Width float64
}

// A Tag is a word about a decision, or about what has become of a row.
type Tag struct {
	Kind string // change, deny, wait, error or plain
	Word string
	Rule string // or what else is behind the word
	Link string
}

// New returns the turns of a log.
func New(l Log) []*Turn {
	about := map[string][]session.HookRecord{}
	for _, h := range l.Hooks {
		if h.Event != "" {
			about[h.Invocation+" "+h.Event] = append(about[h.Invocation+" "+h.Event], h)
		}
	}
	var turns []*Turn
	var turn *Turn
	for i := 0; i < len(l.Events); {
		e := l.Events[i]
		if turn == nil || turn.Invocation != e.InvocationID {
			turn = &Turn{Number: len(turns) + 1, Invocation: e.InvocationID, Begin: e.Timestamp}
			turns = append(turns, turn)
		}
		if r := l.withheld(e, about); r != nil {
			turn.Rows = append(turn.Rows, r)
		}
		n := pairs(l.Events[i:])
		r := &Row{log: &l, Events: l.Events[i : i+n], Seq: e.Seq, Last: l.Events[i+n-1].Seq, ID: e.ID, Status: l.Status(e)}
		for _, e := range r.Events {
			r.Hooks = append(r.Hooks, about[e.InvocationID+" "+e.ID]...)
			r.Add(e, l.Prices)
		}
		r.describe()
		r.decide()
		turn.Rows = append(turn.Rows, r)
		i += n
	}
	var slowest time.Duration
	for _, t := range turns {
		t.close()
		slowest = max(slowest, t.Took)
	}
	for i, t := range turns {
		if slowest > 0 {
			t.Share = max(1, int(100*t.Took/slowest))
		}
		t.Open = i == len(turns)-1 || t.waits() || len(turns) <= 20 && t.Behind == 0 && t.Void == 0 || t.decided() && t.Behind == 0
	}
	return turns
}

// withheld returns the row of an input that the log does not have, nil if the event is in nobody's place.
func (l *Log) withheld(e *session.Event, about map[string][]session.HookRecord) *Row {
	note := plugin.NotesOf(e).Input
	if note == nil {
		return nil
	}
	text := "a message, withheld"
	if e.ErrorCode != session.Denied {
		text = "a message, not kept"
	}
	r := &Row{
		log:    l,
		ID:     note.ID,
		Who:    l.Key.User,
		What:   What{Text: []visible.Piece{{Text: text, Kind: "gone"}}},
		Hooks:  about[e.InvocationID+" "+note.ID],
		Status: l.Status(e),
		Class:  "user",

		Instead: e.Seq,
	}
	if e.ErrorCode == session.Denied {
		r.Class = "deny user"
		r.Tags = []Tag{deniedTag(e)}
	}
	r.Took = tookOf(r.Hooks)
	return r
}

// pairs returns how many events at the beginning are one row: a call and what comes of it at once.
func pairs(events []*session.Event) int {
	calls := events[0].FunctionCalls()
	if len(calls) == 0 || len(events) == 1 || events[0].InvocationID != events[1].InvocationID {
		return 1
	}
	next := events[1]
	for _, r := range next.FunctionResponses() {
		for _, c := range calls {
			if c.ID == r.ID && c.Name == r.Name {
				return 2
			}
		}
	}
	for id := range next.Actions.RequestedToolConfirmations {
		for _, c := range calls {
			if c.ID == id && next.Author != session.User {
				return 2
			}
		}
	}
	return 1
}

// close sums up a turn whose rows are all there, and draws its time.
func (t *Turn) close() {
	for i, r := range t.Rows {
		t.Plus(r.Sums)
		if i == 0 {
			t.Behind = r.Status.Behind
			t.Void = r.Status.Void
			t.Title = r.What.title()
		}
		if r.Status.Behind != t.Behind {
			t.Behind = 0
		}
		if r.Status.Void != t.Void {
			t.Void = 0
		}
	}
	t.draw()
	t.Tags = t.tags()
	for _, r := range t.Rows {
		r.Tags = append(r.Tags, t.statusTags(r)...)
	}
}

// draw gives each row its time: that since the event before it is the model's, or the tool's.
func (t *Turn) draw() {
	var last time.Time
	for _, r := range t.Rows {
		for _, e := range r.Events {
			if e.Timestamp.After(last) && e.Actions.Compaction == nil {
				last = e.Timestamp
			}
		}
	}
	if last.After(t.Begin) && !t.Begin.IsZero() {
		t.Took = last.Sub(t.Begin)
	}
	before := t.Begin
	for _, r := range t.Rows {
		for i, e := range r.Events {
			kind := "model"
			if i > 0 || len(e.FunctionResponses()) > 0 {
				kind = "tool"
			}
			if e.FromAgent() && e.Timestamp.After(before) && t.Took > 0 {
				r.Took += e.Timestamp.Sub(before)
				r.Bars = append(r.Bars, Bar{
					Kind:  kind,
					X:     100 * float64(before.Sub(t.Begin)) / float64(t.Took),
					Width: 100 * float64(e.Timestamp.Sub(before)) / float64(t.Took),
				})
			}
			if e.Timestamp.After(before) {
				before = e.Timestamp
			}
		}
		if r.Took == 0 {
			r.Took = tookOf(r.Hooks)
		}
	}
}

// tookOf returns how long the hook took that decided.
func tookOf(hooks []session.HookRecord) (took time.Duration) {
	for _, h := range hooks {
		if len(h.Did) > 0 && h.Did[0] != "noted" {
			took = max(took, h.Took())
		}
	}
	return took
}

func (t *Turn) waits() bool {
	for _, r := range t.Rows {
		if r.Class == "wait" && r.Status.Live {
			return true
		}
	}
	return false
}

func (t *Turn) decided() bool {
	for _, r := range t.Rows {
		if r.Decided() {
			return true
		}
	}
	return false
}

// Decided reports whether a plugin has decided something about the row, or something failed.
func (r *Row) Decided() bool {
	for _, tag := range r.Tags {
		if tag.Kind != "plain" {
			return true
		}
	}
	return false
}

package compaction

import (
	"encoding/json"
	"maps"
	"math"
	"slices"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/session"
)

// A meter counts the tokens of a session as its model does, as far as the model's reports (usageMetadata) tell. What it
// returns is comparable with the limits in Config.
type meter struct {
	count  func(*genai.Content) int // estimates the tokens of a content
	factor float64                  // what an estimated token counts: reported times scale
	beside int                      // what the model is sent beyond the view, such as instruction and tools

	reported float64 // how many tokens the model reported for each estimated one
	scale    float64 // what else was learned from prompts that the provider refused; see lesson
	lessons  int     // how many such prompts there were
	head     int     // the estimated tokens of the words that a prompt puts around a summary

	of map[*session.Event]int // the estimates that were made already

	cleared  cleared
	saveFrom int // from how many tokens on a result that is cleared is saved as an artifact, 0 for never
}

const (
	headTokens = 40 // the words that a prompt puts around a summary: builder.summary in agent/llm/contents.go
	minSteps   = 3  // how many steps from one report to the next are needed to compute reported
)

// meter returns the meter for a live view. If Config.Count is not set, the model's reports in the view correct the
// estimate. From one report to the next, the reported tokens and the estimated ones both grow: their ratio is one
// measurement. The median of these counts, since some steps are not only about the conversation: another agent has another
// instruction, or a tool is added. The last report tells what is beside the view.
func (k *compactor) meter(live []*session.Event) meter {
	m := meter{
		count:    k.Count,
		factor:   1,
		reported: 1,
		scale:    1,
		head:     headTokens,
		of:       make(map[*session.Event]int, len(live)),
		cleared:  clearedIn(live),
	}
	if k.measureTextOnly {
		m.head = 0
	}
	if k.Artifacts != nil {
		m.saveFrom = k.Clear.Artifacts
	}
	if m.count != nil {
		return m
	}
	m.count = Tokens
	beside := 0
	if n := headNote(live); n != nil {
		if n.Factor > 0 {
			m.reported = clamp(n.Factor)
			beside = max(0, n.Beside)
		}
		if n.Lessons > 0 {
			m.lessons = n.Lessons
			m.scale = math.Min(maxScale, math.Max(1, n.Scale))
		}
	}

	// Follow the reports. Each is about a prompt before all was cleared that is cleared now.
	type report struct{ counted, reported int }
	var last report
	var steps []float64
	before := m.unclearedIn(live)
	counted := 0 // the estimate of the prompt that an event answers
	for i, e := range live {
		counted += before.note(e)
		u := e.UsageMetadata
		isReport := u != nil && u.PromptTokenCount > 0 && !e.Marker() && e.Branch == ""
		afterHead := i == 0 || e.Seq > live[0].Seq // the model saw the summary that heads the view
		if isReport && afterHead {
			now := report{counted: counted, reported: int(u.PromptTokenCount)}
			step := now.counted - last.counted
			if last.reported > 0 && step >= smallest {
				steps = append(steps, float64(now.reported-last.reported)/float64(step))
			}
			last = now
		}
		if agent.Sees("", e.Branch) {
			counted += before.add(e)
		}
	}
	if len(steps) >= minSteps {
		slices.Sort(steps)
		m.reported = clamp(steps[len(steps)/2])
	}
	if last.reported > 0 {
		beside = max(0, last.reported-int(m.reported*float64(last.counted)))
	}
	m.factor = m.reported * m.scale
	m.beside = int(float64(beside) * m.scale)
	return m
}

// An uncleared estimates a prompt as it was when an event was appended. Since then, more parts may have been cleared. It
// goes through the events in their order.
type uncleared struct {
	*meter
	then    cleared                  // what is cleared up to an event
	changes map[int64]bool           // the positions of the events that are cleared in part, or hidden, at the end
	events  map[int64]*session.Event // those of these that came so far
	counted map[int64]int            // the estimates of these
}

// unclearedIn returns an uncleared for a live view, before its first event.
func (m *meter) unclearedIn(live []*session.Event) *uncleared {
	u := &uncleared{
		meter:   m,
		then:    cleared{parts: map[place]bool{}, hidden: map[int64]bool{}, saved: m.cleared.saved},
		changes: map[int64]bool{},
		counted: map[int64]int{},
		events:  map[int64]*session.Event{},
	}
	for p := range m.cleared.parts {
		u.changes[p.seq] = true
	}
	for seq := range m.cleared.hidden {
		u.changes[seq] = true
	}
	return u
}

// add takes in an event, and returns the estimate of it.
func (u *uncleared) add(e *session.Event) int {
	if !u.changes[e.Seq] || e.Content == nil {
		return u.unscaled(e)
	}
	u.events[e.Seq] = e
	u.counted[e.Seq] = u.shownAs(u.then, e)
	return u.counted[e.Seq]
}

// note takes in what an event clears, and returns by how much the estimate of the events before it grows, which is negative
// as a rule.
func (u *uncleared) note(e *session.Event) (growth int) {
	n := noteOf(e)
	if n == nil {
		return 0
	}
	changed := map[int64]bool{}
	for _, p := range n.Cleared {
		at := place{seq: p[0], part: int(p[1])}
		if !u.then.parts[at] {
			u.then.parts[at] = true
			changed[at.seq] = true
		}
	}
	for _, seq := range n.Hidden {
		if !u.then.hidden[seq] && u.cleared.hidden[seq] {
			u.then.hidden[seq] = true
			changed[seq] = true
		}
	}
	for seq := range changed {
		event := u.events[seq]
		if event != nil {
			now := u.shownAs(u.then, event)
			growth += now - u.counted[seq]
			u.counted[seq] = now
		}
	}
	return growth
}

// clamp bounds the ratio of reported and estimated tokens. A report that is further off must count something else.
func clamp(f float64) float64 { return math.Min(2, math.Max(0.5, f)) }

// copy returns a meter whose cleared parts can be changed without changing those of m.
func (m *meter) copy() meter {
	c := *m
	c.of = maps.Clone(m.of)
	c.cleared = cleared{
		parts:  maps.Clone(m.cleared.parts),
		hidden: maps.Clone(m.cleared.hidden),
		saved:  maps.Clone(m.cleared.saved),
	}
	return c
}

// content returns the tokens of a content.
func (m *meter) content(c *genai.Content) int { return m.scaled(m.count(c)) }

// text returns the tokens of a text.
func (m *meter) text(s string) int {
	return m.content(&genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{Text: s}}})
}

// event returns the tokens of an event.
func (m *meter) event(e *session.Event) int { return m.scaled(m.unscaled(e)) }

// heading returns the tokens of the summary that heads a view.
func (m *meter) heading(live []*session.Event) int {
	if len(live) == 0 || !live[0].Marker() {
		return 0
	}
	return m.event(live[0])
}

// seen returns the tokens of those events of a group that a branch sees.
func (m *meter) seen(g *group, branch string) int { return m.view(g.events, branch) }

// view returns the tokens of those events that a branch sees.
func (m *meter) view(events []*session.Event, branch string) (n int) {
	for _, e := range events {
		if agent.Sees(branch, e.Branch) {
			n += m.event(e)
		}
	}
	return n
}

// request returns the tokens of a request's contents, and of its instruction and tools.
func (m *meter) request(req *model.Request) (contents, fixed int) {
	for _, c := range req.Contents {
		contents += m.content(c)
	}
	if req.Config == nil {
		return contents, 0
	}
	if req.Config.SystemInstruction != nil {
		fixed += m.content(req.Config.SystemInstruction)
	}
	if len(req.Config.Tools) > 0 {
		data, err := json.Marshal(req.Config.Tools)
		if err == nil {
			fixed += m.text(string(data))
		}
	}
	return contents, fixed
}

// unscaled returns the estimate of an event, without the factor.
func (m *meter) unscaled(e *session.Event) int {
	if n, ok := m.of[e]; ok {
		return n
	}
	n := 0
	switch {
	case e.Marker() && e.Actions.Compaction != nil:
		n = m.head
		if c := e.Actions.Compaction.Content; c != nil { // another plugin's compaction may have none
			n += m.count(c)
		}
	case e.Content != nil:
		n = m.shownAs(m.cleared, e)
	}
	m.of[e] = n
	return n
}

// shownAs returns the estimate of an event's content as a prompt has it where c is cleared, without the factor. It is 0 for a
// hidden event.
func (m *meter) shownAs(c cleared, e *session.Event) int {
	if c.hidden[e.Seq] {
		return 0
	}
	return m.count(c.shown(e))
}

// scaled returns the tokens for an estimate.
func (m *meter) scaled(n int) int {
	if m.factor == 1 {
		return n
	}
	return int(math.Ceil(m.factor * float64(n)))
}

// Package meter counts the tokens of a prompt, and knows what a prompt does not have of a live view: the rest of
// parts that are shortened, and calls that are hidden.
//
// A kind of content that costs tokens: a case in Tokens. A part that can be shortened: newCut (cut.go). What a compaction remembers for the next one: a field of Note, which older notes lack.
package meter

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

// A Meter counts the tokens of a session as its model does, as far as the model's reports (usageMetadata)
// tell. What it returns is comparable with the limits in the plugin's configuration.
type Meter struct {
	// Cleared is what the prompt does not have.
	Cleared Cleared
	// Beside are the tokens of a prompt that are not of the live view, such as instruction and tools.
	Beside int
	// Head are the estimated tokens of the words that a prompt puts around a summary.
	Head int

	count    func(*genai.Content) int // estimates the tokens of a content
	exact    bool                     // count is the program's, so nothing is learned
	factor   float64                  // what an estimated token counts: reported times scale
	reported float64                  // how many tokens the model reported for each estimated one
	scale    float64                  // what else was learned from prompts that the provider refused; see learn
	lessons  int                      // how many such prompts there were

	estimates map[*session.Event]int // those that were made already
	saveFrom  int                    // from how many tokens on a result that is cleared is saved as an artifact, 0 for never
}

// Options say how a Meter counts.
type Options struct {
	// Count counts tokens; Tokens does if it is nil.
	Count func(*genai.Content) int
	// TextOnly leaves out the words that a prompt puts around a summary.
	TextOnly bool
	// SaveFrom is from how many tokens on a result that is cleared is saved as an artifact, 0 for never.
	SaveFrom int
}

const (
	headTokens   = 40 // the words that a prompt puts around a summary: builder.summary in agent/llm/contents.go
	smallestStep = 64 // how many tokens a step must have
	minSteps     = 3  // how many steps from one report to the next are needed to compute reported
)

// New returns the Meter for a live view. If Options.Count is not set, the model's reports in the view correct
// the estimate. From one report to the next, the reported tokens and the estimated ones both grow: their
// ratio is one measurement. The median of these counts, since some steps are not only about the conversation:
// another agent has another instruction, or a tool is added. The last report tells what is beside the view.
func New(o Options, live []*session.Event) Meter {
	m := Meter{
		Cleared:   ClearedIn(live),
		Head:      headTokens,
		count:     o.Count,
		exact:     o.Count != nil,
		factor:    1,
		reported:  1,
		scale:     1,
		estimates: make(map[*session.Event]int, len(live)),
		saveFrom:  o.SaveFrom,
	}
	if o.TextOnly {
		m.Head = 0
	}
	if m.count != nil {
		return m
	}
	m.count = Tokens
	beside := 0
	if n := HeadNote(live); n != nil {
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
	before := m.unClearedIn(live)
	counted := 0 // the estimate of the prompt that an event answers
	for i, e := range live {
		counted += before.note(e)
		u := e.UsageMetadata
		isReport := u != nil && u.PromptTokenCount > 0 && !e.Marker() && e.Branch == ""
		afterHead := i == 0 || e.Seq > live[0].Seq // the model saw the summary that heads the view
		if isReport && afterHead {
			now := report{counted: counted, reported: int(u.PromptTokenCount)}
			step := now.counted - last.counted
			if last.reported > 0 && step >= smallestStep {
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
	m.Beside = int(float64(beside) * m.scale)
	return m
}

// An uncleared estimates a prompt as it was when an event was appended. Since then, more parts may have been
// cleared. It goes through the events in their order.
type uncleared struct {
	*Meter
	then    Cleared                  // what is cleared up to an event
	changes map[int64]bool           // the positions of the events that are cleared in part, or hidden, at the end
	events  map[int64]*session.Event // those of these that came so far
	counted map[int64]int            // the estimates of these
}

// unclearedIn returns an uncleared for a live view, before its first event.
func (m *Meter) unClearedIn(live []*session.Event) *uncleared {
	u := &uncleared{
		Meter:   m,
		then:    Cleared{Parts: map[Part]int{}, Hidden: map[int64]bool{}, Saved: m.Cleared.Saved},
		changes: map[int64]bool{},
		counted: map[int64]int{},
		events:  map[int64]*session.Event{},
	}
	for p := range m.Cleared.Parts {
		u.changes[p.Seq] = true
	}
	for seq := range m.Cleared.Hidden {
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

// note takes in what an event clears, and returns by how much the estimate of the events before it grows,
// which is negative as a rule.
func (u *uncleared) note(e *session.Event) (growth int) {
	n := NoteOf(e)
	if n == nil {
		return 0
	}
	changed := map[int64]bool{}
	n.Cleared.each(func(part Part, shown int) {
		if u.then.Parts[part] != shown {
			u.then.Parts[part] = shown
			changed[part.Seq] = true
		}
	})
	for _, seq := range n.Hidden {
		if !u.then.Hidden[seq] && u.Cleared.Hidden[seq] {
			u.then.Hidden[seq] = true
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

// clamp bounds the ratio of reported and estimated tokens. A report that is further off must count something
// else.
func clamp(f float64) float64 { return math.Min(2, math.Max(0.5, f)) }

// Copy returns a copy. To clear a part in the copy changes nothing in m.
func (m *Meter) Copy() Meter {
	c := *m
	c.estimates = maps.Clone(m.estimates)
	c.Cleared = Cleared{
		Parts:  maps.Clone(m.Cleared.Parts),
		Hidden: maps.Clone(m.Cleared.Hidden),
		Saved:  maps.Clone(m.Cleared.Saved),
	}
	return c
}

// Content returns the tokens of a content.
func (m *Meter) Content(c *genai.Content) int { return m.scaled(m.count(c)) }

// Text returns the tokens of a text.
func (m *Meter) Text(s string) int {
	return m.Content(&genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{Text: s}}})
}

// Event returns the tokens of an event.
func (m *Meter) Event(e *session.Event) int { return m.scaled(m.unscaled(e)) }

// Heading returns the tokens of the summary that heads a view.
func (m *Meter) Heading(live []*session.Event) int {
	if len(live) == 0 || !live[0].Marker() {
		return 0
	}
	return m.Event(live[0])
}

// View returns the tokens of those events that a branch sees.
func (m *Meter) View(events []*session.Event, branch string) (n int) {
	for _, e := range events {
		if agent.Sees(branch, e.Branch) {
			n += m.Event(e)
		}
	}
	return n
}

// Request returns the tokens of a request's contents, and of its instruction and tools.
func (m *Meter) Request(req *model.Request) (contents, fixed int) {
	for _, c := range req.Contents {
		contents += m.Content(c)
	}
	if req.Config == nil {
		return contents, 0
	}
	if req.Config.SystemInstruction != nil {
		fixed += m.Content(req.Config.SystemInstruction)
	}
	return contents, fixed + m.tools(req.Config.Tools)
}

// Tools returns the tokens of the declarations of tools.
func (m *Meter) Tools(declared []*genai.FunctionDeclaration) int {
	return m.tools([]*genai.Tool{{FunctionDeclarations: declared}})
}

func (m *Meter) tools(tools []*genai.Tool) int {
	data, err := json.Marshal(tools)
	if err != nil || len(tools) == 0 {
		return 0
	}
	return m.Text(string(data))
}

// unscaled returns the estimate of an event, without the factor.
func (m *Meter) unscaled(e *session.Event) int {
	if n, ok := m.estimates[e]; ok {
		return n
	}
	n := 0
	switch {
	case e.Marker() && e.Actions.Compaction != nil:
		n = m.Head
		if c := e.Actions.Compaction.Content; c != nil { // another plugin's compaction may have none
			n += m.count(c)
		}
	case e.Content != nil:
		n = m.shownAs(m.Cleared, e)
	}
	m.estimates[e] = n
	return n
}

// shownAs returns the estimate of an event's content as a prompt has it where c is cleared, without the
// factor. It is 0 for a hidden event.
func (m *Meter) shownAs(c Cleared, e *session.Event) int {
	if c.Hidden[e.Seq] {
		return 0
	}
	return m.count(c.Shown(e))
}

// scaled returns the tokens for an estimate.
func (m *Meter) scaled(n int) int {
	if m.factor == 1 {
		return n
	}
	return int(math.Ceil(m.factor * float64(n)))
}

// Remember writes into the note of a compaction what the meter of the next one begins with. refused is how
// many tokens the prompt had that the provider refused with a message because it is longer than the window, 0
// if none was refused.
func (m *Meter) Remember(n *Note, refused, window int, message string) {
	n.Factor = m.reported
	n.Beside = int(float64(m.Beside) / m.scale)
	n.Lessons = m.lessons
	if m.lessons > 0 {
		n.Scale = m.scale
	}
	if refused > 0 && !m.exact {
		n.Scale = m.learn(refused, window, message)
		n.Lessons++
	}
}

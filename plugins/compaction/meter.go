package compaction

import (
	"encoding/json"
	"math"
	"slices"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/session"
)

// A meter counts tokens as a session's model does, as far as its reports tell.
type meter struct {
	count  func(*genai.Content) int
	factor float64 // of the model's tokens to those counted
	beside int     // what the model reported beyond the view: instruction and tools
	head   int     // what a summary is wrapped in
	of     map[*session.Event]int
}

// A prompt has a few words around a summary; see package agent/llm.
const wrapping = 40

// meter returns the meter for a live view. What the model has reported in it says how much to trust the count: the
// last report what there is beside the view, the steps between several the factor. It is their median, since some steps are
// of something else: another agent with another instruction, a tool more.
func (k *keeper) meter(live []*session.Event) meter {
	m := meter{count: k.Count, factor: 1, head: wrapping, of: make(map[*session.Event]int, len(live))}
	if k.bare {
		m.head = 0
	}
	if m.count != nil {
		return m
	}
	m.count = Tokens
	if len(live) > 0 && live[0].Marker() {
		if n := noteOf(live[0]); n != nil && n.Factor > 0 {
			m.factor, m.beside = clamp(n.Factor), max(0, n.Beside)
		}
	}
	var last [2]int // tokens counted, tokens reported
	var steps []float64
	sum := 0
	for i, e := range live {
		if u := e.UsageMetadata; u != nil && u.PromptTokenCount > 0 && !e.Marker() && e.Branch == "" && (i == 0 || e.Seq > live[0].Seq) {
			now := [2]int{sum, int(u.PromptTokenCount)}
			if counted := now[0] - last[0]; last[1] > 0 && counted >= smallest {
				steps = append(steps, float64(now[1]-last[1])/float64(counted))
			}
			last = now
		}
		if agent.Sees("", e.Branch) {
			sum += m.raw(e)
		}
	}
	if len(steps) >= enough {
		slices.Sort(steps)
		m.factor = clamp(steps[len(steps)/2])
	}
	if last[1] > 0 {
		m.beside = max(0, last[1]-int(m.factor*float64(last[0])))
	}
	return m
}

// enough is how many steps between reports make a factor.
const enough = 3

// clamp bounds a factor: a report that is far off counts something else.
func clamp(f float64) float64 { return math.Min(2, math.Max(0.5, f)) }

// content returns the tokens of a content.
func (m *meter) content(c *genai.Content) int { return m.scaled(m.count(c)) }

func (m *meter) scaled(n int) int {
	if m.factor == 1 {
		return n
	}
	return int(math.Ceil(m.factor * float64(n)))
}

// text returns the tokens of a text.
func (m *meter) text(s string) int {
	return m.content(&genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{Text: s}}})
}

// raw returns what is counted for an event.
func (m *meter) raw(e *session.Event) int {
	if n, ok := m.of[e]; ok {
		return n
	}
	n := 0
	switch {
	case e.Marker() && e.Actions.Compaction != nil:
		n = m.head
		if c := e.Actions.Compaction.Content; c != nil { // another plugin's may have none
			n += m.count(c)
		}
	case e.Content != nil:
		n = m.count(e.Content)
	}
	m.of[e] = n
	return n
}

// event returns the tokens of an event.
func (m *meter) event(e *session.Event) int { return m.scaled(m.raw(e)) }

// seen returns the tokens of a group that a branch's agents see.
func (m *meter) seen(g *group, branch string) (n int) {
	for _, e := range g.events {
		if agent.Sees(branch, e.Branch) {
			n += m.event(e)
		}
	}
	return n
}

// view returns the tokens of a live view as a branch's agents see it.
func (m *meter) view(live []*session.Event, branch string) (n int) {
	for _, e := range live {
		if agent.Sees(branch, e.Branch) {
			n += m.event(e)
		}
	}
	return n
}

// request returns the tokens of a request's contents, and those of all else in it.
func (m *meter) request(req *model.Request) (contents, rest int) {
	for _, c := range req.Contents {
		contents += m.content(c)
	}
	if req.Config == nil {
		return contents, 0
	}
	if req.Config.SystemInstruction != nil {
		rest += m.content(req.Config.SystemInstruction)
	}
	if len(req.Config.Tools) > 0 {
		if data, err := json.Marshal(req.Config.Tools); err == nil {
			rest += m.text(string(data))
		}
	}
	return contents, rest
}

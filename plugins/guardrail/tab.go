package guardrail

import (
	"sync"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// tab is what a run has taken of limits and may not have in the log yet.
type tab struct {
	mu     sync.Mutex
	claims []*claim
	inputs []*claim // what the run's inputs took, until it begins
	asked  map[asker]*asking
	closed bool // the run is over: a hook that outlived its time keeps nothing
}

// asker is who asks a model.
type asker struct{ agent, branch string }

// asking is a call of a model, until its answer is there.
type asking struct {
	claims   []*claim
	prompt   int   // characters of what was asked
	said     int   // characters of what was streamed
	position int64 // of the log when it was asked
	streamed bool
	scope    Scope
}

// settle leaves the claims of what was taken before: when the plugin is called about something new, the events before it
// are in the log.
func (t *tab) settle() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.claims {
		c.leave()
	}
	t.claims = nil
}

// close leaves all claims, and returns the calls of models without an answer.
func (t *tab) close() (open []*asking) {
	t.settle()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, a := range t.asked {
		for _, c := range a.claims {
			c.leave()
		}
		open = append(open, a)
	}
	t.asked, t.closed = nil, true
	return open
}

// later notes a claim that is left when the run goes on.
func (t *tab) later(c *claim) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		c.leave()
		return
	}
	t.claims = append(t.claims, c)
}

// begin notes what an input took.
func (t *tab) begin(claims []*claim) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inputs = append(t.inputs, claims...)
}

// begun returns what the run's inputs took, once.
func (t *tab) begun() (claims []*claim) {
	t.mu.Lock()
	defer t.mu.Unlock()
	claims, t.inputs = t.inputs, nil
	return claims
}

// asks returns the call of a model that has not been answered, nil if there is none.
func (t *tab) asks(who asker) *asking {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.asked[who]
}

// ask notes a call of a model.
func (t *tab) ask(who asker, a *asking) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		for _, c := range a.claims {
			c.leave()
		}
		return
	}
	if t.asked == nil {
		t.asked = map[asker]*asking{}
	}
	t.asked[who] = a
}

// streamed notes what a model says in part.
func (t *tab) streamed(e *session.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.asked[t.asker(e)]; a != nil {
		a.streamed = true
		a.said += runesOf(e.Content)
	}
}

// asker returns who has asked a model for what is in an event.
func (t *tab) asker(e *session.Event) asker {
	who := asker{e.Author, e.Branch}
	if _, named := t.asked[who]; !named {
		who.agent = "" // its request did not say
	}
	return who
}

// answered takes the call that an event answers off the list, and returns it; nil if the event is no model's answer.
func (t *tab) answered(e *session.Event) *asking {
	t.mu.Lock()
	defer t.mu.Unlock()
	who := t.asker(e)
	a := t.asked[who]
	said := e.UsageMetadata != nil || e.ErrorCode != "" || e.Content != nil && e.Content.Role == genai.RoleModel
	if a == nil || !said || len(e.FunctionResponses()) > 0 {
		return nil
	}
	delete(t.asked, who)
	t.claims = append(t.claims, a.claims...)
	return a
}

// tokensOf returns how many tokens a model has taken: what it reports, or a quarter of the characters of what it was
// asked and has said.
func tokensOf(e *session.Event, a *asking) float64 {
	if u := e.UsageMetadata; u != nil {
		total := int64(u.TotalTokenCount)
		if total <= 0 {
			total = int64(u.PromptTokenCount) + int64(u.CandidatesTokenCount) + int64(u.ThoughtsTokenCount) + int64(u.ToolUsePromptTokenCount)
		}
		if total > 0 {
			return float64(total)
		}
	}
	if a == nil || e.ErrorCode != "" && e.Content == nil && !a.streamed {
		return 0
	}
	return float64((a.prompt + max(a.said, runesOf(e.Content)) + 3) / 4) // what was streamed is a beginning of the whole
}

// runesOf counts the characters of a content's texts, arguments and answers.
func runesOf(c *genai.Content) (n int) {
	w := walker{edit: func(l leaf) ([]string, bool) {
		n += utf8.RuneCountInString(l.text)
		return nil, false
	}}
	w.content(c, Output)
	return n
}

package trajectory

import (
	"fmt"
	"iter"
	"slices"

	"github.com/go-json-experiment/json"
	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// An Extract is what exports need of a session: the events of one view, without the fields that no export has, and
// with their values redacted and cut. It does not change once it is read.
type Extract struct {
	session *session.Session
	config  Config
	agent   string // the only one whose doings are in it, "" for all
	entries []*entry
	calls   []session.Call                     // of the entries, in order
	summary *session.Event                     // the live view's compaction, or nil
	of      map[*session.Event]*entry          // the entries that have calls or responses
	names   map[string]string                  // of invocations, authors, branches and models, each by itself
	answers map[*genai.FunctionResponse]Status // of the responses that do not say OK
}

// An entry is an event of an Extract. Its function calls and responses have no arguments and no response: these
// stand in content.
type entry struct {
	*session.Event
	content raw // the content's JSON if it has calls or responses
	delta   raw // the state delta's JSON if it is not empty
	usage   *Usage
	void    bool // a rewind voids the event
}

// Read makes the Extract of a session from its events, which it reads once, in their order. Events without a
// position get one, counted. The session's live view may stand in for the log where the Config asks for Live.
// It keeps little more than what the export will write: no event that was read stays in memory. The errors are
// those of events, and one if the Config's View is unknown.
func Read(s *session.Session, events iter.Seq2[*session.Event, error], c Config) (*Extract, error) {
	if c.View == "" {
		c.View = Standing
	}
	if c.View != Standing && c.View != Live && c.View != Log {
		return nil, fmt.Errorf("trajectory: %q is no view: it is %s, %s or %s", c.View, Standing, Live, Log)
	}
	x := &Extract{
		session: s,
		config:  c,
		of:      map[*session.Event]*entry{},
		answers: map[*genai.FunctionResponse]Status{},
		names:   map[string]string{},
	}

	// Reduce each event when it comes. Which events count is known only after the last one.
	clean := c.cleaner()
	var statuses session.EventStatuses
	var log []*entry
	last := int64(0)
	for e, err := range events {
		if err != nil {
			return nil, err
		}
		if e.Partial {
			continue
		}
		en, err := x.reduce(clean.detected(e), clean)
		if err != nil {
			return nil, fmt.Errorf("event %q: %w", e.ID, err)
		}
		if en.Seq == 0 {
			en.Seq = last + 1
		}
		last = en.Seq
		statuses.Add(en.Event)
		log = append(log, en)
	}

	// Choose the events of the view.
	for _, en := range log {
		status := statuses.Of(en.Event)
		en.void = status.Void != 0
		switch {
		case c.View == Live && status.Live && en.Marker():
			x.summary = en.Event
		case c.View == Live && status.Live,
			c.View == Standing && !en.void && en.Actions.Rewind == nil,
			c.View == Log:
			x.entries = append(x.entries, en)
		}
	}
	x.joinCalls()
	x.names = nil // it is needed for reading only
	if c.Agent != "" {
		return x.Of(c.Agent), nil
	}
	return x, nil
}

// joinCalls finds the calls of the view with their responses. Also in the whole log, a call that no rewind voids is
// joined only with a response that no rewind voids.
func (x *Extract) joinCalls() {
	var all, standing []*session.Event
	for _, en := range x.entries {
		all = append(all, en.Event)
		if !en.void {
			standing = append(standing, en.Event)
		}
	}
	x.calls = session.Calls(all)
	if len(standing) == len(all) {
		return
	}
	stands := map[*genai.FunctionCall]session.Call{}
	for _, c := range session.Calls(standing) {
		stands[c.FunctionCall] = c
	}
	for i, c := range x.calls {
		if s, ok := stands[c.FunctionCall]; ok {
			x.calls[i] = s
		}
	}
}

// once returns the text itself, or an equal one that it has returned before, so that a text that many events have
// is in memory once.
func (x *Extract) once(text string) string {
	known, ok := x.names[text]
	if !ok {
		known = text
		x.names[text] = text
	}
	return known
}

// reduce returns an event without the fields that no export has, and with its values cleaned.
func (x *Extract) reduce(e *session.Event, clean cleaner) (*entry, error) {
	r := &session.Event{
		Seq:                e.Seq,
		InvocationID:       x.once(e.InvocationID),
		Author:             x.once(e.Author),
		Branch:             x.once(e.Branch),
		Timestamp:          e.Timestamp,
		Content:            e.Content,
		ErrorCode:          e.ErrorCode,
		ErrorMessage:       e.ErrorMessage,
		ModelVersion:       x.once(e.ModelVersion),
		LongRunningToolIDs: e.LongRunningToolIDs,
	}
	r.Actions.SkipSummarization = e.Actions.SkipSummarization
	r.Actions.RequestedToolConfirmations = e.Actions.RequestedToolConfirmations
	r.Actions.Extra = e.Actions.Extra
	r.Actions.Rewind = e.Actions.Rewind
	if c := e.Actions.Compaction; c != nil {
		r.Actions.Compaction = &session.Compaction{Through: c.Through, Keep: c.Keep}
		if x.config.View == Live {
			r.Actions.Compaction.Content = c.Content
		}
	}
	en := &entry{Event: r, usage: usageOf(e.UsageMetadata)}
	calls := slices.ContainsFunc(e.Parts(), func(p *genai.Part) bool {
		return p.FunctionCall != nil || p.FunctionResponse != nil
	})
	if !calls && len(e.Actions.StateDelta) == 0 {
		return en, nil
	}

	// In the event's own JSON, the members of objects have their original order.
	wire, err := wireOf(e)
	if err != nil {
		return nil, err
	}
	if len(e.Actions.StateDelta) > 0 {
		en.delta, err = clean.clean(wire.Actions.StateDelta)
		if err != nil {
			return nil, err
		}
	}
	if !calls {
		return en, nil
	}
	en.content, err = clean.cleanContent(wire.Content)
	if err != nil {
		return nil, err
	}
	x.of[r] = en
	r.Content = &genai.Content{Role: e.Content.Role}
	for _, p := range e.Parts() {
		r.Content.Parts = append(r.Content.Parts, x.reducePart(p))
	}
	return en, nil
}

// A wireEvent is what exports take from an event's own JSON.
type wireEvent struct {
	Content raw `json:"content"`
	Actions struct {
		StateDelta raw `json:"stateDelta"`
	} `json:"actions"`
}

func wireOf(e *session.Event) (wire wireEvent, err error) {
	data, err := e.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(data, &wire, lenient)
	}
	return wire, err
}

// reducePart returns a part without its arguments and without its response. It notes the status that the response
// gives its call.
func (x *Extract) reducePart(p *genai.Part) *genai.Part {
	switch {
	case p.FunctionCall != nil:
		return &genai.Part{FunctionCall: &genai.FunctionCall{ID: p.FunctionCall.ID, Name: p.FunctionCall.Name}}
	case p.FunctionResponse != nil:
		r := &genai.FunctionResponse{ID: p.FunctionResponse.ID, Name: p.FunctionResponse.Name}
		if status := saidBy(p.FunctionResponse.Response); status != OK {
			x.answers[r] = status
		}
		return &genai.Part{FunctionResponse: r}
	}
	return p
}

// values returns the arguments and responses of an entry, one for each part that is not null; nil for another
// part.
func (en *entry) values() []raw {
	var content struct {
		Parts []*struct {
			FunctionCall struct {
				Args raw `json:"args"`
			} `json:"functionCall"`
			FunctionResponse struct {
				Response raw `json:"response"`
			} `json:"functionResponse"`
		} `json:"parts"`
	}
	if json.Unmarshal(en.content, &content, lenient) != nil {
		return nil // reduce has read it before
	}
	var values []raw
	for _, p := range content.Parts {
		if p == nil {
			continue
		}
		v := p.FunctionCall.Args
		if v == nil {
			v = p.FunctionResponse.Response
		}
		values = append(values, v)
	}
	return values
}

// arguments returns the arguments of a call, "{}" if it has none.
func (x *Extract) arguments(c session.Call) raw {
	return x.value(c.Event, func(p *genai.Part) bool { return p.FunctionCall == c.FunctionCall })
}

// response returns the latest response to a call and its position, nil and 0 if there is none.
func (x *Extract) response(c session.Call) (raw, int64) {
	e, latest := c.Latest()
	if e == nil {
		return nil, 0
	}
	return x.value(e, func(p *genai.Part) bool { return p.FunctionResponse == latest }), e.Seq
}

// value returns the arguments or the response of the part that is meant, "{}" if it has no object.
func (x *Extract) value(e *session.Event, isMeant func(*genai.Part) bool) raw {
	en := x.of[e]
	values := en.values()
	i := slices.IndexFunc(en.Content.Parts, isMeant)
	if i >= len(values) || values[i].Kind() != '{' {
		return raw("{}")
	}
	return values[i]
}

// Agents returns the names of the agents in the order of their first event.
func (x *Extract) Agents() []string {
	var agents []string
	for _, en := range x.entries {
		if isAgents(en.Event) && !slices.Contains(agents, en.Author) {
			agents = append(agents, en.Author)
		}
	}
	return agents
}

// Of returns the Extract of one agent: the user's messages, what the agent did, and the responses to its calls,
// whoever has given them.
func (x *Extract) Of(agent string) *Extract {
	y := *x
	y.agent = agent
	y.calls = nil
	y.entries = nil
	answers := map[*session.Event]bool{}
	for _, c := range x.calls {
		if c.Event.Author == agent {
			y.calls = append(y.calls, c)
			answers[c.Response] = true
		}
	}
	for _, en := range x.entries {
		if en.Author == session.User || en.Author == agent || answers[en.Event] {
			y.entries = append(y.entries, en)
		}
	}
	return &y
}

// Empty reports whether the Extract has no events. If it is of one agent, Empty reports whether that agent has none.
func (x *Extract) Empty() bool {
	for _, en := range x.entries {
		if x.agent == "" || en.Author == x.agent {
			return false
		}
	}
	return true
}

package trajectory

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// A View says which events of a log a trajectory is made of.
type View string

// The views of a log.
const (
	// Standing has the log without what a rewind in force voids. What a compaction stands for is in it as it
	// was said.
	Standing View = "standing"
	// Live has what the next model request is made of (see session.Live): the events that count, and the newest
	// compaction as a summary of those before.
	Live View = "live"
	// Log has all events; the calls that a rewind voids are marked.
	Log View = "log"
)

// NoLimit as a Config's MaxString cuts nothing.
const NoLimit = -1

// DefaultMaxString is how many characters of a text are kept if a Config does not say so.
const DefaultMaxString = 10_000

// A Config says what goes into a trajectory. The zero Config has everything of the standing view, with the
// values of SensitiveKeys redacted and texts cut to DefaultMaxString characters.
//
// Redaction and cuts are of arguments, responses and state deltas. What users and agents say is not touched: not
// the messages, not the final output, reasoning or error. What a guardrail took out of these is not in the log
// either.
type Config struct {
	NoToolCalls, NoStateDeltas, NoTokenUsage, NoRedaction bool
	// SensitiveKeys has the keys whose values are redacted (see Redact): nil the function SensitiveKeys', and
	// an empty list none.
	SensitiveKeys []string
	// ExactKeys compares keys to the letter.
	ExactKeys bool
	// MaxString is the length in characters (runes) that texts are cut to: 0 is DefaultMaxString, and NoLimit
	// cuts nothing.
	MaxString int
	// Agent leaves only one agent's doings in.
	Agent string
	// View is Standing if it is empty.
	View View
}

// cleaner returns what redacts and cuts as the Config says.
func (c Config) cleaner() cleaner {
	clean := cleaner{exact: c.ExactKeys, limit: c.MaxString}
	if c.MaxString == 0 {
		clean.limit = DefaultMaxString
	}
	keys := c.SensitiveKeys
	if keys == nil {
		keys = SensitiveKeys()
	}
	switch {
	case c.NoRedaction:
	case c.ExactKeys:
		clean.keys = map[string]bool{}
		for _, k := range keys {
			clean.keys[k] = true
		}
	default:
		clean.keys = folded(keys)
	}
	return clean
}

// An Extract is what exports need of a session: the events of one view, without what no export has, with their
// values redacted and cut. It does not change once it is read.
type Extract struct {
	session *session.Session
	config  Config
	agent   string // the only one whose doings are in it, "" for all
	entries []*entry
	calls   []session.Call                     // of the entries, in order
	summary *session.Event                     // the live view's compaction, or nil
	of      map[*session.Event]*entry          // those that have calls or responses
	names   map[string]string                  // of invocations, authors, branches and models, each by itself
	answers map[*genai.FunctionResponse]Status // those that are not OK
}

// An entry is an event of an Extract. Its function calls and responses have no arguments and no response: these
// stand in content.
type entry struct {
	*session.Event
	content raw // the content's JSON if it has calls or responses
	delta   raw // the state delta's JSON if it is not empty
	usage   *Usage
	void    bool
}

// Read makes the Extract of a session from its events, which it reads once, in their order. Events without a
// position get one, counted. The session's live view may stand in for the log where the Config asks for Live.
// It holds what the export will write and little more: an event that it has read is let go. The errors are those
// of events, and one if the Config's View is unknown.
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

	// Each event is reduced when it comes. Only the last one tells what counts.
	clean := c.cleaner()
	var statuses session.Statuses
	var log []*entry
	last := int64(0)
	for e, err := range events {
		if err != nil {
			return nil, err
		}
		if e.Partial {
			continue
		}
		en, err := x.reduce(e, clean)
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

	// The view is chosen.
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
	x.names = nil // nothing comes any more
	if c.Agent != "" {
		return x.Of(c.Agent), nil
	}
	return x, nil
}

// joinCalls finds the calls of the view with their responses. A call that stands is joined with what stands of
// its responses, also in the whole log.
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

// once returns the same text that it returned for an equal one: many events have it, and one is kept.
func (x *Extract) once(text string) string {
	known, ok := x.names[text]
	if !ok {
		known = text
		x.names[text] = text
	}
	return known
}

// reduce returns an event without what no export has.
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
	r.Actions.Rewind = e.Actions.Rewind
	if c := e.Actions.Compaction; c != nil {
		r.Actions.Compaction = &session.Compaction{Through: c.Through, Keep: c.Keep}
		if x.config.View == Live {
			r.Actions.Compaction.Content = c.Content
		}
	}
	en := &entry{Event: r, usage: usageOf(e.UsageMetadata)}
	calls := len(e.FunctionCalls())+len(e.FunctionResponses()) > 0
	if !calls && len(e.Actions.StateDelta) == 0 {
		return en, nil
	}

	// The event's own JSON has the members of values in the order in which they were said.
	data, err := e.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var wire struct {
		Content raw `json:"content"`
		Actions struct {
			StateDelta raw `json:"stateDelta"`
		} `json:"actions"`
	}
	if err := json.Unmarshal(data, &wire, lenient); err != nil {
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
	for p := range partsOf(e) {
		r.Content.Parts = append(r.Content.Parts, x.reducePart(p))
	}
	return en, nil
}

// reducePart returns a part without arguments and response, and notes what the response says.
func (x *Extract) reducePart(p *genai.Part) *genai.Part {
	switch {
	case p.FunctionCall != nil:
		return &genai.Part{FunctionCall: &genai.FunctionCall{
			ID:   p.FunctionCall.ID,
			Name: p.FunctionCall.Name,
		}}
	case p.FunctionResponse != nil:
		r := &genai.FunctionResponse{ID: p.FunctionResponse.ID, Name: p.FunctionResponse.Name}
		if status := saidBy(p.FunctionResponse.Response); status != OK {
			x.answers[r] = status
		}
		return &genai.Part{FunctionResponse: r}
	}
	return p
}

// userValues are the members of a content below which the keys are the user's: what stands there is cleaned and
// never renamed.
var userValues = map[string]bool{"args": true, "response": true, "partMetadata": true}

// cleanContent cleans the arguments and responses in a content's JSON.
func (c cleaner) cleanContent(content raw) (raw, error) {
	return rewrite(content, func(name string) string { return name }, c.copyValue)
}

// rewrite returns a content's JSON with the names of its members as rename has them, and values that are the
// user's as written by value.
func rewrite(content raw, rename func(string) string,
	value func(*encoder, *decoder) error) (raw, error) {
	var out bytes.Buffer
	from := newDecoder(content)
	to := newEncoder(&out)
	err := copyValue(to, from, func(tok token, isKey bool) (token, bool) {
		if !isKey {
			return tok, false
		}
		name := tok.String()
		return text(rename(name)), userValues[name]
	}, value)
	return written(&out), err
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

// arguments returns those of a call, "{}" if it has none.
func (x *Extract) arguments(c session.Call) raw {
	en := x.of[c.Event]
	i := slices.IndexFunc(en.Content.Parts, func(p *genai.Part) bool {
		return p.FunctionCall == c.FunctionCall
	})
	return object(en.values(), i)
}

// response returns that of a call, nil if it is open.
func (x *Extract) response(c session.Call) raw {
	if c.Response == nil {
		return nil
	}
	en := x.of[c.Response]
	i := slices.IndexFunc(en.Content.Parts, func(p *genai.Part) bool {
		return p.FunctionResponse == c.Result
	})
	return object(en.values(), i)
}

func object(values []raw, i int) raw {
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

// Empty reports whether nobody did anything: no user, no agent. With one agent only, it is whether that one did
// nothing.
func (x *Extract) Empty() bool {
	for _, en := range x.entries {
		if x.agent == "" || en.Author == x.agent {
			return false
		}
	}
	return true
}

// callee reports whether a branch is the conversation in which an agent answers a call ("agent@call"), or below
// it.
func callee(branch string, ids map[string]bool) bool {
	for element := range strings.SplitSeq(branch, ".") {
		_, id, ok := strings.Cut(element, "@")
		if ok && id != "" && ids[id] {
			return true
		}
	}
	return false
}

package stats

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/trajectory"
)

// A collector sums up events, one after the other.
type collector struct {
	Options
	report   Report
	total    sums
	groups   map[string]*sums
	unpriced map[string]int64

	// of the session that is being read
	key   session.Key
	kit   string
	runs  map[string]*run // by their invocation
	calls session.CallTracker
	open  map[*session.Call]bool
}

// sums are Sums that are being made.
type sums struct {
	Sums
	runTime, runTokens, callTime histogram
}

// A run is an invocation of the session that is being read.
type run struct {
	first       *session.Event // without its content
	last        time.Time
	events      int
	agent       string // the first that did something
	model       string // the first that was used
	tokens      int64
	waited      bool
	timeIsKnown bool
}

// addSession takes in a session's log.
func (c *collector) addSession(ctx context.Context, from session.Reader, key session.Key) error {
	c.key = key
	c.runs = map[string]*run{}
	c.calls = session.CallTracker{}
	c.open = map[*session.Call]bool{}
	before := c.report.Events
	for e, err := range from.Read(ctx, key, session.Selection{}) {
		if errors.Is(err, session.ErrNotFound) {
			break
		}
		if err != nil {
			return err
		}
		if !e.Partial {
			c.add(e)
		}
	}
	if c.report.Events > before {
		c.report.Sessions++
	}

	// The log has ended: count the calls that are still open, and the runs.
	for call := range c.open {
		c.addCall(call)
	}
	for _, r := range c.runs {
		c.addRun(r)
	}
	return nil
}

// add takes in an event.
func (c *collector) add(e *session.Event) {
	used := tokensOf(e.UsageMetadata)
	c.follow(e, used.Sum())
	if !c.selects(e.Timestamp) {
		return
	}
	c.report.Events++
	if !e.Timestamp.IsZero() {
		if c.report.First.IsZero() || e.Timestamp.Before(c.report.First) {
			c.report.First = e.Timestamp
		}
		if e.Timestamp.After(c.report.Last) {
			c.report.Last = e.Timestamp
		}
	}

	// Count the tokens that the event has used, and what kind of event it is.
	var add Sums
	add.Tokens = used
	cost, priced := c.Prices.Cost(e.ModelVersion, e.UsageMetadata)
	add.Cost = cost
	if n := used.Sum(); !priced && n > 0 {
		add.Unpriced = n
		c.unpriced[e.ModelVersion] += n
	}
	if e.ErrorCode == session.Denied {
		add.Denials = 1
	}
	if e.Actions.Compaction != nil {
		add.Compactions = 1
		add.Saved = savedBy(e)
	}
	if add == (Sums{}) || c.By == Tool {
		c.total.add(add)
		return
	}
	c.to(c.group(e, e.Author, e.ModelVersion), func(s *sums) { s.add(add) })
}

// add adds what one event says.
func (s *sums) add(event Sums) {
	s.Tokens.add(event.Tokens)
	s.Cost += event.Cost
	s.Unpriced += event.Unpriced
	s.Denials += event.Denials
	s.Compactions += event.Compactions
	s.Saved += event.Saved
}

// follow takes an event into its run, and the calls that it makes and answers.
func (c *collector) follow(e *session.Event, tokens int64) {
	r := c.runs[e.InvocationID]
	if r == nil && e.InvocationID != "" {
		r = &run{first: light(e), last: e.Timestamp, timeIsKnown: true}
		c.runs[e.InvocationID] = r
	}
	if r != nil {
		r.events++
		r.tokens += tokens
		r.model = cmp.Or(r.model, e.ModelVersion)
		if e.FromAgent() {
			r.agent = cmp.Or(r.agent, e.Author)
		}
		if e.Timestamp.IsZero() {
			r.timeIsKnown = false
		}
		if e.Actions.Compaction == nil && e.Timestamp.After(r.last) { // a summary is written behind the run
			r.last = e.Timestamp
		}
	}

	about := len(e.LongRunningToolIDs) + len(e.Actions.RequestedToolConfirmations)
	if about == 0 && len(e.FunctionCalls()) == 0 && len(e.FunctionResponses()) == 0 {
		return
	}
	made, answered := c.calls.Add(light(e))
	for _, call := range made {
		c.open[call] = true
	}
	for _, call := range answered {
		delete(c.open, call)
		c.addCall(call)
	}
}

// light returns a copy of an event with only what the sums need of it: its calls without their arguments, its
// responses as they are.
func light(e *session.Event) *session.Event {
	l := &session.Event{
		InvocationID:       e.InvocationID,
		Author:             e.Author,
		Branch:             e.Branch,
		Timestamp:          e.Timestamp,
		ModelVersion:       e.ModelVersion,
		ErrorCode:          e.ErrorCode,
		LongRunningToolIDs: e.LongRunningToolIDs,
	}
	l.Actions.RequestedToolConfirmations = e.Actions.RequestedToolConfirmations
	l.Actions.Extra = e.Actions.Extra
	var parts []*genai.Part
	for _, call := range e.FunctionCalls() {
		parts = append(parts, &genai.Part{FunctionCall: &genai.FunctionCall{ID: call.ID, Name: call.Name}})
	}
	for _, response := range e.FunctionResponses() {
		parts = append(parts, &genai.Part{FunctionResponse: response})
	}
	l.Content = &genai.Content{Parts: parts}
	return l
}

// addCall counts a call once no later event can say more about it.
func (c *collector) addCall(call *session.Call) {
	waited := call.Held != nil || call.Deferred != nil
	if r := c.runs[call.Event.InvocationID]; r != nil && waited {
		r.waited = true
	}
	if !c.selects(call.Event.Timestamp) {
		return
	}
	status := trajectory.StatusOf(call)
	name := c.group(call.Event, call.Event.Author, call.Event.ModelVersion)
	if c.By == Tool {
		name = cmp.Or(call.Name, "unknown")
	}
	c.to(name, func(s *sums) {
		s.Calls.Made++
		switch status {
		case trajectory.OK:
			s.Calls.OK++
		case trajectory.Failed:
			s.Calls.Failed++
		case trajectory.Denied:
			s.Calls.Denied++
		case trajectory.Declined:
			s.Calls.Declined++
		case trajectory.Interrupted:
			s.Calls.Interrupted++
		case trajectory.Waiting:
			s.Calls.Waiting++
		default:
			s.Calls.Open++
		}
		ended := status == trajectory.OK || status == trajectory.Failed
		if ended && !waited {
			s.callTime.addTime(call.Event.Timestamp, call.Response.Timestamp)
		}
	})
}

// addRun counts a run once no later event can belong to it.
func (c *collector) addRun(r *run) {
	if !c.selects(r.first.Timestamp) {
		return
	}
	count := func(s *sums) {
		s.Runs++
		s.runTokens.add(r.tokens)
		if r.timeIsKnown && !r.waited && r.events > 1 {
			s.runTime.addTime(r.first.Timestamp, r.last)
		}
	}
	if c.By == Tool {
		count(&c.total)
		return
	}
	c.to(c.group(r.first, cmp.Or(r.agent, r.first.Author), r.model), count)
}

// addTime counts the time between two events, if both have one.
func (h *histogram) addTime(from, to time.Time) {
	if !from.IsZero() && !to.IsZero() && !to.Before(from) {
		h.add(to.Sub(from).Microseconds())
	}
}

// selects reports whether what happened at a time counts.
func (c *collector) selects(t time.Time) bool {
	switch {
	case c.Since.IsZero() && c.Until.IsZero():
		return true
	case t.IsZero() || t.Before(c.Since):
		return false
	}
	return c.Until.IsZero() || t.Before(c.Until)
}

// group returns the name of the group that an event is counted in.
func (c *collector) group(e *session.Event, author, model string) string {
	switch c.By {
	case Day:
		if e.Timestamp.IsZero() {
			return ""
		}
		return e.Timestamp.In(c.Zone).Format(time.DateOnly)
	case Model:
		return model
	case Agent:
		return author
	case User:
		return c.key.App + "/" + c.key.User
	case Kit:
		return c.kit
	}
	return ""
}

// to calls count with the sums of everything, and with the sums of a group.
func (c *collector) to(group string, count func(*sums)) {
	count(&c.total)
	if c.By == All {
		return
	}
	if c.groups[group] == nil {
		c.groups[group] = &sums{}
	}
	count(c.groups[group])
}

// result returns what was summed up.
func (c *collector) result() *Report {
	r := &c.report
	r.Currency = c.Prices.Currency
	r.Total = c.total.result()
	for name, s := range c.groups {
		r.Groups = append(r.Groups, Group{Name: name, Sums: s.result()})
	}
	slices.SortFunc(r.Groups, func(a, b Group) int {
		if c.By == Day {
			return cmp.Compare(a.Name, b.Name)
		}
		return cmp.Or(
			cmp.Compare(b.Cost, a.Cost),
			cmp.Compare(b.Tokens.Sum(), a.Tokens.Sum()),
			cmp.Compare(b.Calls.Made, a.Calls.Made),
			cmp.Compare(b.Runs, a.Runs),
			cmp.Compare(a.Name, b.Name))
	})
	for _, model := range slices.Sorted(maps.Keys(c.unpriced)) {
		r.Unpriced = append(r.Unpriced, Unpriced{Model: model, Tokens: c.unpriced[model]})
	}
	return r
}

func (s *sums) result() Sums {
	s.RunTime = spread(&s.runTime, time.Microsecond)
	s.RunTokens = spread(&s.runTokens, int64(1))
	s.CallTime = spread(&s.callTime, time.Microsecond)
	return s.Sums
}

// tokensOf returns the numbers of tokens that a provider reports. A negative number counts as 0.
func tokensOf(u *genai.GenerateContentResponseUsageMetadata) Tokens {
	if u == nil {
		return Tokens{}
	}
	n := func(n int32) int64 { return int64(max(0, n)) }
	return Tokens{
		Prompt:    n(u.PromptTokenCount) + n(u.ToolUsePromptTokenCount),
		Cached:    n(u.CachedContentTokenCount),
		Output:    n(u.CandidatesTokenCount),
		Reasoning: n(u.ThoughtsTokenCount),
	}
}

// savedBy returns the tokens that a compaction has saved, as the plugin compaction notes it: 0 if it says nothing.
func savedBy(e *session.Event) int64 {
	note, _ := e.CustomMetadata["compaction"].(map[string]any)
	before, known := number(note["before"])
	after, too := number(note["after"])
	if !known || !too {
		return 0
	}
	return max(0, before-after)
}

// number returns a whole number of a JSON value.
func number(v any) (int64, bool) {
	switch v := v.(type) {
	case float64:
		return int64(v), true
	case int:
		return int64(v), true
	case json.Number:
		n, err := strconv.ParseInt(v.String(), 10, 64)
		return n, err == nil
	}
	return 0, false
}

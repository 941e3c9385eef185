package store

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/internal/spelling"
)

// NotFound returns the session.ErrNotFound of an operation on a session that is not there.
func NotFound(key session.Key) error { return &session.KeyError{Key: key, Err: session.ErrNotFound} }

// A LogEnd says where a log ends, and who may append there.
type LogEnd struct {
	// Position is the last event's, 0 if there is none.
	Position int64
	// Fence is the last lease's, 0 if there was none.
	Fence int64
	// Held says whether somebody holds that lease.
	Held bool
}

// CheckPosition returns the session.PositionError of an append at the end of a log, or nil. It is
// ErrFenced if somebody holds the lease and the append does not carry its fence, and if the append carries
// the fence of a lease that is not held any more; else it is ErrConflict if the append follows another
// position than the last.
func CheckPosition(at session.AppendTarget, end LogEnd) error {
	fence := int64(0) // what the append has to carry
	if end.Held {
		fence = end.Fence
	}
	if at.Fence != fence {
		return &session.PositionError{
			Key:  at.Key,
			Want: at.Fence,
			Have: end.Fence,
			Err:  session.ErrFenced,
		}
	}
	if at.After != end.Position {
		return &session.PositionError{
			Key:  at.Key,
			Want: at.After,
			Have: end.Position,
			Err:  session.ErrConflict,
		}
	}
	return nil
}

// CheckCompaction returns an ErrInvalid that says why the event may not be appended, or nil. live is
// the live view before it, frontier the position of the last compaction or rewind, and seq the
// position that the event would get. Every store refuses what it refuses, so that no writer can break
// the law of the live view:
//
//   - It points backward: 1 ≤ Through < seq.
//   - Its author knew the last compaction or rewind: Frontier is that one's position. If not, it came too late, and the
//     error is an ErrConflict, too.
//   - It keeps only live events up to Through, in order, and not the compaction before it.
//   - It covers a strict superset of what the one before it covers; or, up to the same Through, the same: a better
//     summary of it.
//   - It carries no function call and no response.
//   - It covers a function call only together with its response, and neither a call that is still open nor an
//     event that is about it (session.Call.Events), nor the conversation in which an agent is answering it (the
//     branch "agent@call").
//   - It covers no event of a workflow's run that has not ended, and not its input (session.WorkflowRun.Open): the
//     workflow goes on with what the live view has of them.
//
// The event must have a compaction that is not inert (see Event.Marker).
func CheckCompaction(live []*session.Event, frontier, seq int64, e *session.Event) error {
	c := compaction(e)
	if c.Through < 1 || c.Through >= seq {
		return invalid("compaction at %d: through %d does not point backward", seq, c.Through)
	}
	if c.Frontier != frontier {
		return tooLate("compaction at %d: its author knew the log up to the compaction or rewind at %d, the last is at %d: read the live view and summarize again", seq, c.Frontier, frontier)
	}
	called := func(content *genai.Content) bool {
		return content != nil && slices.ContainsFunc(content.Parts, func(p *genai.Part) bool {
			return p != nil && (p.FunctionCall != nil || p.FunctionResponse != nil)
		})
	}
	if called(e.Content) || called(c.Content) { // at the head of the view, a response would stand before its call
		return invalid("compaction at %d: it carries a function call or response; emit that as an event of its own", seq)
	}
	mayKeep := map[int64]bool{}
	var asTools []*session.Event // of agents that were called as tools
	for _, e := range live {
		mayKeep[e.Seq] = compaction(e) == nil
		if strings.Contains(e.Branch, "@") {
			asTools = append(asTools, e)
		}
	}
	kept := map[int64]bool{}
	for i, k := range c.Keep {
		if i > 0 && k <= c.Keep[i-1] || k > c.Through {
			return invalid("compaction at %d: keep %v is not ascending up to through %d", seq, c.Keep, c.Through)
		}
		if !mayKeep[k] {
			return invalid("compaction at %d: keep %d is not a live event", seq, k)
		}
		kept[k] = true
	}
	covers := func(e *session.Event) bool { return e.Seq <= c.Through && !kept[e.Seq] && compaction(e) == nil }
	better := false // it may cover the same as the one before it
	if len(live) > 0 {
		if p := compaction(live[0]); p != nil {
			if c.Through < p.Through {
				return invalid("compaction at %d: through %d shrinks what the one at %d covers, through %d", seq, c.Through, live[0].Seq, p.Through)
			}
			better = c.Through == p.Through
		}
	}
	if !better && !slices.ContainsFunc(live, covers) {
		return invalid("compaction at %d: it covers nothing that was not covered", seq)
	}
	for _, call := range session.Calls(live) {
		if call.Response != nil {
			if covers(call.Event) != covers(call.Response) {
				return invalid("compaction at %d: it covers only one of the call %q (%s) at %d and its response at %d", seq, call.ID, call.Name, call.Event.Seq, call.Response.Seq)
			}
			continue
		}
		parts := call.Events()
		for _, e := range asTools {
			if call.Conversation(e.Branch) {
				parts = append(parts, e)
			}
		}
		for _, part := range parts {
			if covers(part) {
				return invalid("compaction at %d: it covers event %d of the call %q (%s) at %d, which is open", seq, part.Seq, call.ID, call.Name, call.Event.Seq)
			}
		}
	}
	for _, w := range session.NewWorkflowRuns(live).Workflows() {
		if !w.Open() {
			continue
		}
		for _, e := range w.Events {
			if covers(e) {
				return invalid("compaction at %d: it covers event %d of the workflow's run %q, which has not ended", seq, e.Seq, w.Path)
			}
		}
		if w.Input != nil && covers(w.Input) {
			return invalid("compaction at %d: it covers event %d, the input of the workflow's run %q, which has not ended", seq, w.Input.Seq, w.Path)
		}
	}
	return nil
}

// CheckRewind returns an ErrInvalid that says why an event with a rewind may not be appended at
// position seq, or nil: it points backward, and it carries nothing else.
func CheckRewind(seq int64, e *session.Event) error {
	if to := e.Actions.Rewind.To; to < 0 || to >= seq {
		return invalid("rewind at %d: to %d does not point backward", seq, to)
	}
	// It may have an identity, metadata, and what says that a turn is complete.
	for _, f := range session.Fields() {
		switch f.Name {
		case "CustomMetadata", "TurnComplete", "Actions.Rewind":
			continue
		}
		if f.Kind != session.Identity && !f.In(e).IsZero() {
			return invalid("rewind at %d: its event has %s too; emit that as an event of its own", seq, f.Name)
		}
	}
	if len(e.Actions.Extra) > 0 {
		return invalid("rewind at %d: its event has other actions too; emit them as an event of their own", seq)
	}
	return nil
}

// checkEvent returns an ErrInvalid for an event that no log can take, whatever is in it.
func checkEvent(e *session.Event) error {
	switch {
	case e == nil:
		return invalid("the event is nil")
	case len(e.ID) > 512:
		return invalid("the event's id has %d bytes; 512 is the most", len(e.ID))
	case !storable(e.ID):
		return invalid("the event's id %q holds a NUL or is not UTF-8", e.ID)
	case e.Actions.Rewind != nil && e.Actions.Compaction != nil:
		return invalid("the event is both a compaction and a rewind")
	}
	if err := checkExtra(e); err != nil {
		return err
	}
	for key := range e.Actions.StateDelta {
		if key == "" || len(key) > 512 {
			return invalid("a state key has %d bytes; it needs 1 to 512", len(key))
		}
		if !storable(key) {
			return invalid("the state key %q holds a NUL or is not UTF-8", key)
		}
	}
	for key, by := range e.Actions.StateIncrement {
		if !session.SharedKey(key) || len(key) > 512 {
			return invalid("stateIncrement of %q: only %q and %q keys can be added to", key, session.AppPrefix, session.UserPrefix)
		}
		if !storable(key) {
			return invalid("stateIncrement of %q: the key holds a NUL or is not UTF-8", key)
		}
		if math.IsInf(by, 0) || math.IsNaN(by) {
			return invalid("stateIncrement of %q by %v: not a number", key, by)
		}
	}
	for key, bound := range e.Actions.StateBound {
		if _, added := e.Actions.StateIncrement[key]; !added {
			return invalid("stateBound of %q: the event does not add to that key", key)
		}
		if math.IsNaN(bound) || math.IsInf(bound, 0) {
			return invalid("stateBound of %q is %v: not a finite number", key, bound)
		}
	}
	return nil
}

// checkExtra refuses keys in Extra that are a field's: the log would say twice, or otherwise than
// everybody has seen, what the event is.
func checkExtra(e *session.Event) error {
	check := func(extra map[string]jsontext.Value, fields map[string]bool) error {
		for key := range extra {
			if fields[spelling.Folded(key)] {
				return invalid("the event has the key %q in Extra, which is a field's", key)
			}
		}
		return nil
	}
	err := errors.Join(check(e.Extra, eventFields), check(e.Actions.Extra, actionFields))
	if c := e.Actions.Compaction; c != nil {
		err = errors.Join(err, check(c.Extra, compactionFields))
	}
	for _, c := range e.Actions.RequestedToolConfirmations {
		err = errors.Join(err, check(c.Extra, confirmationFields))
	}
	if n := e.NodeInfo; n != nil {
		err = errors.Join(err, check(n.Extra, nodeInfoFields))
	}
	return err
}

var (
	eventFields        = fieldsOf(session.Event{})
	actionFields       = fieldsOf(session.Actions{})
	compactionFields   = fieldsOf(session.Compaction{})
	confirmationFields = fieldsOf(session.Confirmation{})
	nodeInfoFields     = fieldsOf(session.NodeInfo{})
)

func init() {
	eventFields["routes"] = true // another kit's spelling of the route in the actions: it is read as that
}

// fieldsOf returns the folded JSON names of a struct's fields.
func fieldsOf(v any) map[string]bool {
	names := map[string]bool{}
	for f := range reflect.TypeOf(v).Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			names[spelling.Folded(name)] = true
		}
	}
	return names
}

// storable reports whether every store can keep s as it is: as JSON, and as a database's text.
func storable(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// compaction returns the event's compaction, nil if it has none or an inert one.
func compaction(e *session.Event) *session.Compaction {
	if e.Marker() {
		return e.Actions.Compaction
	}
	return nil
}

// invalid returns an error that is session.ErrInvalid and reads as formatted.
func invalid(format string, args ...any) error {
	return &invalidError{text: fmt.Sprintf(format, args...)}
}

// boundError is session.ErrBound with its figures.
type boundError struct {
	key              string
	value, by, bound float64
}

func (e *boundError) Error() string {
	return fmt.Sprintf("stateIncrement of %q: %v + %v is more than its bound %v", e.key, e.value, e.by, e.bound)
}
func (e *boundError) Is(target error) bool { return target == session.ErrBound }

// tooLate returns an error that is session.ErrInvalid and session.ErrConflict and reads as formatted.
func tooLate(format string, args ...any) error {
	return &invalidError{text: fmt.Sprintf(format, args...), late: true}
}

type invalidError struct {
	text string
	late bool
}

func (e *invalidError) Error() string { return e.text }
func (e *invalidError) Is(target error) bool {
	return target == session.ErrInvalid || e.late && target == session.ErrConflict
}

package session

import (
	"math"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"
)

// Actions are an event's effects beyond its content.
type Actions struct {
	// StateDelta sets state keys; nil deletes one. Keys with the prefix "app:" belong to every session
	// of the app, "user:" to every session of the app's user, "temp:" to this invocation only.
	StateDelta map[string]any `json:"stateDelta,omitzero" event:"json"`
	// StateIncrement adds to numbers in "app:" and "user:" keys, so that concurrent sessions lose
	// nothing. An absent key counts as 0. It is applied before StateDelta.
	StateIncrement map[string]float64 `json:"stateIncrement,omitzero" event:"keys,application"`
	// StateBound has, by key of StateIncrement, the greatest number that the addition may lead to. An append
	// that would lead to a greater one is refused as a whole with ErrBound. A bound is a condition of its
	// append: it is not stored. Additions of less than 0 are not bounded.
	StateBound map[string]float64 `json:"stateBound,omitzero" event:"keys,application"`
	// ArtifactDelta has the new version of each artifact that was saved, by name.
	ArtifactDelta map[string]int64 `json:"artifactDelta,omitzero" event:"keys"`
	// SkipSummarization on a function response says that it is the answer.
	SkipSummarization bool `json:"skipSummarization,omitzero" event:"flag"`
	// TransferToAgent names the agent that goes on.
	TransferToAgent string `json:"transferToAgent,omitzero" event:"word,application"`
	// Escalate ends the loop that the agent is in.
	Escalate bool `json:"escalate,omitzero" event:"flag"`
	// Route chooses among the edges that leave a workflow's node: a string, a number, a bool, or a list of these.
	// nil is none.
	Route any `json:"route,omitzero" event:"json"`
	// RequestedToolConfirmations holds function calls, by id, until a human has answered: with an input
	// that has the same call's id here (see Calls).
	RequestedToolConfirmations map[string]Confirmation `json:"requestedToolConfirmations,omitzero" event:"record"`
	// Compaction makes this event stand in for earlier ones; only plugins may emit one.
	Compaction *Compaction `json:"compaction,omitzero" event:"record"`
	// Rewind voids earlier events; only plugins may emit one.
	Rewind *Rewind `json:"rewindTo,omitzero" event:"flag"`

	// Extra holds the action keys that have no field here.
	Extra map[string]jsontext.Value `json:",embed"`
}

// A Confirmation asks a human about one function call, or answers.
type Confirmation struct {
	Hint      string `json:"hint,omitzero"`
	Confirmed bool   `json:"confirmed,omitzero"`
	Payload   any    `json:"payload,omitzero"`
	// Ask, in a question, says whose yes is needed: that of each of these; nil is UserRole. Ours, not the kit's.
	Ask []Approver `json:"ask,omitzero"`
	// Name and Roles, in an answer, are those of its Sender: the runner writes them. Ours, not the kit's.
	Name  string   `json:"name,omitzero"`
	Roles []string `json:"roles,omitzero"`

	Extra map[string]jsontext.Value `json:",embed"`
}

// Compaction stands in for every earlier live event up to Through, except those listed in Keep. It covers more than
// the one before it, or the same, with a better Content. One without Through (another kit's, which covers a range of time) is inert.
type Compaction struct {
	// Through is the position of the last event that is covered, or kept.
	Through int64 `json:"through,omitzero"`
	// Keep lists, ascending, live events up to Through that stay as they are.
	Keep []int64 `json:"keep,omitzero"`
	// Frontier is the position of the last compaction or rewind its author knew, 0 if there was none.
	Frontier int64 `json:"frontier,omitzero"`
	// Content is what stands in for the rest.
	Content *genai.Content `json:"compactedContent,omitzero"`
	// Branches has the branch of each of Content's parts, whose agents are shown it; "" and what is not there
	// is everyone's. Agents in branches that do not see each other do not see each other's summaries.
	Branches []string `json:"branches,omitzero"`
	// Extra holds the keys that have no field here, such as another kit's time range.
	Extra map[string]jsontext.Value `json:",embed"`
}

// Rewind voids every event after position To and before itself: messages, tool calls, state, other
// rewinds and compactions. An event with a Rewind carries nothing else. Its JSON form is the number.
type Rewind struct{ To int64 }

// Set sets a state key, nil deletes it. The map is made if it is nil.
func (a *Actions) Set(key string, value any) {
	if a.StateDelta == nil {
		a.StateDelta = map[string]any{}
	}
	a.StateDelta[key] = value
}

// Confirm asks for, or gives, the yes or no to a call. The map is made if it is nil.
func (a *Actions) Confirm(callID string, c Confirmation) {
	if a.RequestedToolConfirmations == nil {
		a.RequestedToolConfirmations = map[string]Confirmation{}
	}
	a.RequestedToolConfirmations[callID] = c
}

// Increment adds by to what StateIncrement says of a key. If bound is not infinite, it is the key's
// StateBound: an append that would lead to a greater number is refused with ErrBound. The maps are made if
// they are nil.
func (a *Actions) Increment(key string, by, bound float64) {
	if a.StateIncrement == nil {
		a.StateIncrement = map[string]float64{}
	}
	a.StateIncrement[key] += by
	if math.IsInf(bound, 1) {
		return
	}
	if a.StateBound == nil {
		a.StateBound = map[string]float64{}
	}
	a.StateBound[key] = bound
}

// compaction is the event's compaction, nil if it has none or an inert one.
func (e *Event) compaction() *Compaction {
	if c := e.Actions.Compaction; c != nil && c.Through != 0 {
		return c
	}
	return nil
}

// Marker reports whether the event changes what earlier events count for: whether it has a Rewind, or
// a Compaction that is not inert.
func (e *Event) Marker() bool { return e.Actions.Rewind != nil || e.compaction() != nil }

package session

import (
	"context"
	"slices"
	"time"

	"google.golang.org/genai"
)

// An Invocation is one run on a session as a plugin or an agent sees it at one moment: a snapshot,
// which does not change while it is held. It is shared, so treat what it points to as read only.
type Invocation struct {
	// ID names the invocation.
	ID string
	// Key names the session.
	Key Key
	// Number is the session's number in its store (Session.Number). It is 0 in a plugin's own process.
	Number int64
	// Input is the caller's event as it is in the log: nil before it is there, and to the end if there
	// is none or a plugin has withheld it.
	Input *Event
	// Config is how the caller wants it run.
	Config RunConfig
	// Live is the live view: head, kept, tail (see Live).
	Live []*Event
	// State is the state: the session's keys, and those with the prefixes "app:", "user:" and "temp:".
	State map[string]any
	// Position is the position of the last event in the log, Frontier that of the last compaction or
	// rewind.
	Position, Frontier int64
	// Offered returns the declarations of the tools that an agent has now, by the agent's name: those that its
	// model is offered, or that the nodes of a workflow call. It returns nil for an agent that the runner does
	// not know or that does not say which tools it has. Offered is nil between two runs and in a plugin's own
	// process; call Declared.
	Offered func(agent string) []*genai.FunctionDeclaration
	// Clock is the runner's clock; call Now.
	Clock func() time.Time
	// Folded returns the fold that is kept under a key of the caller's own type, and how many events it has taken
	// in: the first ones of Live. If there is none, it calls begin to make an empty one. It returns nil and 0 where
	// nothing is kept. The fold is kept with the live view, for later runs: the caller adds nothing to it, and reads
	// it no longer than its own run lasts. Folded is nil for hooks that are called in the background, between two
	// runs and in a plugin's own process.
	Folded func(key any, begin func() Fold) (fold Fold, events int)
}

// Now returns the time by the runner's clock, in UTC. Events have their times from it, so plugins that count by time
// ask it, and not time.Now: a script of package plugintest sets it. In a plugin's own process it is the time at
// which the hook was called. Without a clock it is the machine's.
func (inv *Invocation) Now() time.Time {
	if inv.Clock == nil {
		return time.Now().UTC()
	}
	return inv.Clock().UTC()
}

// Declared returns the declarations of the tools of a name that an agent has now. There is none if nobody
// knows (see Offered), and there are several if nodes of a workflow call different tools of that name.
func (inv *Invocation) Declared(agent, tool string) []*genai.FunctionDeclaration {
	if inv.Offered == nil {
		return nil
	}
	var list []*genai.FunctionDeclaration
	for _, d := range inv.Offered(agent) {
		if d != nil && d.Name == tool {
			list = append(list, d)
		}
	}
	return list
}

// Released returns the calls that an input approves, as OnEvent is offered the input: calls that a human was
// asked about and that nobody has answered. Their agents execute them once the input is in the log. A plugin
// that denies one emits its response (Respond), in the Branch of the call's Event; one that withholds the
// input leaves them all waiting. Released returns nil for an event of anybody but the user.
func (inv *Invocation) Released(input *Event) []Call {
	if input.Author != User || len(input.Actions.RequestedToolConfirmations) == 0 {
		return nil
	}
	var released []Call
	for _, c := range Calls(append(slices.Clip(inv.Live), input)) {
		if c.Decision == input && c.Approved() && c.Response == nil {
			released = append(released, c)
		}
	}
	return released
}

// A RunConfig is what a caller can ask of one run. The zero RunConfig is the usual.
type RunConfig struct {
	// Sender is who sends the input. The zero Sender is the session's own user. A program that takes inputs from
	// others says who they are: they may answer only what waits for one of their roles.
	Sender Sender
	// Create makes the session if it is not there.
	Create bool
	// Streaming says whether partial events are wanted, and whether the run is a live one.
	Streaming Streaming
	// NoAgent says that the input goes into the log, with all that plugins do about it, and that no agent
	// runs: for an input that only changes state.
	NoAgent bool
}

// Streaming is how a run is streamed.
type Streaming string

// Ways to stream.
const (
	NoStreaming Streaming = ""     // whole events only: the runner drops partial ones
	SSE         Streaming = "sse"  // partial events as the model makes them
	Bidi        Streaming = "bidi" // a live session: inline audio is yielded and not appended
)

// Snapshot returns a session as a plugin would see it between two runs: no input, and the ID of the
// invocation that the last live event belongs to.
func Snapshot(ctx context.Context, svc Reader, key Key) (*Invocation, error) {
	s, err := svc.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	live, err := ReadAll(ctx, svc, key, Selection{Live: true})
	if err != nil {
		return nil, err
	}
	inv := &Invocation{
		Key:      key,
		Number:   s.Number,
		Live:     live,
		State:    s.State,
		Position: s.Position,
		Frontier: s.Frontier,
	}
	if len(live) > 0 {
		inv.ID = live[len(live)-1].InvocationID
	}
	return inv, nil
}

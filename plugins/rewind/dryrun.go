package rewind

import (
	"maps"
	"reflect"
	"slices"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// A Plan says what a rewind would do, or has done. Positions are ascending.
type Plan struct {
	// To is the position that the session goes back to; Position is the last one before the rewind.
	To       int64 `json:"to"`
	Position int64 `json:"position"`
	// Void are the events that would not count any more, also those that a summary stands for. Turns is how many of them
	// are a user's message that begins an invocation. Invocations are those that lose events.
	Void        []int64  `json:"void,omitzero"`
	Turns       int      `json:"turns,omitzero"`
	Invocations []string `json:"invocations,omitzero"`
	// Cut is the invocation of which only the end would be taken back, "" if there is none.
	Cut string `json:"cut,omitzero"`
	// Back are the events that would come back into the live view. A summary stands for them now, or another rewind has
	// taken them back.
	Back []int64 `json:"back,omitzero"`
	// Summaries and Rewinds are the compactions and rewinds that would not count any more.
	Summaries []int64 `json:"summaries,omitzero"`
	Rewinds   []int64 `json:"rewinds,omitzero"`
	// State has the session's keys that would change, in order.
	State []Change `json:"state,omitzero"`
	// Shared are the "app:" and "user:" keys that void events changed; they stay as they are.
	Shared []string `json:"shared,omitzero"`
	// Artifacts are the versions that void events saved, by name; they stay saved.
	Artifacts map[string][]int64 `json:"artifacts,omitzero"`
	// Calls are the void function calls that were executed, or may have been; their effects outside the log stay. Calls
	// that a plugin answered, that a human declined, or that wait for a human were not executed.
	Calls []Call `json:"calls,omitzero"`
	// Dropped are the void calls that wait for a human or a later answer. Nobody could answer them any more.
	Dropped []Call `json:"dropped,omitzero"`
	// Waiting are the calls that would wait for a human or a later answer again. Interrupted are those that would be open
	// without waiting; the next run answers them as interrupted.
	Waiting     []Call `json:"waiting,omitzero"`
	Interrupted []Call `json:"interrupted,omitzero"`
}

// A Change is what a rewind does to a state key. The value of a missing key is nil.
type Change struct {
	Key string `json:"key"`
	Old any    `json:"old"`
	New any    `json:"new"`
}

// A Call is a function call, at the position of its event.
type Call struct {
	Seq  int64          `json:"seq"`
	ID   string         `json:"id,omitzero"`
	Name string         `json:"name"`
	Args map[string]any `json:"args,omitzero"`
}

func callOf(c session.Call) Call {
	return Call{Seq: c.Event.Seq, ID: c.ID, Name: c.Name, Args: c.Args}
}

// DryRun says what a command would do to a session that has the whole log and was created with the state initial
// (session.Session.Initial). It returns the error that the command would be answered with.
func DryRun(initial map[string]any, log []*session.Event, c session.Command) (*Plan, error) {
	was := whole(log)
	to, err := was.target(c)
	if err != nil {
		return nil, err
	}
	now := standing(log)
	then := standing(log[:to])
	p := &Plan{To: to, Position: was.position}
	p.events(log, now, then)
	p.Turns = len(was.turns()) - len((&past{events: left(was.events, then)}).turns())
	p.state(session.State(initial, log), session.State(initial, log[:to]))
	p.calls(session.Calls(was.events), session.Calls(whole(log[:to]).events), then)
	return p, nil
}

// standing returns the statuses, by position, of the events of a log that no rewind has voided.
func standing(log []*session.Event) map[int64]session.EventStatus {
	var statuses session.EventStatuses
	for _, e := range log {
		statuses.Add(e)
	}
	list := map[int64]session.EventStatus{}
	for _, e := range log {
		status := statuses.Of(e)
		if status.Void == 0 {
			list[e.Seq] = status
		}
	}
	return list
}

func left(events []*session.Event, then map[int64]session.EventStatus) []*session.Event {
	return slices.DeleteFunc(slices.Clone(events), func(e *session.Event) bool {
		_, stays := then[e.Seq]
		return !stays
	})
}

// events fills in what happens to events, given those that count now and those that would count then.
func (p *Plan) events(log []*session.Event, now, then map[int64]session.EventStatus) {
	shared := map[string]bool{} // state keys
	kept := map[string]bool{}   // invocations that keep events
	lost := map[string]bool{}   // invocations that lose events
	for _, e := range log {
		_, is := now[e.Seq]
		after, stays := then[e.Seq]
		if stays && after.Live && !now[e.Seq].Live && !e.Marker() {
			p.Back = append(p.Back, e.Seq)
		}
		if stays {
			kept[e.InvocationID] = true
		}
		if stays || !is {
			continue
		}
		switch {
		case e.Actions.Rewind != nil:
			p.Rewinds = append(p.Rewinds, e.Seq)
		case e.Marker():
			p.Summaries = append(p.Summaries, e.Seq)
		default:
			p.Void = append(p.Void, e.Seq)
			if !lost[e.InvocationID] {
				lost[e.InvocationID] = true
				p.Invocations = append(p.Invocations, e.InvocationID)
			}
		}
		for key := range e.Actions.StateDelta {
			shared[key] = true
		}
		for key := range e.Actions.StateIncrement {
			shared[key] = true
		}
		for name, version := range e.Actions.ArtifactDelta {
			if p.Artifacts == nil {
				p.Artifacts = map[string][]int64{}
			}
			p.Artifacts[name] = append(p.Artifacts[name], version)
		}
	}
	maps.DeleteFunc(shared, func(key string, _ bool) bool { return !session.SharedKey(key) })
	p.Shared = slices.Sorted(maps.Keys(shared))
	if len(p.Invocations) > 0 && kept[p.Invocations[0]] {
		p.Cut = p.Invocations[0]
	}
}

// state fills in the changes of the session's state.
func (p *Plan) state(now, then map[string]any) {
	all := maps.Clone(now)
	maps.Copy(all, then)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if !reflect.DeepEqual(now[key], then[key]) {
			p.State = append(p.State, Change{Key: key, Old: now[key], New: then[key]})
		}
	}
}

// calls fills in what happens to function calls, given those of now and those of then. stay has the events that stay.
func (p *Plan) calls(now, then []session.Call, stay map[int64]session.EventStatus) {
	was := map[*genai.FunctionCall]session.Call{}
	for _, c := range now {
		was[c.FunctionCall] = c
		if _, stays := stay[c.Event.Seq]; stays {
			continue
		}
		if c.Waits() {
			p.Dropped = append(p.Dropped, callOf(c))
		}
		if executed(c) {
			p.Calls = append(p.Calls, callOf(c))
		}
	}
	for _, c := range then {
		before, is := was[c.FunctionCall]
		unchanged := is && before.Response == nil && before.Waits() == c.Waits()
		switch {
		case c.Response != nil || unchanged:
		case c.Waits():
			p.Waiting = append(p.Waiting, callOf(c))
		default:
			p.Interrupted = append(p.Interrupted, callOf(c))
		}
	}
}

// executed reports whether a call was executed, or may have been.
func executed(c session.Call) bool {
	if c.Response != nil {
		if _, emitted := c.Response.Plugin(); emitted {
			return false
		}
	}
	return c.Held == nil || c.Approved()
}

package rewind

import "github.com/plughook/plughook/session"

// A Plan says what a rewind would do, or has done. Positions are ascending.
type Plan struct {
	// To is the position it goes to, Position the last event's before it.
	To       int64 `json:"to"`
	Position int64 `json:"position"`
	// Void are the events that count and would no longer, those that a summary stands for included; Turns how many
	// of them begin an invocation with a user's message, Invocations those that lose events.
	Void        []int64  `json:"void,omitzero"`
	Turns       int      `json:"turns,omitzero"`
	Invocations []string `json:"invocations,omitzero"`
	// Cut is the invocation that would lose its end and keep its beginning, "" if there is none.
	Cut string `json:"cut,omitzero"`
	// Back are the events that would be in the live view and are not: a summary stands for them, or another
	// rewind had voided them.
	Back []int64 `json:"back,omitzero"`
	// Summaries and Rewinds are the compactions and rewinds that would count no more.
	Summaries []int64 `json:"summaries,omitzero"`
	Rewinds   []int64 `json:"rewinds,omitzero"`
	// State has the session's keys that would change, by key.
	State []Change `json:"state,omitzero"`
	// Shared are the "app:" and "user:" keys that void events changed; they stay as they are.
	Shared []string `json:"shared,omitzero"`
	// Artifacts are the versions that void events saved, by name; they stay saved.
	Artifacts map[string][]int64 `json:"artifacts,omitzero"`
	// Calls are the void function calls that were made, or may have been: what they did outside stays
	// done. Those that a plugin answered or a human declined, and those that still wait for a human, are left out.
	Calls []Call `json:"calls,omitzero"`
	// Dropped are the void calls that wait for a human or a later answer: nobody will be able to answer them.
	Dropped []Call `json:"dropped,omitzero"`
	// Waiting are calls that would wait for a human or a later answer, and do not now; Interrupted those that would be
	// open and wait for nobody, which the next run answers as interrupted.
	Waiting     []Call `json:"waiting,omitzero"`
	Interrupted []Call `json:"interrupted,omitzero"`
}

// A Change is what a rewind does to a state key. A nil value is that of a key that is not there.
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

func callOf(c session.Call) Call { return Call{c.Event.Seq, c.ID, c.Name, c.Args} }

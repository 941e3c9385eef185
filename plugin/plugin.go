// Package plugin defines what steers a run: a Plugin is a value with up to four hooks, and each
// hook answers with the same value, an Outcome.
//
//	hook         is called                                            with
//	BeforeRun    once the input is in the log, before any agent runs  the invocation
//	BeforeModel  before each model call                               the request, which it may change
//	OnEvent      before an event is appended: the user's input,       the event
//	             every agent's event, every plugin's event
//	AfterRun     once, however the invocation ended, if it got the    how it ended
//	             session's lease
//
// After a Stop the plugins that come later are asked all the same, in BeforeRun too. What one
// emits in BeforeRun is offered to their OnEvent before their BeforeRun is called: an observer
// may see a refusal before it hears that the run has begun.
//
// What a hook may answer:
//
//	             Replace  Emit  Withhold  Stop
//	BeforeRun             yes   yes       yes       either: no agent runs
//	BeforeModel           yes   yes       yes       either: the model is not called
//	OnEvent      yes      yes   yes       yes
//	AfterRun              yes
//
// What BeforeModel emits without Withhold or Stop changes the log, so the request is built anew
// and the hook starts over with the first plugin; a plugin that makes it start over more than 8
// times for one model call has failed. What it emits with Withhold stands in for the model's
// answer; with Withhold and nothing left in the log, the invocation ends.
//
// Anything else is an Error, and so is a hook's own error or panic. Errors are closed: the event
// at hand is not appended, the model is not called, the invocation ends. FailOpen changes that
// for one plugin, Timeout bounds its hooks.
//
// The rules that the runner keeps are in its package's doc comment.
//
// A new hook: a field of Plugin here, a row of Hooks (wrappers, checks, the wire's messages, time limits and test
// kits range over that list), its number in plugin/remote/wire/plugin.proto, and the place in package runner
// where a run calls it. If it is called with something new, that is a field of Args, and of Call in plugin.proto
// with its encoding in plugin/internal/caller and plugin/internal/callee. A new field of Plugin goes into
// plugin/internal/message Subscription, too. A hook around a model call also passes agent.Host, and the library for Node.js has
// a list of its own (plugin/remote/node/library/conversation.mjs).
package plugin

import (
	"context"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/session"
)

// A Plugin is a name and the hooks it subscribes to; a nil hook is never called and costs
// nothing. One value may serve many runs at once, so its hooks must be safe for concurrent use.
// Wrapping a plugin is copying the struct and replacing fields.
//
// Events, invocations and all they point to are shared: a hook changes nothing in place, but the
// request of BeforeModel. A change to an event is a Clone with the change in it, answered as
// Replace.
type Plugin struct {
	// Name is lower case letters, digits, '-', '_' and '.', at most 64. What the plugin emits has
	// the author "plugin/" and this name.
	Name string
	// Doc says in a sentence what the plugin does.
	Doc string
	// StateName is the name that the plugin's state keys begin with, Name if it is empty. A program that is
	// configured under another name than its own still writes the keys that it was made with: package remote
	// sets StateName to the program's own name. See OwnersOf for when that counts.
	StateName string
	// ReadsState returns the state keys that the plugin's settings name, such as that of a session's tenant: their
	// values decide what the plugin does. "*" stands for every key, and "" for none. A server lets callers write none of them unless it
	// is told to. It may be nil.
	ReadsState func() []string
	// Program tells one program from another, if the plugin is a process of its own: package remote sets it to
	// how the process is started. It is empty for plugins in this process.
	Program string

	// BeforeRun is called once for each run, when the input is in the log and before any agent
	// runs. To end the run there, it answers Withhold or Stop; what it emits is the answer to the
	// user. Its invocation has the input as Input.
	BeforeRun func(context.Context, *session.Invocation) (Outcome, error)
	// BeforeModel is called before each model call. It may change the request in place. To keep
	// the model from being called, it answers Withhold, and what it emits stands in for the
	// model's answer; Stop ends the run. What it emits without either is appended, and the
	// request is built anew.
	BeforeModel func(context.Context, *session.Invocation, *model.Request) (Outcome, error)
	// OnEvent is called before an event is appended: the user's input, an agent's event, or one
	// that another plugin emits. It may answer Replace, to have a changed copy appended, or
	// Withhold, to have nothing appended. It sees partial events only if Partials is set, and
	// only the events that Filter selects.
	OnEvent func(context.Context, *session.Invocation, *session.Event) (Outcome, error)
	// AfterRun is called once for each run, however the run ended: End says how. It may emit
	// events. If Background is set, it is called after the caller has the last event. Its context
	// is not done when that of the run is.
	AfterRun func(context.Context, *session.Invocation, End) (Outcome, error)

	// Filter selects the events that OnEvent is called with; nil selects all. A plugin that is
	// called for less costs less; that it would ask nothing of the others is its author's
	// promise.
	Filter *Filter
	// Partials says that OnEvent takes streamed partial events too. As long as one plugin with
	// OnEvent does not, and is no observer, no partial event reaches the caller: it could hold
	// what that plugin would have taken out.
	Partials bool
	// Observer says that the plugin only looks: it answers the zero Outcome. Its hooks are called
	// on a goroutine of their own with copies, in order, and neither hold up nor fail an
	// invocation; what goes wrong is logged. An observer that falls 4096 calls behind, or 64 MiB
	// of events, misses some, but never AfterRun.
	Observer bool
	// SharedState says that the hooks read state with the prefixes "app:" and "user:", which other sessions
	// change at any time. Where one plugin of a runner says so, the runner reads that state from the store
	// for each event and each other hook call, so that Invocation.State has it as it is then. Without it,
	// such state is as it was when the run began, with what the run has changed since.
	//
	// Between the hook and the append another session may still change it. What must not pass a limit is
	// added with Actions.StateIncrement and bounded with Actions.StateBound: if the bound is passed by then,
	// nothing is appended, and the runner offers the event again to all plugins, with the state as it is by
	// then; it calls the hook again if the addition came from BeforeRun or BeforeModel. After eight times the
	// run fails. AfterRun is called once: there a refusal is a failure.
	SharedState bool
	// Background says that AfterRun is called after the caller has its answer and the lease is given back.
	// What it emits is appended under a lease of its own, and not yielded.
	Background bool
	// Commands are what the plugin does on request, for programs that offer it to their users.
	Commands []Command
	// About tells of the plugin, such as the policy in force; nil if it tells nothing.
	About func() About
	// Close releases what the plugin holds, once no hook is running. It returns by the time its
	// context is done. It may be nil.
	Close func(context.Context) error
}

// An Outcome is what a hook asks of the runner. The zero Outcome asks nothing.
type Outcome struct {
	// Replace is what the event becomes. It keeps the event's ID, invocation, author, branch and
	// time, the run of a workflow's node that it belongs to or ends, what a compaction covers, and the
	// content's role if it names none; the plugin is noted on it.
	Replace *session.Event
	// Emit are events to append after the thing at hand. The runner sets their invocation, author
	// and time, and their ID and branch where they are empty. A content without a role is the model's, or
	// the user's if it has function responses.
	Emit []*session.Event
	// Withhold keeps the thing at hand from happening: the event is not appended and goes to no
	// further plugin, the model is not called, no agent runs.
	Withhold bool
	// Stop ends the invocation in good order once this outcome is carried out.
	Stop bool
	// Reason says why. It is noted on events that are replaced and emitted, so it must not quote
	// what a redaction takes out.
	Reason string
	// Unchecked says that the hook failed and why, and asks to go on all the same: the event at
	// hand, or what the run or the model call goes on to produce, is marked as not checked by
	// this plugin. FailOpen sets it.
	Unchecked string

	panic error // of the hook, where Unchecked is that it has panicked
}

// asks reports whether the outcome is not zero.
func (o *Outcome) asks() bool {
	return o.Replace != nil || len(o.Emit) > 0 || o.Withhold || o.Stop || o.Reason != "" || o.Unchecked != ""
}

// IsZero reports whether the outcome asks nothing.
func (o Outcome) IsZero() bool { return !o.asks() }

// Panic returns the hook's panic where Unchecked says that it has panicked, for the stack in it; else nil.
func (o Outcome) Panic() error { return o.panic }

// An End is how an invocation ended.
type End struct {
	Kind EndKind
	// Err is why it failed or was cancelled.
	Err error
	// Plugin is who stopped it, Reason why.
	Plugin, Reason string
}

// An EndKind is a way for an invocation to end.
type EndKind string

// Ways to end.
const (
	EndDone      EndKind = "done"      // the agent had finished
	EndStopped   EndKind = "stopped"   // a plugin asked for it
	EndFailed    EndKind = "failed"    // something returned an error, or panicked
	EndCancelled EndKind = "cancelled" // the context was done
	EndLeft      EndKind = "left"      // the caller broke out of its loop, or panicked in it
)

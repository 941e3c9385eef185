// Package runner runs agents on sessions, under plugins.
//
// A session is an append-only log of events. A runner puts events into it. Plugins steer the runner.
// Everything else is a view of the log.
//
// The rules, each held by tests of its number (TestRule1_… to TestRule12_…):
//
//  1. One path. Every event takes it: offered to plugins, appended, yielded. Early exit, compaction,
//     rewind and the user's input have no path of their own.
//  2. One way. Plugins see an event in list order. What a plugin emits is offered only to the plugins
//     after it. The order in the log is: the event, then the emissions in list order, each followed by
//     its own. Of two responses to one call within one append, the later plugin's counts: the other is
//     left out.
//  3. What is left goes on. A plugin sees the event as those before it left it. Nobody is skipped
//     because somebody answered first; a withheld event goes no further, what was emitted in its place
//     does.
//  4. One append. The event at hand and what was emitted on it are appended together, all or none.
//  5. Balanced. AfterRun is called in list order, exactly once for each plugin, for every invocation
//     that got its lease, however it ended, each with a context of its own that is bounded and not
//     cancelled. Observers are called on goroutines of their own, those in the background once the lease
//     is given back. An invocation of an agent outside goes over many calls (see Outside).
//  6. Stamped. The runner sets invocation, author and time of emitted events, and keeps those of
//     replaced ones; every change names its author. Only plugins emit compactions and rewinds, and no
//     replacement changes what one covers. State keys that begin with a configured plugin's name and ':'
//     are written by that plugin alone.
//  7. Closed. A hook's error, panic or timeout is a failure: the event at hand is not appended, the
//     model not called, and the invocation ends with a *plugin.Error.
//  8. Partial events are offered to plugins that take them and yielded, never appended; they are yielded
//     only if every plugin with OnEvent takes them or is an observer. If the whole event never comes,
//     because the caller or the agent is gone, one with the text that was shown is appended, marked as
//     interrupted. Inline audio and video that an agent makes in a live session (session.Bidi) is not
//     appended either.
//  9. The log is what happened. No event changes after it was appended; Seq orders events.
//  10. Conditional, idempotent append. An append names the position it follows; an event whose ID is in
//     the log is not appended again.
//  11. Leases. Each invocation holds the session's lease, across processes; who lost it cannot append.
//     Background work computes without a lease and takes one of its own to append.
//  12. One live view. Agents and plugins read the same one.
//
// # Files
//
// A run goes through these files from top to bottom:
//
//	run.go         the stages of a run
//	load.go        reads the session
//	input.go       checks the input; repeated.go: what became of an input that is sent again
//	path.go        offers an event to the plugins; hooks.go calls them
//	pending.go     an event on its way; changes.go: what plugins make of it
//	commit.go      appends the event and what was emitted on it
//	deliver.go     yields it to the caller, and keeps what was shown of an answer that broke off
//	agent.go       runs the agent; interrupted.go answers calls that an earlier run left open
//	outside.go     in place of the two: an agent in another program, event by event; its stages are in
//	               offering.go, what lasts between its calls in openinvocation.go
//	finish.go      calls AfterRun
//	observers.go   calls observers on goroutines of their own
//
// internal/lent finds changes in place, and keeps live views between runs. docs/sessions.md follows one
// event.
//
// A new stage of a run is a method that run.stages calls. A new rule gets a sentence above, a test with its
// number and a paragraph in docs/design.md. What is to be checked of every event before it is appended goes
// into run.commit; what a replacement must not change, into pending.replace.
package runner

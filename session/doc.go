// Package session keeps conversations: a session is an append-only log of events, and everything else
// is a view of the log.
//
//   - An Event is one entry: a message, a tool call, its response, a summary. Its JSON form is the
//     Agent Development Kit's.
//   - A Service keeps sessions. Append puts events at the end of a log, on conditions; Read selects
//     events; Lease makes a session one writer's for a while. Packages memory, sqlite and postgres
//     have Services; package sessiontest is their contract as tests.
//   - Live and State say what counts of a log: a Compaction stands in for earlier events, a Rewind voids
//     later ones, and both are events themselves. Nothing is ever deleted or changed.
//   - An Invocation is what plugins and agents see of a run: the live view and the state at one moment.
//   - A Recording is a session in a file; Import and Export.
//
// The path of one event through the project, from a run to the store and back, is in docs/sessions.md.
// What authors of stores need is in package store; what other kits mark in their logs, in package adk.
//
// A new field of an event: declare it in event.go or actions.go, with its JSON name and its kind (see FieldKind) in the
// tag. Clone, the codec, the stores' checks and the guardrail follow the tag, so one file changes. A field of the kind
// Record needs a step in plugins/guardrail/internal/walk, too; a test says so. A new way in which an event speaks of a
// call: calls.go, with a case in TestCalls. A new view of the log: a function of its own, as live.go.
package session

// Package session keeps conversations: a session is an append-only log of events, and everything else
// is a view of the log.
//
//   - An Event is one entry: a message, a tool call, its response, a summary. Its JSON form is the
//     Agent Development Kit's.
//   - A Service keeps sessions. Append puts events at the end of a log, on conditions; Read selects;
//     Turn makes a session one writer's for a while. Memory is one; packages sqlite and postgres have
//     others, sessiontest the contract.
//   - Live and State say what counts of a log: a Compaction stands in for earlier events, a Rewind voids
//     later ones, and both are events themselves. Nothing is ever deleted or changed.
//   - An Invocation is what plugins and agents see of a run: the live view and the state at one moment.
//   - A Recording is a session in a file; Import and Export.
//
// For authors of stores there are Records (events checked and encoded), At.Check, CheckCompaction and
// CheckRewind (what to refuse), Spans (the live view as positions), Owner and Change (state), Decode and
// Value, and Queue (turns within a process). Memory shows how they go together.
package session

// Package store holds what the authors of a session.Service need, so that every store keeps, refuses
// and answers the same. Package session/memory shows how the pieces go together:
//
//   - Records checks events and encodes them; a Record says what to store, and after the append
//     Record.Appended tells the caller's events their positions.
//   - CheckAt, CheckCompaction and CheckRewind say what an append must refuse.
//   - A Change is what an event does to one state key; Owner says which session, user or app has it.
//   - Spans are the live view as positions, so that reading it reads nothing else.
//   - A KeyedLock queues the leases of one process.
//   - Decode reads a stored event.
//
// A View is for the other side: it follows a session in the memory of its one writer.
//
// Package session/sessiontest is the contract as tests.
package store

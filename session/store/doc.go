// Package store holds what the authors of a session.Service need, so that every store keeps, refuses
// and answers the same. Package session/memory shows how the pieces go together:
//
//   - Records checks events and encodes them. A Record says what to store, and Record.Same whether that
//     is in the log already. After the append Record.Appended tells the caller's events their positions.
//   - CheckPosition, CheckCompaction and CheckRewind say which appends must be refused.
//   - Initial returns a new session's state as Changes. A Change is what happens to one state key, and
//     Change.Apply its new value or why it is refused; Owner says whether the session, the user or the
//     app has the key.
//   - Spans are the positions of the live view, so that reading it reads nothing else.
//   - Search answers a query, given the sessions in its order. Terms are what an index finds an event by, and
//     Conditions which of them a query wants.
//   - Decode returns the event of a Record's data.
//   - A KeyedLock puts the leases that one process takes in the order of arrival.
//
// A View is for the other side: it follows a session in the memory of its one writer.
//
// Package session/sessiontest is the contract as tests.
package store

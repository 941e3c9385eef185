// Package store holds what the authors of a session.Service need, so that every store keeps, refuses
// and returns the same. Package session/memory shows how the pieces go together:
//
//   - Create checks a new session's key and state. NotFound is the error of one that is not there.
//   - Records checks events and encodes them. A Record says what to store, and Record.Same whether that
//     is in the log already. After the append Record.Appended tells the caller's events their positions.
//     Decode returns the event of a Record's data.
//   - CheckPosition, CheckCompaction and CheckRewind say which appends must be refused.
//   - A Change is what happens to one state key, and Change.Apply its new value or why it is refused;
//     Owner says whether the session, the user or the app has the key.
//   - Spans are the positions of the live view, so that reading it reads nothing else. Spans.Select returns
//     the positions that a selection can be of.
//   - Search runs a query on sessions that come in its order. Terms are what an index finds an event by, and
//     Conditions which of them a query wants.
//   - Watchers tell who watches a session that its log has grown.
//   - A KeyedLock puts the leases that one process takes in the order of arrival.
//
// A View is for the other side: it follows a session in the memory of its one writer.
//
// Package session/sessiontest is the contract as tests. Stores of this module that keep sessions in an SQL
// database share package internal/sqlstore, too; other modules cannot import that.
//
// A new reason to refuse an event: checkEvent, or CheckCompaction and CheckRewind. A new condition of a
// search: Terms and ConditionsOf, with a case in session/sessiontest/conditions.go. A new thing that an event
// does to state: changes and Change.Apply.
package store

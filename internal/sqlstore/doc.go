// Package sqlstore is what the stores in SQL databases share: session/sqlite and session/postgres. A store's
// package has its schema, its statements and its transactions. What does not depend on the database is here:
//
//   - Leases are the leases that a process holds: who waits, who renews, who is asked to end.
//   - Events and Pages yield what a store reads page by page, with no transaction open while the caller works.
//   - A SessionQuery is the statement that selects the sessions of a search.
//   - IndexBatch and its kin say when events are taken into the index of words.
//
// A new column of the session's row: a migration and the row's scan, in both stores. A new search condition
// on sessions: SessionQuery.Select; on events: store.Terms and store.ConditionsOf. A new step in the life of
// a lease: a method of LeaseTable, and its statement in both stores.
package sqlstore

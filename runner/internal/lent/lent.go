// Package lent has what the runner lends to hooks, tools, agents and callers: events, the live view, the
// state and the invocation. They share one copy, and nobody may change it in place. A copy for each of them
// would cost more than what they do. So this package takes a fingerprint of what is lent, and compares it
// later:
//
//   - Fingerprint: of one event, from before a hook sees it until it is appended;
//   - Loan: of the live view and the state, while one run lends them;
//   - Invocation: of the fields of the session.Invocation;
//   - Views: of the live views that are kept in memory from one run on a session to the next.
//
// To have more things compared for each request, add them to Loan.Check. To have another type of value hashed
// in a way of its own, add it to compileWalk, and to hashAny if it is a free value of JSON.
package lent

// Package server serves runners over HTTP: sessions, runs, and streams that go on where they broke off.
//
//	s, err := server.New(server.Options{Apps: []server.App{{
//		Name:   "weather",
//		Runner: r,
//	}}})
//	…
//	http.ListenAndServe("127.0.0.1:8080", s)
//
// The log is the stream: the id of a server-sent event is the position of an event in its session's log, and
// a client that comes back with the last one gets what it has missed, from any process on the same store. A
// run belongs to the server, not to the request that has started it: closing the connection does not end it.
// The same input, with the same id, joins the run that is under way or shows again what became of it.
//
// The routes are in docs/server.md, and as OpenAPI at /v1/openapi.json.
//
// # Who may do what
//
// Options.Caller says who sends a request. Without it everybody may do everything, so requests from other
// machines are refused: who serves them has to say who they are. Package tokens reads callers from a file.
// Requests that a page of another origin sends, and those that name a host which is not this one, are refused
// before any route.
//
// # Where to add what
//
// A new route of the server's own: see package v1. A new protocol: a package beside v1, kit, agui and a2a
// with a function Register, which New calls; it reads requests, calls the operations of package sessions, and
// answers with web.Core.Stream what comes as a stream. What a caller may do to a session: a method in package
// sessions, for all protocols. A rule about who is let in: the guard.
package server

// Package protocol checks whether the program of a plugin, in any language, keeps
// docs/protocol.md. "runner plugin verify" is its command.
//
// Verify (verify.go) runs the checks (checks.go) one after the other. Most get a probe (probe.go): a
// process of the program, with a host that does only what the check tells it. The check has a
// made-up conversation with it (conversation.go, talk.go), or a part of one, and looks at the
// answers (answers.go). The checks themselves are in start.go, calls.go, kept.go, time.go, ends.go
// and killed.go.
//
// A new check: a row of the list in checks.go with its explanation, and its function in the file of its subject.
package protocol

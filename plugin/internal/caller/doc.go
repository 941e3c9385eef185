// Package caller is the host's side of a call: it encodes the call of a hook without what the
// plugin has been sent before (sent.go, call.go), and decodes the answer, which it does not trust
// (answer.go). Package callee is the other side.
package caller

// Package caller is the host's side of a call: it encodes the call of a hook without what the
// plugin has been sent before (sent.go, call.go), and decodes the answer, which it does not trust
// (answer.go). Package callee is the other side.
//
// What a hook is newly called with is encoded in call.go; what it newly answers is decoded in answer.go.
package caller

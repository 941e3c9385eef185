// Package callee is the plugin's side of a call: it receives calls from a stream (server.go),
// keeps what the host does not send again (received.go), calls the hook (call.go), and encodes
// what the hook answers (outcome.go). Package caller is the other side.
//
// What a hook is newly called with is decoded in call.go (args); what it newly answers is encoded in outcome.go.
package callee

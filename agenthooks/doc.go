// Package agenthooks is the contract AGENT-HOOKS 0.1 (github.com/responsibleai/agent-hooks), which belongs to no
// framework: a host shows what an agent does, at eight points, to interceptors, and obeys their verdicts. It knows nothing of
// runners, plugins or sessions.
//
//   - A Context is what an interceptor is shown, an Interceptor answers with a Verdict, and a Record says what was decided,
//     without content.
//   - A Host composes the verdicts of many interceptors, asks a Resolver about denials that a human may lift, and computes
//     identities. A Session numbers the emissions of one run. Emit is one emission.
//
// plugins/agenthost makes a runner such a host. Package web reaches interceptors in other programs. hooks/intercept makes a
// runner's plugins an interceptor.
//
// What the specification says of a context stands in context.go, of verdicts in verdict.go, of composition in compose.go. A new
// point is a row of shapes; a new profile a case of emission.run.
package agenthooks

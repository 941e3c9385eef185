// Package policy reads policies and judges texts by them. A policy is a YAML file of rules:
//
//	version: 1
//	rules:
//	  - {id: secrets, detect: {secrets: default}, action: redact}
//	  - {id: cards-in, stages: [input], detect: {pii: [CREDIT_CARD]}, action: block, message: "Please leave out card numbers."}
//	  - {id: mail, stages: [tool_args], scope: {tool: send_mail}, trust: untrusted, action: ask}
//
// A rule is about the texts of some stages of a run, such as what goes in and what tools answer, in
// a scope: apps, users, agents and tools. It acts on what its detectors find in a text, or, without
// a detector, on every text. All rules see the text as it came, and the strictest [Action] that any
// of them asks for is what happens; the order of the rules does not matter. The detectors also
// search the text with its disguises, such as base64, undone. Detectors judge a token of the vault
// as it stands; a rule's condition, and its list of permissions, see what the token stands for, if
// the policy has the token's key ([Policy.WithKey]).
//
// [Parse] and [Load] read a policy, [Policy.Judge] judges a text, [Policy.Test] runs the tests that
// a policy has in its file, and [Schema] describes the file. The plugin guardrail holds runs to a
// policy; it uses [Active] to judge the many texts of an event.
package policy

//go:generate go run ../internal/reference -o ../../../docs/guardrail-reference.md

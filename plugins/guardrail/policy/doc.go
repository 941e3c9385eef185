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
// # How a text is searched
//
// There is one question: what is to be found in this text, and how much of the answer is settled,
// which means that whatever text follows changes nothing of it? It is asked in two ways.
//
//   - Of a text that is whole, [Active.Find] asks, and all of the answer is settled.
//   - Of a text that may go on, such as a stream or an answer that broke off, [Active.FindSettled]
//     asks. It returns how many bytes of the text are settled, and finds what begins in them. A
//     [Progress] remembers how far it has come, so that the next call reads only what is new, with
//     as much before it as may decide about it.
//
// Both take the same steps:
//
//  1. A text is read behind what its window has before it, its heads; and once more with a space at
//     each of its gaps.
//  2. Of what is read, views are made, in which disguises are undone (package view). Of a text that
//     may go on, the views grow with it, and go as far as they are settled themselves.
//  3. Each detector searches each view (package detect): in a whole text with Find, around what the
//     view has changed; in one that may go on with a Reader, which says from where on the view is
//     open. The text is settled up to the first place that is open in any view, for any detector
//     of a rule that takes something out of texts or stops them.
//  4. What is found in a view is mapped back to the text. What is found in several views counts once.
//  5. The rules make findings of it, and the verdict gets these.
//
// The law is that a stream differs in nothing from the whole: the findings of FindSettled that begin
// in the bytes that are settled are those of Find, in that text and in any longer one.
//
// A stream goes through the plugin like this. A partial event adds its text to that of the stream. If
// this has grown by [Progress.Wait], it is judged with FindSettled, and with the rules about whole
// texts as far as none of them [Active.Waits] for the end. If a settled finding blocks, the stream
// ends. Otherwise what is settled is shown, edited, and [Progress.Shown] forgets it. The event that
// is whole at the end is judged with Find, as if there had been no stream.
//
// # Using a policy
//
// [Parse] and [Load] read a policy, [Policy.Judge] judges a text, and [Schema] describes the file. The
// plugin guardrail holds runs to a policy; it uses [Active] to judge the many texts of an event.
//
// Around this package stand, from the bottom up: file (what conditions know of a file), judging (what
// judges are, and how their answers are read), internal/form (the keys of a policy's file), pin (the
// declarations of tools that are pinned), then this package, and above it selftest, which runs the tests
// that a policy has in its file.
//
// A detect.Finding is a place where a detector has found something. A [Finding] is one on which a rule
// acts, and a [Verdict] is what all findings make of a text. A permission.Decision is what the lists of
// a rule with tools decide about a call, which becomes an [Action]. A guardrail.Decision is the line of a log:
// what one rule has made of one event. A shell.Decision is what rules say of one command line.
//
// # Where to add what
//
// A new kind of rule: its keys stand in internal/form, rule.go reads them, and evaluate.go decides by them
// ([Active.Whole]). A rule that looks for something else in texts needs a detector instead: its key
// stands in internal/form, schema.go has its values for editors, and detectors.go makes the detector. A new
// action: action.go names it, and edit.go carries it out. A place that data come from, or go to: flow.go. What
// lets a finding pass: allow.go. Another answer of judges: judging reads it.
package policy

//go:generate go run ../internal/reference -o ../../../docs/guardrail-reference.md

// Package guardrail is a plugin that holds runs to a policy: it blocks, redacts, masks, hashes, replaces, asks a human,
// flags. A policy is a YAML file of rules:
//
//	version: 1
//	rules:
//	  - {id: secrets, detect: {secrets: default}, action: redact}
//	  - {id: cards-in, stages: [input], detect: {pii: [CREDIT_CARD]}, action: block, message: "Please leave out card numbers."}
//	  - {id: mail, stages: [tool_args], scope: {tool: send_mail}, trust: untrusted, action: ask}
//
// A rule is about stages (what goes in, what a model is asked, what it says, what it calls tools with, what they answer,
// what stands in for a compacted conversation), in a scope (apps, users, agents, …), and acts on what its detectors find
// there, or, without a detector, on all that is there. All rules see the original, and what they ask is merged by
// strictness, never by order: see [Action].
//
// # What is looked at
//
// Every text of every event: text parts and thoughts (neighbouring parts as one text), each string and each long whole
// number in a call's arguments and in a tool's answer, their keys, files' names and links, what is in files of a type
// of text, code, names of functions that a model made up, error messages, what an answer is grounded in, state, custom
// metadata, keys that are not known here, and what a compaction puts in place of a conversation. Not looked into are the
// bytes of other files, what is behind links, ids, and the names of tools, artifacts and counters. A text is looked at as
// a reader would take it, too: see package view. A value in an object is looked at with its key before it, as "key:
// value". What is JSON in a value stays JSON when something in it is hidden.
//
// # What a stream shows
//
// What was shown is never taken back: of a stream nothing is shown but what no continuation will change, so that it is
// a beginning of what the whole event becomes. Calls are shown once they are whole and judged. Texts longer than
// some hundred bytes are looked at when they have grown by a 128th, so that the work stays in proportion. Of a text that
// breaks off, because a model has failed, what may be the beginning of something to hide is not kept.
//
// # What is left of what was blocked
//
// A refusal, authored by the plugin, with the code DENIED and a note of rule, type, number and a keyed fingerprint; never
// the text. A blocked input or answer ends the run, and the next turn works. A blocked call is answered with an error
// that the model can act on, and a blocked answer of a tool becomes one. Where a text was changed or flagged, its event
// has the same note, under [Key] in its CustomMetadata.
package guardrail

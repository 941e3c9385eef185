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
// Every text of every event: what is said, what is thought, what was heard, code, and what it has printed (each one text,
// whatever stands between its parts), each string and each long whole number in a call's arguments and in a tool's answer,
// their keys, files' names and links, what is in files of a type of text, names of functions that a model made up, roles,
// types and codes that are not the usual ones, error messages, what an answer is grounded in, state, custom metadata, keys
// that are not known here, and what a compaction puts in place of a conversation. What a caller says is input, whatever it
// gives it out for; what a tool sets in the state is of its answer, too. Not looked into are the bytes of other files, what
// is behind links, ids, branches, thoughts' signatures, the names of tools, agents, artifacts and counters, what a model's
// provider reports of its work, what a session is created with, and the reasons that other plugins give. A text is looked at
// as a reader would take it, too: see package view. A value in an object is looked at with its key before it, as "key:
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
// that the model can act on, and a blocked answer of a tool becomes one. So is a call that a human has approved, if the
// policy of that run, or what the session has read by then, blocks it; nobody is asked about it again, and nothing is taken out of what the human has seen. Where a text was changed or flagged, its event has the same
// note, under [Key] in its CustomMetadata.
//
// # Asking somebody else
//
// A rule with a judge, in place of a detector, asks a service or a model about the text:
//
//	rules:
//	  - id: topic
//	    stages: [input, output]
//	    judge: {url: https://judge.corp.example/v1, timeout: 3s, on_error: block, header_env: JUDGE_AUTH}
//	    action: block
//	  - id: medical
//	    stages: [input]
//	    judge: {model: gemini:gemini-2.5-flash, question: Does this text ask for medical advice?, timeout: 5s, on_error: allow}
//	    action: block
//
// The service is sent a POST with {"rule": "topic", "stage": "input", "text": "…"}, and answers with the status 200 and at
// most a mebibyte of
//
//	{"flagged": true, "type": "MEDICAL", "score": 0.9, "findings": [{"start": 0, "end": 4, "type": "DRUG", "score": 0.8}]}
//
// Only flagged has to be there. A type is FLAGGED if there is none, a score, from 0 to 1, is 1. Findings are parts of the
// text that is flagged, by the bytes of its UTF-8; without any, all of it is meant. Other keys are left alone. No redirect is
// followed. header_env names an environment variable with a header, as in "Authorization: Bearer TOKEN".
//
// A rule that redacts, masks, hashes, replaces or vaults is about parts: it asks about each text alone, keys too. Others ask
// about a thing that is said as a whole, and about a call or an answer as its JSON. A model is shown the text as data, between
// markers that it cannot guess, and says yes or no; how far a text can persuade a model all the same is the model's.
//
// All questions about an event are asked at once, at most 16 of a rule at a time, while the other rules do their work; what
// those block waits for no answer. The timeout is how long an event waits, for whatever reason. Anything but an answer as
// above (another status, other JSON, a panic, too late) is none, and the rule's on_error decides: block, with the type
// UNJUDGED, or allow, which marks what passes as not checked. Answers, but for those, are remembered for the text for an
// hour, at most 4096 of them and 4 MB, and none with more than some thousand findings; who asks the same
// meanwhile waits for the same answer. A stream is shown once it is whole and judged, if its judge could take something out
// of it. Of a rule in shadow no event waits for the answer: what it would have done is in the log's records and the
// metrics, and not on the event.
//
// A policy's tests, and Judge, ask nobody.
package guardrail

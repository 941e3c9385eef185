// Package guardrail is a plugin that holds runs to a policy: it blocks, redacts, masks, hashes and
// replaces what rules find in the texts of events, asks a human about calls of tools, and flags.
// Package policy has the form of policies; docs/guardrail.md is the guide.
//
// # What is judged
//
// Every text of every event is judged:
//   - what is said and thought, what was heard, code, and what it has printed; each is one text,
//     whatever stands between its parts
//   - each key, each string and each long whole number in a call's arguments, in a tool's answer,
//     in the output of a workflow's node, in state and in metadata
//   - files' names and links, and what is in files of text
//   - names of functions that a model has made up, and roles, types and codes that are not the
//     usual ones
//   - error messages, and what an answer is grounded in
//   - what stands under keys that this program does not know
//   - what a compaction puts in the place of a conversation
//
// Rules of the stage prompt judge what a model is asked: the instruction, the conversation, and the
// declarations of tools, with all texts in their schemas. An edit stands in what the model is shown. A
// tool in whose names or types something is to be hidden is not offered. If the policy has pin_tools,
// the model is offered the declarations in the policy's lockfile, whatever the tools say by now. A human
// is asked about each call of a tool that says something else, with the difference. Records about it
// have the rule "pin_tools" ([pin.Rule]) and the type TOOL_CHANGED or TOOL_NEW.
//
// What a caller says is judged as input, in whatever form it comes. State that a tool sets is
// judged as a part of its answer, too. The output of a workflow's node may come from an agent, a
// function or a tool, and the event does not say from which: rules of the stage output and rules of
// the stage tool_result are about it. If it is blocked, a refusal takes the place of the event: the
// node has not ended. A value in an object is read with its key before it, as
// "key: value". What is JSON in a value stays JSON when something in it is hidden.
//
// Not judged are the bytes of other files, what is behind links, ids, branches, the signatures of
// thoughts, the names of tools (but at prompt), agents, nodes, artifacts and counters, what a model's provider reports of
// its work, what a session is created with, and the reasons that other plugins give.
//
// # What a stream shows
//
// Nothing that was shown is taken back. Of a stream only that is shown which no continuation can
// change, so that it is always a beginning of what the whole event becomes. Calls are shown once
// they are whole. Only what is new of a text is judged, with what little stands before it that may
// decide about it, so that the work grows with the text's length. When a model fails in the middle of a text, what may be the beginning of
// something to hide is not kept.
//
// # What a block leaves
//
// In the place of a blocked input or answer stands a refusal by the plugin, with the code DENIED,
// and the run ends. The next run works. A blocked call is answered with an error that the model can
// act on, and a blocked answer of a tool becomes such an error. A call that a human approves is
// judged again, by the policy of that run and by what the session has read by then. If it is
// blocked then, it is answered with the error; what rules would ask or take out was asked and seen
// already.
//
// An event in which something was found, and a refusal, have a [Note] under [Key] in their
// CustomMetadata: rule, type, number and keyed fingerprints, never the text. A note has what rules
// in shadow would do, too: in [Record.Would]. What such a rule would deny of a call that a human
// approves is on the event with the approval. What is found in a prompt is on no event, unless it
// blocks the prompt: log records, the file of decisions and metrics have it. The plugin takes away
// notes that others have written on events that pass it. A plugin behind it can still change a note,
// and the runner notes that the event was changed. State that begins with the plugin's name and ":"
// is safe from that: the runner lets nobody else write it.
//
// # Hidden values
//
// A token of the vault holds a value, encrypted. Conditions (when) and lists of permissions (tools)
// see the values in the text, in a call's arguments, in the state and in files' names, at each stage.
// The values leave them in no form: not in messages, notes, records, errors or metrics. Detectors,
// judges and models get the token. A token of another key is a text like any other.
//
// A human who is asked about a call, by a rule or by a tool, reads in the question what the tokens in
// the arguments and in the question stand for: the type, and the last four characters of eight or
// more. The question is an event in the log. The call keeps its tokens.
//
// # Judges
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
// The service gets a POST with {"rule": "topic", "stage": "input", "text": "…"}. It answers with
// status 200 and at most one mebibyte of JSON:
//
//	{"flagged": true, "type": "MEDICAL", "score": 0.9, "findings": [{"start": 0, "end": 4, "type": "DRUG", "score": 0.8}]}
//
// Only flagged is required. The default type is FLAGGED, and the default score, which is from 0 to
// 1, is 1. Findings are the parts of the text that are flagged, by the bytes of its UTF-8; without
// findings the whole text is. What has a lower score than the rule's threshold is not flagged; without
// a threshold any score will do. Other keys are ignored. Redirects are not followed. header_env names
// an environment variable with a header, such as "Authorization: Bearer TOKEN".
//
// A model is shown the rule's examples and the text as data, between markers that no text can have; a
// text may persuade it all the same. It answers with
//
//	{"flagged": true, "score": 0.9}
//
// and nothing else. The score says how sure it is of yes: it is at least 0.5 if the text is flagged,
// and at most 0.5 if it is not. The rule acts on the text if the score is at least its threshold, which
// is 0.5 by default. Rules that ask one model about the same text are one request, and the answer is an
// object with such an answer by the id of each rule. One that is missing, or wrong, is missing for its
// rule alone. Rules in shadow are not asked together with others.
//
// A model with grounding is shown what tools have answered in the run, too, at most 32 KiB of it, the
// latest first, as the session has it. It is asked about what an agent says, not about thoughts, and
// not in a run in which no tool has answered.
//
// A rule that takes parts out of a text asks about each text alone, and about keys. Other rules ask
// about all that is said as one text, and about a call or an answer as JSON.
//
// A judge is sent what the other rules of the policy leave: what they redact or block is redacted.
// With "sees: original" it is sent the text as it came.
//
// All questions about an event are asked at once, at most 16 requests at a time to one model, or to
// the service of one rule, while the other rules judge. What those block waits for no answer. The timeout is how long an event waits.
// Anything but an answer as above, such as another status, other JSON, or one that comes too late,
// is no answer, and the rule's on_error decides: block, with the type UNJUDGED, or allow, which
// marks the event as not checked. Answers are remembered for an hour, at most 4096 of them and 4
// MB. A stream is shown once its judge has answered about the whole, if the judge could take
// something out of it. No event waits for the judge of a rule in shadow; what it would have done is
// in the log's records and in the metrics.
//
// The key "judges" of a policy bounds what models use, in each period of a plugin's life in a process:
// tokens, and dollars by Config.Price. A request is counted by an estimate when it is sent, and by what
// the model reports when it has answered. If a request would go beyond the bound, it is not sent: the
// rule's on_error decides, with the type OVER_BUDGET.
//
// A policy's tests, and policy.Policy.Judge, ask nobody. [NewJudge] asks the judge of one rule outside
// of a run, to measure it.
//
// # Where to add what
//
// A new kind of rule belongs into package policy, which says where. A new thing in an event that rules
// judge belongs into internal/walk. What becomes of a blocked event stands in event.go and refusal.go, and
// what logs and metrics say of it in report.go. What is kept of a run or an event is declared in state.go.
package guardrail

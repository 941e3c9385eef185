package policy

import "slices"

// A Stage is a place in a run where texts are judged.
type Stage string

// The stages.
const (
	Input      Stage = "input"       // what the caller says
	Prompt     Stage = "prompt"      // what a model is asked: the instruction and the conversation
	Output     Stage = "output"      // what agents say, and plugins before the guardrail, streamed or whole
	ToolArgs   Stage = "tool_args"   // what tools are called with
	ToolResult Stage = "tool_result" // what tools answer
	Summary    Stage = "summary"     // what a compaction puts in the place of a conversation
)

// Stages returns all stages, in the order of a run.
func Stages() []Stage { return []Stage{Input, Prompt, Output, ToolArgs, ToolResult, Summary} }

// An Action is what becomes of a text in which a rule has found something. Of several actions the
// strictest counts. From the most lenient to the strictest:
//
//	allow    nothing
//	approve  a tool's call passes, and nobody need be asked about it: what the list approve of tools: does
//	flag     a note on the event, and a log record
//	mask     the characters of the finding become *, but for spaces, for what divides numbers, and for the last four of eight or more
//	vault    the finding becomes a token that only holders of the key can turn back
//	hash     the finding becomes its type and a keyed fingerprint: equal values stay equal
//	replace  the finding becomes the rule's text, with
//	redact   the finding becomes its type, as in [EMAIL_ADDRESS]
//	ask      a tool's call is held until a human has said yes; for tool_args only
//	block    the text does not pass
type Action string

// The actions, from the most lenient to the strictest.
const (
	Allow   Action = "allow"
	Approve Action = "approve"
	Flag    Action = "flag"
	Mask    Action = "mask"
	Vaulted Action = "vault"
	Hash    Action = "hash"
	Replace Action = "replace"
	Redact  Action = "redact"
	Ask     Action = "ask"
	Block   Action = "block"
)

var actions = []Action{Allow, Approve, Flag, Mask, Vaulted, Hash, Replace, Redact, Ask, Block}

// ruleActions are the actions that a rule may have.
func ruleActions() []Action {
	return slices.DeleteFunc(slices.Clone(actions), func(a Action) bool { return a == Approve })
}

// StricterThan reports whether the action is stricter than another. An unknown action, such as "",
// is the most lenient.
func (a Action) StricterThan(b Action) bool { return a.Compare(b) > 0 }

// Compare orders actions, the more lenient first.
func (a Action) Compare(b Action) int { return a.strictness() - b.strictness() }

// Hides reports whether the action keeps others from seeing what was found: by changing the text,
// or by blocking it.
func (a Action) Hides() bool { return a.edits() || a == Block }

// edits reports whether the action changes a text.
func (a Action) edits() bool {
	return a.strictness() >= Mask.strictness() && a.strictness() <= Redact.strictness()
}

// strictness is the action's place among the actions, -1 if there is no such action.
func (a Action) strictness() int { return slices.Index(actions, a) }

// stricter returns the stricter of two actions.
func stricter(a, b Action) Action {
	if b.StricterThan(a) {
		return b
	}
	return a
}

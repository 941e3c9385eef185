package guardrail

import "slices"

// A Stage is where in a run a text is.
type Stage string

// The stages.
const (
	Input      Stage = "input"       // what the caller says
	Prompt     Stage = "prompt"      // what a model is asked: instruction and conversation
	Output     Stage = "output"      // what agents, and plugins before this one, say, streamed or whole
	ToolArgs   Stage = "tool_args"   // what tools are called with
	ToolResult Stage = "tool_result" // what tools answer
	Summary    Stage = "summary"     // what a compaction puts in place of a conversation
)

// Stages are all stages, in the order of a run.
func Stages() []Stage { return []Stage{Input, Prompt, Output, ToolArgs, ToolResult, Summary} }

// An Action is what becomes of a text in which a rule has found something. Of several actions the strictest counts:
//
//	allow    nothing
//	flag     a note on the event, and a record
//	mask     each character of the finding but spaces and what divides numbers becomes *, and but for the last four of eight or more
//	vault    it becomes a token that only holders of the key can turn back: see Vault
//	hash     it becomes its type and a keyed fingerprint: equal values stay equal
//	replace  it becomes the rule's text, with
//	redact   it becomes its type, as in [EMAIL_ADDRESS]
//	ask      a call is held until a human has said yes; for tool_args only
//	block    the text does not pass
type Action string

// The actions, from the most lenient to the strictest.
const (
	Allow   Action = "allow"
	Flag    Action = "flag"
	Mask    Action = "mask"
	Vaulted Action = "vault"
	Hash    Action = "hash"
	Replace Action = "replace"
	Redact  Action = "redact"
	Ask     Action = "ask"
	Block   Action = "block"
)

var actions = []Action{Allow, Flag, Mask, Vaulted, Hash, Replace, Redact, Ask, Block}

// Actions are all actions, from the most lenient to the strictest.
func Actions() []Action { return slices.Clone(actions) }

// strictness orders actions; -1 if there is no such action.
func (a Action) strictness() int { return slices.Index(actions, a) }

// stricter returns the stricter of two actions.
func stricter(a, b Action) Action {
	if b.strictness() > a.strictness() {
		return b
	}
	return a
}

// edits reports whether the action changes a text.
func (a Action) edits() bool {
	return a.strictness() >= Mask.strictness() && a.strictness() <= Redact.strictness()
}

// hides reports whether nobody is to see what was found.
func (a Action) hides() bool { return a.edits() || a == Block }

// Package dialect reads what coding agents tell their hooks, and writes what they expect to hear.
//
// A coding agent starts a command at a point of its run, writes JSON to its standard input, and obeys
// what the command prints and how it exits. Each agent has names and forms of its own: a dialect. A
// dialect here is a file of data (data/claude.json and its neighbours) and two translations: Read makes
// an Event, and Event.Reply a Reply. The package decides nothing.
//
// What an agent cannot be told becomes the nearest stricter thing that it can be told: Reply.As says
// which. If nothing stands in, Reply.Unsaid is true and the agent goes on.
//
// To teach an agent a new event, add a row to "events" in its file; for a new form of an answer, a row to
// "replies"; for a new tool, its name to data/tools.json. A new agent is a new file and a name in Agents.
package dialect

import "github.com/go-json-experiment/json/jsontext"

// Agents returns the names of the agents whose dialects are known, as the command line spells them.
func Agents() []string { return []string{"claude", "codex", "copilot", "cursor", "gemini"} }

// A Meaning is what an event of any agent is about.
type Meaning string

const (
	Prompt       Meaning = "prompt"        // a user's message, before the agent reads it
	ToolCall     Meaning = "tool_call"     // the agent wants to call a tool
	ToolResult   Meaning = "tool_result"   // a tool has returned or failed
	AgentAnswer  Meaning = "answer"        // a text of the model
	End          Meaning = "end"           // the agent's turn ends, or a subagent's
	Compact      Meaning = "compact"       // the agent compacts its context
	SessionStart Meaning = "session_start" // a session begins or is resumed
	SessionEnd   Meaning = "session_end"   // a session is over
	Notice       Meaning = "notice"        // anything else
)

// A Kind is what a tool does, whatever the agent calls it.
type Kind string

const (
	KindShell  Kind = "shell"
	KindRead   Kind = "read"
	KindWrite  Kind = "write"
	KindEdit   Kind = "edit"
	KindFetch  Kind = "fetch"
	KindSearch Kind = "search"
	KindMCP    Kind = "mcp"
	KindTask   Kind = "task" // starts a subagent
	KindOther  Kind = "other"
)

// An Event is what an agent told its hook. Fields that the agent did not fill are zero.
type Event struct {
	Kit     string // the agent that started the hook; not always the one whose file names it
	Name    string // the agent's name for the event
	Meaning Meaning
	Phase   string // "permission": a call that may have been told already; "before" or "after" a compaction; …

	Session string // the agent's id of the session; some agents have none
	Turn    string
	Call    string // the agent's id of the tool call; some agents have none
	Calls   []string
	Agent   string // the subagent that acts
	Branch  string // "start" or "end" of a subagent, or the id of one that was started in the background
	Cwd     string

	Tool       string
	Kind       Kind
	Server     string         // of an MCP tool; some events do not name it
	ServerTool string         // the MCP tool as its server names it
	Input      jsontext.Value // the arguments as they came, and JSON that came as a string
	Command    string         // what a shell is to run
	Path       string
	Paths      []string
	URL        string
	URLs       []string
	Text       string         // what a person or a model reads: a prompt, new content, a result, an answer
	Result     jsontext.Value // the tool's result as it came

	Source string // how a session began
	Reason string // why a session ended
	Status string // how a turn ended

	Error       bool // the tool, the turn or the agent failed
	Denied      bool // the failure is a hook's denial that comes back
	Background  bool // the call goes on while the agent does
	Partial     bool // more of the same answer will come
	Again       bool // the agent went on because a hook said so, and ends again
	Interrupted bool // by the user
	Unknown     bool // the dialect does not know the event
	Network     bool // the tool reaches the network
	Deletes     bool // the tool deletes its path
	Sensitive   bool // Text is what a user typed into a form
	Thought     bool // Text is the model's thought

	replies replySet
}

// An Answer is what to tell an agent.
type Answer string

const (
	Allow               Answer = "allow"                 // no objection; the agent's own rules and dialogs hold
	Approve             Answer = "approve"               // no objection and no dialog
	Deny                Answer = "deny"                  // withheld, for Verdict.Reason
	Ask                 Answer = "ask"                   // a human must say yes
	ChangeInput         Answer = "change_input"          // Verdict.Input instead; always the whole value
	ChangeInputApproved Answer = "change_input_approved" // the same, without a dialog
	ReplaceResult       Answer = "replace_result"        // Verdict.Instead in place of the result or the text
	AddContext          Answer = "add_context"           // Verdict.Reason is a text for the model
	Stop                Answer = "stop"                  // the run ends
	Failed              Answer = "error"                 // nobody could decide: closed as far as the event allows
)

// A Verdict is an answer with its texts.
type Verdict struct {
	Answer  Answer
	Reason  string
	Input   jsontext.Value // with ChangeInput and ChangeInputApproved
	Instead string         // what stands in for a withheld result; "[withheld by policy]" if empty
}

// A Reply is what a hook's process prints, and how it ends.
type Reply struct {
	Stdout []byte // nothing, a JSON document, or a text
	Stderr string // a line, or nothing
	Exit   int
	As     Answer // the answer that stands in for the verdict's; empty if the agent can be told that itself
	Unsaid bool   // the agent cannot be told, nothing stands in, and it goes on
}

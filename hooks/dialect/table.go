package dialect

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

//go:embed data/*.json
var data embed.FS

// A table is a dialect as its file has it. Unnamed strings in lists are paths in the payload, with dots.
type table struct {
	Source        string              `json:"source"`
	Fields        map[string][]string `json:"fields"`
	MCP           mcpNames            `json:"mcp"`
	EventArgument bool                `json:"event_argument"` // payloads do not name their event
	Events        map[string]row      `json:"events"`
	Aliases       map[string]string   `json:"aliases"`
	Unknown       string              `json:"unknown"`    // replies to an event that no row has
	Unreadable    string              `json:"unreadable"` // replies if not even the event is known
	Replies       map[string]replySet `json:"replies"`
	Foreign       []foreign           `json:"foreign"` // agents that read this agent's file, too
}

// mcpNames says how the name of an MCP server's tool is made.
type mcpNames struct {
	Prefix    string `json:"prefix"`
	Split     string `json:"split"`      // the first one after the prefix ends the server's name
	SplitLast string `json:"split_last"` // the last one ends the server's name
}

// A row is what an event means.
type row struct {
	Means   Meaning  `json:"means"`
	Phase   string   `json:"phase"`
	Branch  string   `json:"branch"`
	Tool    string   `json:"tool"` // where the payload names none
	Kind    Kind     `json:"kind"`
	Text    []string `json:"text"`
	Calls   []string `json:"calls"`
	Final   []string `json:"final"` // the text is partial where none of these is set
	Replies string   `json:"replies"`

	RepliesInBackground string `json:"replies_in_background"` // to a result of a call that goes on
	RepliesOfMCP        string `json:"replies_of_mcp"`

	Error       bool `json:"error"`
	Interrupted bool `json:"interrupted"`
	Sensitive   bool `json:"sensitive"`
	Thought     bool `json:"thought"`
}

// A replySet has the form of each answer that can be told at an event.
type replySet map[Answer]form

// A form is a reply with gaps: "$reason", "$event", "$input", "$result", "$withheld", "$text_and_reason".
type form struct {
	Stdout jsontext.Value `json:"stdout"`
	Stderr string         `json:"stderr"`
	Exit   int            `json:"exit"`
	As     Answer         `json:"as"`
}

// A foreign agent starts the entries of another one's file.
type foreign struct {
	Kit   string   `json:"kit"`
	Env   string   `json:"env"`
	Has   []string `json:"has"`
	Lacks []string `json:"lacks"`
}

// kinds is what is known of tools, whoever has them.
type kinds struct {
	Kinds   map[Kind][]string `json:"kinds"`
	Network []string          `json:"network"`
	Deletes []string          `json:"deletes"`
	Texts   map[Kind][]string `json:"texts"`
	Path    []string          `json:"path"`
	Paths   []string          `json:"paths"`
	URL     []string          `json:"url"`
}

// load reads the dialect of an agent. Only what is asked for is read: a hook is a short process.
func load(agent string) (*table, error) {
	text, err := data.ReadFile("data/" + agent + ".json")
	if err != nil || !slices.Contains(Agents(), agent) {
		return nil, fmt.Errorf("no dialect of an agent named %q; there are %s", agent, strings.Join(Agents(), ", "))
	}
	t := &table{}
	if err := json.Unmarshal(text, t, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("data/%s.json: %w", agent, err)
	}
	return t, nil
}

func loadTools() (*kinds, error) {
	text, err := data.ReadFile("data/tools.json")
	if err != nil {
		return nil, err
	}
	k := &kinds{}
	if err := json.Unmarshal(text, k, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("data/tools.json: %w", err)
	}
	return k, nil
}

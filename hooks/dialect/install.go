package dialect

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// An Installation says where an agent's hooks stand, and in which form.
type Installation struct {
	Project string `json:"project"` // the file below a project's directory
	User    string `json:"user"`    // the file below a home directory
	After   string `json:"after"`   // what a person still has to do
	// File is what each file of the agent has beside hooks.
	File    map[string]any `json:"file"`
	Entries []EntryGroup   `json:"entries"`
}

// An EntryGroup is a form of entry with the events that have it.
type EntryGroup struct {
	Events []string `json:"events"`
	// Closed says that the event is refused if the program cannot be started. At others a refusal would send the agent
	// round again.
	Closed bool `json:"closed"`
	// Entry is the entry; "$command" stands for the command.
	Entry json.RawMessage `json:"entry"`
}

// InstallationOf returns how an agent's hooks are installed.
func InstallationOf(agent string) (*Installation, error) {
	if !slices.Contains(Agents(), agent) {
		return nil, fmt.Errorf("no dialect of an agent named %q; there are %s", agent, strings.Join(Agents(), ", "))
	}
	text, err := data.ReadFile("data/install.json")
	if err != nil {
		return nil, err
	}
	var all map[string]*Installation
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("data/install.json: %w", err)
	}
	return all[agent], nil
}

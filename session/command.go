package session

import "maps"

// commandKey is the key of a command in CustomMetadata.
const commandKey = "command"

// A Command is what a caller asks of a plugin rather than of the agent, such as a rewind. It is an
// input's, structured, and never parsed out of text.
type Command struct {
	// Name says what to do; by custom it begins with the plugin's name.
	Name string
	// Args are JSON values.
	Args map[string]any
}

// Event returns an input with the command.
func (c Command) Event() *Event {
	value := map[string]any{"name": c.Name}
	if len(c.Args) > 0 {
		value["args"] = maps.Clone(c.Args)
	}
	return &Event{Author: User, CustomMetadata: map[string]any{commandKey: value}}
}

// Command returns the event's command, if it has one.
func (e *Event) Command() (Command, bool) {
	value, _ := e.CustomMetadata[commandKey].(map[string]any)
	name, _ := value["name"].(string)
	args, _ := value["args"].(map[string]any)
	return Command{name, args}, name != ""
}

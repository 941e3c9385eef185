package plugin

import (
	"context"

	"github.com/plughook/plughook/session"
)

// A Command is what a plugin does when the input of a run asks for it with a session.Command. A program that serves a
// runner finds it by its Action, and needs to know no plugin by name.
type Command struct {
	Action Action
	// Name is that of the session.Command.
	Name string
	// DryRun says what the command would do to a session, as a value that can be written as JSON, and changes nothing.
	// It returns a *CommandError for a command that the plugin would refuse.
	DryRun func(context.Context, session.Reader, session.Key, session.Command) (any, error)
}

// An Action is what a command does.
type Action string

// The actions that have routes of the server, and the arguments of their commands.
const (
	// Rewind takes back the end of a session. Its argument is one of "to" (a position), "before" (an invocation's
	// ID), "turns" (a number) and "undo" (true: take back the last rewind).
	Rewind Action = "rewind"
	// Compact puts a summary in place of the older part of a session. Its argument is "instructions" (a text that
	// says what the summary should have), or none.
	Compact Action = "compact"
)

// CommandRefused is the ErrorCode of the event with which a plugin answers a command that it cannot carry out.
const CommandRefused = "INVALID_ARGUMENT"

// A CommandError says why a command cannot be carried out.
type CommandError struct{ Err error }

func (e *CommandError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *CommandError) Unwrap() error { return e.Err }

// CommandFor returns the command for an action: that of the first of the plugins which has one, or nil.
func CommandFor(plugins []*Plugin, action Action) *Command {
	for _, p := range plugins {
		for i := range p.Commands {
			if p.Commands[i].Action == action {
				return &p.Commands[i]
			}
		}
	}
	return nil
}

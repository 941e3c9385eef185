package config

import "errors"

// ErrNoAgent is the error of Open and CheckAgent where the configuration has no agent.
var ErrNoAgent = errors.New("no agent is configured")

// An Error is an error about something that the configuration names and that failed when it was opened or closed.
// Errors that are not marked so are about the configuration's file, or about a file that it names.
type Error struct {
	// Component is what failed: "store", the store of sessions; "plugin", a plugin that was to be closed, or that is
	// in a process of its own; "server", a server of tools.
	Component string
	Err       error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

const (
	storeFailed  = "store"
	pluginFailed = "plugin"
	serverFailed = "server"
)

// failed marks an error with what failed, unless it is nil or marked already.
func failed(component string, err error) error {
	var marked *Error
	if err == nil || errors.As(err, &marked) {
		return err
	}
	return &Error{Component: component, Err: err}
}

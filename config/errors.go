package config

import "errors"

// ErrNoAgent is the error of Open and CheckAgent where the configuration has no agent.
var ErrNoAgent = errors.New("no agent is configured")

// A Component is what a configuration opens. See ComponentOf.
type Component string

// The parts that an error can be about.
const (
	ComponentFile   Component = "file"   // the configuration, or a file that it names
	ComponentStore  Component = "store"  // the store of sessions cannot be opened or closed
	ComponentPlugin Component = "plugin" // a plugin in a process of its own did not start, or a plugin cannot be closed
	ComponentServer Component = "server" // a server of tools cannot be reached, or did not start
)

// ComponentOf returns what an error of this package is about. Of several errors that are joined, the
// first that is about something other than the file counts. It is ComponentFile for all errors that are
// not marked otherwise.
func ComponentOf(err error) Component {
	var about *partError
	if errors.As(err, &about) {
		return about.part
	}
	return ComponentFile
}

// A partError marks an error with what it is about.
type partError struct {
	part Component
	err  error
}

func (e *partError) Error() string { return e.err.Error() }
func (e *partError) Unwrap() error { return e.err }

// about marks an error, unless it is nil or marked already.
func (p Component) about(err error) error {
	var marked *partError
	if err == nil || errors.As(err, &marked) {
		return err
	}
	return &partError{part: p, err: err}
}

package session

import (
	"errors"
	"fmt"
)

// What a caller can branch on, with errors.Is.
var (
	ErrNotFound    = errors.New("session not found")
	ErrExists      = errors.New("session exists already")
	ErrConflict    = errors.New("the log has moved on")
	ErrFenced      = errors.New("another holds the lease")
	ErrBound       = errors.New("a state value would pass its bound")
	ErrIDReused    = errors.New("event id is taken by another event")
	ErrInvalid     = errors.New("invalid")
	ErrNewerSchema = errors.New("the store's schema is newer than this program")
	ErrCancelled   = errors.New("cancelled")                       // somebody called Service.Cancel
	ErrUnavailable = errors.New("the store cannot be reached now") // what was asked for may be repeated later
	ErrClosed      = errors.New("closed")
)

// A KeyError says which session a plain error such as ErrNotFound is about.
type KeyError struct {
	Key Key
	Err error
}

func (e *KeyError) Error() string { return fmt.Sprintf("session %s: %v", e.Key, e.Err) }

// Unwrap returns Err.
func (e *KeyError) Unwrap() error { return e.Err }

// A PositionError is an append that came too late: ErrConflict with the positions, ErrFenced with the
// fences, that the append wanted and the log has.
type PositionError struct {
	Key        Key
	Want, Have int64
	Err        error
}

func (e *PositionError) Error() string {
	if e.Err == ErrFenced {
		return fmt.Sprintf("session %s: append with fence %d, lease %d is held: %v; take a lease and read the log again", e.Key, e.Want, e.Have, e.Err)
	}
	return fmt.Sprintf("session %s: append after position %d, the last is %d: %v; read the log again", e.Key, e.Want, e.Have, e.Err)
}

// Unwrap returns ErrConflict or ErrFenced.
func (e *PositionError) Unwrap() error { return e.Err }

// An EventError is an event that cannot be appended: ErrIDReused or ErrInvalid.
type EventError struct {
	Key Key
	ID  string
	Err error
}

func (e *EventError) Error() string {
	return fmt.Sprintf("session %s: event %q: %v", e.Key, e.ID, e.Err)
}

// Unwrap returns Err.
func (e *EventError) Unwrap() error { return e.Err }

// invalid returns an error that is ErrInvalid and reads as formatted.
func invalid(format string, args ...any) error {
	return &invalidError{fmt.Sprintf(format, args...)}
}

type invalidError struct{ text string }

func (e *invalidError) Error() string        { return e.text }
func (e *invalidError) Is(target error) bool { return target == ErrInvalid }

package plugin

import (
	"errors"
	"fmt"

	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/internal/panicked"
	"github.com/plughook/plughook/session"
)

// What a plugin's failure can be, with errors.Is on an Error.
var (
	ErrTimeout = errors.New("the hook did not return in time")
	ErrPanic   = panicked.ErrPanic
	ErrOutcome = errors.New("the outcome asks what this hook cannot do")
	ErrInPlace = errors.New("what is shared was changed in place; change a Clone, which a hook then answers as Replace")
)

// An Error is the failure of one plugin in one hook.
type Error struct {
	Plugin string
	Hook   Hook
	Err    error
}

func (e *Error) Error() string { return fmt.Sprintf("plugin %s: %s: %v", e.Plugin, e.Hook, e.Err) }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// A PanicError is a panic turned into an error. It is ErrPanic. Its text is one line; the stack is for the log.
type PanicError = panicked.Error

// Recovered turns what recover returned into an error: nil for nil.
func Recovered(value any) error { return panicked.Recovered(value) }

// Check returns an ErrOutcome if the outcome has a field that the hook cannot use.
func (o Outcome) Check(hook Hook) error {
	if !o.asks() {
		return nil
	}
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrOutcome, fmt.Sprintf(format, args...))
	}
	kind := hook.kind()
	switch {
	case kind == nil:
		return bad("there is no hook %q", hook)
	case o.Replace != nil && !kind.Replace:
		return bad("Replace in %s: there is no event to replace", hook)
	case o.Replace != nil && o.Withhold:
		return bad("Replace and Withhold exclude each other")
	case o.Withhold && !kind.Withhold, o.Stop && !kind.Stop:
		return bad("Withhold and Stop in %s: the invocation has ended", hook)
	}
	for _, e := range o.Emit {
		if e == nil {
			return bad("it emits a nil event")
		}
		if e.Partial {
			return bad("it emits a partial event")
		}
	}
	return nil
}

// Validate returns an error for each thing that is wrong with a list of plugins, in order: names that
// are invalid or not unique, plugins that do nothing, fields that contradict each other.
func Validate(plugins ...*Plugin) error {
	var errs []error
	seen := map[string]bool{}
	for i, p := range plugins {
		if p == nil {
			errs = append(errs, fmt.Errorf("plugin %d is nil", i+1))
			continue
		}
		bad := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("plugin %d (%q): %s", i+1, p.Name, fmt.Sprintf(format, args...)))
		}
		if !validName.MatchString(p.Name) {
			bad("the name needs 1 to 64 lower case letters, digits, '-', '_' and '.'")
		}
		switch p.Name + ":" {
		case session.AppPrefix, session.UserPrefix, session.TempPrefix, RunnerState + ":":
			bad("the name is app, user, temp or runner, with which state keys of others begin; choose another name")
		}
		if seen[p.Name] {
			bad("another plugin has this name")
		}
		seen[p.Name] = true
		if err := p.Filter.check(); err != nil {
			bad("%v", err)
		}
		switch {
		case p.Filter != nil && p.OnEvent == nil:
			bad("Filter without OnEvent")
		case len(p.Subscribes()) == 0:
			bad("it has no hook")
		case p.Partials && p.OnEvent == nil:
			bad("Partials without OnEvent")
		case p.Background && p.AfterRun == nil:
			bad("Background without AfterRun")
		case p.Background && p.Observer:
			bad("an observer is in the background already")
		}
	}
	return errors.Join(errs...)
}

var validName = lazyregexp.New(`^[a-z0-9_.-]{1,64}$`)

// Warnings returns what is allowed in a list of plugins and may not be meant: an observer that stands
// before a plugin which may change or withhold what the observer has then seen already, and a plugin that
// keeps every run from streaming.
func Warnings(plugins ...*Plugin) []string {
	var advice []string
	for i, p := range plugins {
		if p.OnEvent != nil && !p.Observer && !p.Partials {
			advice = append(advice, fmt.Sprintf("plugin %q takes no partial events, so no run streams: it could take out of the whole event what was streamed; runs stream once it sets Partials and gets those events too", p.Name))
		}
		if !p.Observer || p.OnEvent == nil {
			continue
		}
		for _, later := range plugins[i+1:] {
			if later.OnEvent != nil && !later.Observer {
				advice = append(advice, fmt.Sprintf("observer %q stands before plugin %q: it sees events as they are before %q changes or withholds them; put it last", p.Name, later.Name, later.Name))
				break
			}
		}
	}
	return advice
}

// Deny returns the outcome that ends a run with a refusal in place of the thing at hand: an event with
// the text and the error code DENIED. It is for every hook but AfterRun.
func Deny(text, reason string) Outcome {
	e := session.Reply(text)
	e.ErrorCode, e.ErrorMessage = session.Denied, reason
	return Outcome{Emit: []*session.Event{e}, Withhold: true, Stop: true, Reason: reason}
}

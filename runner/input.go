package runner

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// prepare checks the input and makes a copy of it that is the run's own.
func (x *run) prepare() error {
	if err := x.key.Check(false); err != nil {
		return fmt.Errorf("runner: %w", err)
	}
	if x.input == nil {
		x.id = session.NewID()
		return nil
	}

	// Is it something that a caller may put in?
	in := x.input.Clone()
	refuse := func(what string) error { return fmt.Errorf("runner: input: %w: %s", session.ErrInvalid, what) }
	switch {
	case in.Author != "" && in.Author != session.User:
		return refuse(fmt.Sprintf("its author is %q; only %q is possible", in.Author, session.User))
	case in.Marker():
		return refuse("only plugins may emit a compaction or a rewind; send a command to the plugin that does")
	case in.Partial:
		return refuse("it is partial")
	case !x.opt.Restore && empty(in):
		return refuse("it is empty: it needs content, a command, metadata or actions; a nil input goes on with what is in the log")
	}
	if !x.opt.Restore {
		in = plugin.Notes{}.With(in) // only the runner notes what plugins did
	}
	in.Author = session.User
	if !x.opt.Restore {
		in.NodeInfo = nil // only a workflow says what its nodes have done
	}
	if err := x.owners.CheckEvent(in); err != nil {
		return fmt.Errorf("runner: input: %w", err)
	}

	// It gets what it has not got.
	in.Seq = 0
	if in.ID == "" {
		in.ID = session.NewID()
	} else {
		x.given = in
	}
	if in.InvocationID == "" {
		in.InvocationID = in.ID
	}
	if in.Timestamp.IsZero() {
		in.Timestamp = x.opt.Now().UTC()
	}
	x.input = in
	x.id = in.InvocationID
	x.inputID = in.ID
	return nil
}

// empty reports whether an input says nothing.
func empty(in *session.Event) bool {
	for _, p := range in.Parts() {
		if !reflect.ValueOf(*p).IsZero() {
			return false
		}
	}
	return in.Content != nil || len(in.CustomMetadata) == 0 && reflect.ValueOf(in.Actions).IsZero()
}

// checkDecisions returns an error if the input does nothing but approve or decline calls that are not
// awaiting confirmation: there is nothing to go on with. It also does if the input has the response to a call
// that is: whoever may say yes or no cannot say what a tool has answered that never ran.
func (x *run) checkDecisions(input *session.Event) error {
	if responses := input.FunctionResponses(); len(responses) > 0 && !x.opt.Restore {
		for _, c := range x.invocation().CallsSince(x.startSeq) {
			answers := func(r *genai.FunctionResponse) bool { return r.ID == c.ID }
			awaits := c.Response == nil && c.Held != nil && c.Decision == nil
			if awaits && slices.ContainsFunc(responses, answers) {
				return fmt.Errorf("runner: input: it responds to the call %q (%s), which waits for a yes or no: %w",
					c.ID, c.Name, ErrNotWaiting)
			}
		}
	}
	rest := input.Actions
	decisions := rest.RequestedToolConfirmations
	rest.RequestedToolConfirmations = nil
	_, command := input.Command()
	onlyDecides := len(decisions) > 0 && !command && input.Content == nil && reflect.ValueOf(rest).IsZero()
	if x.opt.Restore || !onlyDecides {
		return nil
	}
	var waiting []string
	for _, c := range x.invocation().CallsSince(x.startSeq) {
		if c.Response != nil || c.Held == nil || c.Decision != nil {
			continue
		}
		if _, ok := decisions[c.ID]; ok {
			return nil
		}
		waiting = append(waiting, fmt.Sprintf("%q (%s)", c.ID, c.Name))
	}
	what := "no call does"
	if len(waiting) > 0 {
		what = "those that do: " + strings.Join(waiting, ", ")
	}
	asked := slices.Sorted(maps.Keys(decisions))
	return fmt.Errorf("runner: input: it approves or declines %q: %w; %s", asked, ErrNotWaiting, what)
}

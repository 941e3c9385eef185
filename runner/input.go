package runner

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
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
	case slices.ContainsFunc(in.Parts(), func(p *genai.Part) bool { return p.FunctionCall != nil }) && !x.opt.Restore:
		return refuse("it has a function call, and only agents call functions: write it as text")
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
		for id, c := range in.Actions.RequestedToolConfirmations {
			c.Name = cmp.Or(x.cfg.Sender.Name, x.key.User)
			c.Roles = x.cfg.Sender.Roles
			c.Ask = nil
			in.Actions.RequestedToolConfirmations[id] = c
		}
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
		if p.Text != "" || !reflect.ValueOf(p).Elem().IsZero() {
			return false
		}
	}
	return in.Content != nil || len(in.CustomMetadata) == 0 && reflect.ValueOf(in.Actions).IsZero()
}

// checkAnswers returns an error if the input responds to a call that is not open or waits for a yes or no (whoever
// may say that cannot say what a tool has answered that never ran), or if it does nothing but approve or decline
// calls that are not awaiting confirmation: there is nothing to go on with.
func (x *run) checkAnswers(input *session.Event) error {
	responses := input.FunctionResponses()
	rest := input.Actions
	decisions := rest.RequestedToolConfirmations
	rest.RequestedToolConfirmations = nil
	if x.opt.Restore || len(responses)+len(decisions) == 0 {
		return nil
	}

	// What waits?
	calls := x.invocation().CallsSince(x.startSeq)
	list := func(waits func(*session.Call) bool) string {
		var waiting []string
		for i := range calls {
			if waits(&calls[i]) {
				waiting = append(waiting, fmt.Sprintf("%q (%s)", calls[i].ID, calls[i].Name))
			}
		}
		if len(waiting) == 0 {
			return "no call does"
		}
		return "those that do: " + strings.Join(waiting, ", ")
	}
	held := func(c *session.Call) bool { return c.Response == nil && c.Held != nil && c.Decision == nil }

	// A workflow that has asked is still there. A root that is no Parent may run agents that it does not list.
	_, listed := x.opt.Agent.(agent.Parent)
	for _, c := range calls {
		_, decides := decisions[c.ID]
		answers := decides || slices.ContainsFunc(responses, func(r *genai.FunctionResponse) bool { return r.ID == c.ID })
		if !listed || x.outside != nil || x.cfg.NoAgent || !answers || c.Event.NodeInfo == nil {
			continue
		}
		path, _, _ := strings.Cut(c.Event.NodeInfo.Path, "/")
		name, _, _ := strings.Cut(path, "@")
		if agent.Find(x.opt.Agent, name) != nil {
			continue
		}
		if w := session.NewWorkflowRuns(x.view.Live()).Workflow(path); w != nil && w.Open() {
			return fmt.Errorf("runner: input: %w: it answers %q, a call of the run %s, and there is no workflow %s: it was renamed "+
				"or removed while the run was under way; give it this name again, or abandon the run", session.ErrInvalid, c.ID, path, name)
		}
	}

	// Each response has its open call.
	after := session.Calls(append(slices.Clip(x.view.Live()), input))
	for _, r := range responses {
		for i := range calls {
			if c := &calls[i]; c.ID == r.ID && held(c) {
				return fmt.Errorf("runner: input: it responds to the call %q (%s), which waits for a yes or no: %w",
					c.ID, c.Name, ErrNotWaiting)
			}
		}
		if !slices.ContainsFunc(after, func(c session.Call) bool { return c.Result == r }) {
			because := "the session has no such call; perhaps it was asked anew with another id, or rewound"
			for _, c := range after {
				if c.ID == r.ID && c.Response != nil {
					because = fmt.Sprintf("event %d has the answer to it", c.Response.Seq)
				}
			}
			return fmt.Errorf("runner: input: it responds to %q: %w: %s; %s", r.ID, ErrNotWaiting, because,
				list(func(c *session.Call) bool { return c.Waits() && !held(c) }))
		}
	}

	// A yes or no is the sender's to give, once.
	for id := range decisions {
		answered := func(c session.Call) bool { return c.ID == id && slices.Contains(c.Decisions, input) }
		i := slices.IndexFunc(calls, func(c session.Call) bool { return c.ID == id && held(&c) })
		if i < 0 || slices.ContainsFunc(after, answered) {
			continue
		}
		var roles []string
		for _, a := range calls[i].Asked() {
			roles = append(roles, a.By)
		}
		return fmt.Errorf("runner: input: the call %q (%s) waits for the yes or no of %s: %w", id, calls[i].Name,
			strings.Join(roles, ", "), ErrNotYours)
	}

	// A yes or no alone has at least one.
	_, command := input.Command()
	onlyDecides := !command && input.Content == nil && reflect.ValueOf(rest).IsZero()
	decided := slices.ContainsFunc(after, func(c session.Call) bool { return slices.Contains(c.Decisions, input) })
	if !onlyDecides || decided {
		return nil
	}
	asked := slices.Sorted(maps.Keys(decisions))
	return fmt.Errorf("runner: input: it approves or declines %q: %w; %s", asked, ErrNotWaiting, list(held))
}

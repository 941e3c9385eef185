// Package earlyexit is a plugin that answers by rule and ends the run: the first rule that matches
// an event decides. An answer to the user's input costs no model call, because no agent runs.
//
// A new condition of a rule: a field of Rule, compared where the first matching rule is sought.
package earlyexit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// Config is a list of rules; it needs at least one.
type Config struct {
	Rules []Rule `yaml:"rules" json:"rules" jsonschema:"the first rule that matches an event decides"`
}

// A Rule says which events it is about, and what is answered. All of its conditions must hold; it
// needs at least one.
type Rule struct {
	Name   string         `yaml:"name" json:"name,omitempty" jsonschema:"what the log and --explain call the rule; its number if empty"`
	Text   string         `yaml:"text" json:"text,omitempty" jsonschema:"a regular expression (RE2) that is found in the event's text; (?i) at its begin ignores case"`
	Author string         `yaml:"author" json:"author,omitempty" jsonschema:"whose events the rule is about: user (the default) is the run's input, or an agent's name"`
	State  map[string]any `yaml:"state" json:"state,omitempty" jsonschema:"state keys and the values they must have; null means that the key is not set"`
	Answer string         `yaml:"answer" json:"answer" jsonschema:"the text that ends the run"`
	// Deny makes the answer a denial by policy: an event with the error code DENIED, and the event
	// that matched is not kept in the log, so that no later model call reads it.
	Deny bool `yaml:"deny" json:"deny,omitempty" jsonschema:"refuse: the answer has the error code DENIED and the event that matched is not kept in the log"`
	// Keep makes a denial keep what it denied in the log, as evidence. Later model calls read it.
	Keep bool `yaml:"keep" json:"keep,omitempty" jsonschema:"with deny: keep the event that matched in the log; later model calls then read it"`
}

// New returns the plugin, named "earlyexit", or an error for each rule that is not valid. It takes
// streamed partial events as long as all its rules are about the user's input; a rule about an
// agent's events holds them back, since they would show what the rule may deny.
func New(c Config) (*plugin.Plugin, error) {
	rules := make([]rule, len(c.Rules))
	errs := make([]error, len(c.Rules))
	partials := true
	for i, r := range c.Rules {
		rules[i], errs[i] = compile(r, i+1)
		partials = partials && rules[i].Author == session.User
	}
	if len(c.Rules) == 0 {
		errs = append(errs, errors.New("earlyexit: it has no rules"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &plugin.Plugin{
		Name:     "earlyexit",
		Doc:      "Answers by rule and ends the run.",
		Partials: partials,
		ReadsState: func() (keys []string) {
			for _, r := range rules {
				keys = slices.AppendSeq(keys, maps.Keys(r.state))
			}
			return keys
		},
		OnEvent: func(_ context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			i := slices.IndexFunc(rules, func(r rule) bool { return !e.Partial && r.match(inv, e) })
			if i < 0 {
				return plugin.Outcome{}, nil
			}
			return rules[i].outcome(), nil
		},
	}, nil
}

type rule struct {
	Rule
	text  *regexp.Regexp // "" matches everything
	state map[string]string
}

func compile(r Rule, number int) (c rule, err error) {
	bad := func(err error) (rule, error) { return c, fmt.Errorf("earlyexit: rule %d: %w", number, err) }
	c = rule{Rule: r, state: map[string]string{}}
	c.Name = cmp.Or(r.Name, fmt.Sprint(number))
	c.Author = cmp.Or(r.Author, session.User)
	switch {
	case r.Text == "" && r.Author == "" && len(r.State) == 0:
		return bad(errors.New("it has no condition; to match every input, say author: user"))
	case r.Answer == "":
		return bad(errors.New("it has no answer"))
	case r.Keep && !r.Deny:
		return bad(errors.New("keep needs deny: without deny, the event is kept anyway"))
	}
	for key, value := range r.State {
		if c.state[key], err = canonical(value); err != nil {
			return bad(fmt.Errorf("state %q: %w", key, err))
		}
	}
	if c.text, err = regexp.Compile(r.Text); err != nil {
		return bad(fmt.Errorf("text: %w", err))
	}
	return c, nil
}

func (r rule) match(inv *session.Invocation, e *session.Event) bool {
	if e.Author != r.Author || !r.text.MatchString(e.Text()) {
		return false
	}
	for key, want := range r.state {
		if have, err := canonical(inv.State[key]); err != nil || have != want {
			return false
		}
	}
	return true
}

func (r rule) outcome() plugin.Outcome {
	reason := "rule " + r.Name
	if r.Deny {
		out := plugin.Deny(r.Answer, reason)
		out.Withhold = !r.Keep
		return out
	}
	return plugin.Outcome{Emit: []*session.Event{session.Reply(r.Answer)}, Stop: true, Reason: reason}
}

// canonical writes a value so that equal ones are equal, whether Go, YAML or JSON made them.
func canonical(value any) (string, error) {
	data, err := json.Marshal(value)
	return string(data), err
}

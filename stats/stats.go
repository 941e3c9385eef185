// Package stats sums up what the sessions of a store have taken: runs, tokens and their cost, tool calls, denials and
// compactions.
//
// All events of a log count, also those that a rewind has voided or that a summary stands for: they were paid for. Of
// tokens and compactions an event counts for what it says (UsageMetadata, ModelVersion, the note of the plugin
// compaction). A fork has events of the session that it was made of, and they count in both.
//
// A new figure: add it to Sums and count it in collect.go. A new way to group: add a constant to By, and its name in
// collector.group.
package stats

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/plughook/plughook/prices"
	"github.com/plughook/plughook/session"
)

// By says what sums are grouped by.
type By string

// What sums can be grouped by. A run, an event, a call is in one group, so that the sums of the groups add up to the
// sums of all. An event without an author, a model or a time is in the group "".
const (
	// All makes no groups.
	All By = ""
	// Day groups by the day of the event, as "2006-01-02". A run is of the day of its first event, a call of the day
	// on which it was made.
	Day By = "day"
	// Model groups by the ModelVersion of the event. A run is of the first model that it used.
	Model By = "model"
	// Agent groups by the author of the event: an agent, or a plugin as "plugin/" and its name. A run is of the first
	// agent that did something in it, and if none did, of its first author.
	Agent By = "agent"
	// User groups by app and user, as "app/user".
	User By = "user"
	// Kit groups by what Options.Kit says of the session.
	Kit By = "kit"
	// Tool groups calls by the name of their tool. Only calls are in these groups: events and tokens belong to no
	// tool.
	Tool By = "tool"
)

// Bys lists every way to group, without All, which makes no groups.
func Bys() []By { return []By{Day, Model, Agent, User, Kit, Tool} }

// Options say what is summed up. The zero Options are for everything, without groups.
type Options struct {
	By By
	// Kit says by its state whose agent a session is of: runner.AgentOutside, say. Only with the group Kit it is called.
	Kit func(state map[string]any) string
	// Since and Until select events by their time: Since and later, before Until. Where one is zero, there is no such
	// limit. A run counts if its first event is selected, with all its tokens and its whole time, and a call if it
	// was made then, whatever has become of it since. A session that was last changed before Since is not read.
	Since, Until time.Time
	// Zone is where days begin, UTC if nil.
	Zone *time.Location
	// Prices are what tokens cost, prices.Default if nil.
	Prices *prices.Table
}

// A Report is what the sessions have taken.
type Report struct {
	// Sessions and Events are how many of them have been counted.
	Sessions, Events int64
	// First and Last are the times of the first and the last of the events that have one.
	First, Last time.Time
	Total       Sums
	// Groups are sorted: days by their date, other groups by their cost, the greatest first. Where costs are equal,
	// the tokens decide, then the calls, the runs and the name.
	Groups []Group
	// Currency is that of the costs.
	Currency string
	// Unpriced has the models that have no price, by name, with their tokens.
	Unpriced []Unpriced
}

// A Group is what belongs to one day, model, agent, user or tool.
type Group struct {
	Name string
	Sums
}

// Unpriced is a model that the price table does not have, with the tokens that it has used.
type Unpriced struct {
	Model  string
	Tokens int64
}

// Sums are the figures of a group of events.
type Sums struct {
	// Runs is the number of invocations. Events without an invocation belong to none.
	Runs int64
	// RunTime is how long the runs took: the time between their first event and their last, in the log's times. Left
	// out are runs of one event, and runs in which a call has waited for an answer, for nobody worked meanwhile.
	RunTime Spread[time.Duration]
	// RunTokens is how many tokens the runs have used, prompts and output together.
	RunTokens Spread[int64]

	Tokens Tokens
	// Cost is what the tokens of models with a price cost.
	Cost float64
	// Unpriced is the number of tokens, prompts and output, whose model has no price.
	Unpriced int64

	Calls Calls
	// CallTime is how long calls took that ended well or with an error: the time between the event with the call and
	// the one with its response. Calls that have waited for an answer are left out.
	CallTime Spread[time.Duration]

	// Denials is the number of events with the error code DENIED: denied calls, and whatever else a policy has
	// refused.
	Denials int64
	// Compactions is the number of summaries, and Saved the tokens of the live view that they have saved, by the
	// count of the plugin compaction.
	Compactions, Saved int64
}

// Tokens are numbers of tokens, as the providers report them.
type Tokens struct {
	Prompt int64
	Cached int64 // part of Prompt that the provider had cached
	Output int64 // without Reasoning
	// Reasoning is what the model has thought.
	Reasoning int64
}

// Sum is Prompt, Output and Reasoning.
func (t Tokens) Sum() int64 { return t.Prompt + t.Output + t.Reasoning }

func (t *Tokens) add(u Tokens) {
	t.Prompt += u.Prompt
	t.Cached += u.Cached
	t.Output += u.Output
	t.Reasoning += u.Reasoning
}

// Calls are numbers of tool calls. Made is the sum of the others; see trajectory.Status for what they are.
type Calls struct {
	Made, OK, Failed, Denied, Declined, Interrupted, Waiting, Open int64
}

// Of sums up sessions. They are the ones that a session.Service lists, or some of them; from is asked for their events.
// Sessions that are deleted meanwhile count with what was read of them.
//
// Each log is read once. What is held is one number or a few for each group, and for the session that is being read, its
// runs and its open calls.
func Of(ctx context.Context, from session.Reader, sessions iter.Seq2[*session.Session, error], o Options) (*Report, error) {
	if o.By != All && !slices.Contains(Bys(), o.By) {
		return nil, fmt.Errorf("stats: nothing is grouped by %q; it is by %v", o.By, Bys())
	}
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	if o.Prices == nil {
		o.Prices = prices.Default()
	}
	c := &collector{
		Options:  o,
		groups:   map[string]*sums{},
		unpriced: map[string]int64{},
	}
	for s, err := range sessions {
		if err != nil {
			return nil, err
		}
		if !o.Since.IsZero() && s.Updated.Before(o.Since) {
			continue
		}
		if o.By == Kit && o.Kit != nil {
			whole, err := from.Get(ctx, s.Key)
			if errors.Is(err, session.ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			c.kit = o.Kit(whole.State)
		}
		if err := c.addSession(ctx, from, s.Key); err != nil {
			return nil, err
		}
	}
	return c.result(), nil
}

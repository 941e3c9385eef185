package session

import (
	"time"

	"github.com/plughook/plughook/internal/words"
)

// A Query says which sessions Service.Search is to find. The zero Query finds all; what is set narrows it.
//
// Author, Tool, Error, Denied and Match are conditions on one event: a session is found if its log has an event
// that meets all of them that are set. Events that a rewind has voided, and those that a compaction stands for,
// count like others: they happened. Hit.Live says of the event that was found whether it is in the live view.
type Query struct {
	// App and User name an app and a user; "" is every app, every user.
	App, User string
	// Since finds sessions whose Updated is this time or later, Until those whose Updated is before it.
	Since, Until time.Time
	// Author finds events of this author.
	Author string
	// Tool finds events with a call of this function, or a response to one.
	Tool string
	// Error finds events that say that something failed: those with an ErrorCode other than Denied, and those
	// with a function's response that has an "error". A call that a human declined, or that was
	// interrupted, is none.
	Error bool
	// Denied finds events that say that a policy refused something: those with the ErrorCode Denied.
	Denied bool
	// Match finds events that have all words of this text. What is looked at: the texts of the content, thoughts
	// among them; names, arguments and responses of functions, but not the keys in them; code and what it
	// printed; names of files; a compaction's summary; a node's output; the error message. Package
	// internal/words says what a word is: letters and digits, whatever their case and accents.
	Match string
	// Waiting finds sessions with a call that waits for an answer from outside (Call.Waits), as they are now.
	Waiting bool
	// CutOff finds sessions whose last run was cut off (Session.CutOff), as they are now.
	CutOff bool
	// Order is the order in which sessions are found; "" is Newest.
	Order Order
	// Limit is how many sessions to find at most; 0 is no limit.
	Limit int
}

// An Order is that of the sessions that Service.Search finds.
type Order string

const (
	// Newest begins with the session whose Updated is the latest. Those of one time are ordered by their keys.
	Newest Order = "newest"
	// Oldest is the reverse of Newest.
	Oldest Order = "oldest"
	// Stored is the order in which the sessions came into the store, as that of Service.List.
	Stored Order = "stored"
)

// A Hit is a session that Service.Search has found.
type Hit struct {
	// Session is without State and Holder, as List has it.
	Session *Session
	// Event is the newest event that meets the query's conditions on events, nil if the query has none.
	Event *Event
	// Live says that Event is in the session's live view.
	Live bool
}

// OfEvents reports whether the query has a condition on events.
func (q *Query) OfEvents() bool {
	return q.Author != "" || q.Tool != "" || q.Error || q.Denied || q.Match != ""
}

// Check returns an error that is ErrInvalid if no store can answer the query: Match has no word, Until is not
// after Since, Limit is negative, Order is none of the constants, or CheckTime refuses a time.
func (q *Query) Check() error {
	for _, t := range []time.Time{q.Since, q.Until} {
		if err := CheckTime(t); err != nil {
			return err
		}
	}
	switch {
	case !q.Until.IsZero() && !q.Since.Before(q.Until):
		return invalid("until %s is not after since %s", q.Until.Format(time.RFC3339), q.Since.Format(time.RFC3339))
	case q.Match != "" && len(words.Wanted(q.Match)) == 0:
		return invalid("match %q: it has no letter and no digit, so there is no word to find", q.Match)
	case q.Limit < 0:
		return invalid("limit %d: it is how many sessions to find at most; 0 is no limit", q.Limit)
	}
	switch q.Order {
	case "", Newest, Oldest, Stored:
		return nil
	}
	return invalid("order %q: it is %s, %s or %s", q.Order, Newest, Oldest, Stored)
}

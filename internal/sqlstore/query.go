package sqlstore

import (
	"fmt"
	"strings"
	"time"

	"github.com/plughook/plughook/session"
)

// A SessionQuery is the statement that selects the sessions which a search's app, user and times leave in, in
// the search's order. A store adds conditions, for which it has an index, before it calls Select.
type SessionQuery struct {
	session.Query
	// Indexed says that the index of words has found the events: each session that is left is a hit.
	Indexed bool
	// Parameter is how a parameter begins in the database's SQL, before its number.
	Parameter string
	// Time returns a time as the column "updated" is compared with it.
	Time func(time.Time) any

	where []string
	args  []any
}

// Arg adds a parameter's value, and returns the parameter.
func (q *SessionQuery) Arg(value any) string {
	q.args = append(q.args, value)
	return fmt.Sprint(q.Parameter, len(q.args))
}

// Where adds a condition.
func (q *SessionQuery) Where(condition string) { q.where = append(q.where, condition) }

// Equal adds the condition that an expression has a value.
func (q *SessionQuery) Equal(expression, value string) { q.Where(expression + " = " + q.Arg(value)) }

// Select returns the statement, which yields the sessions' numbers, and its parameters. from is what follows
// FROM.
func (q *SessionQuery) Select(from string) (statement string, args []any) {
	if !q.Since.IsZero() {
		q.Where("updated >= " + q.Arg(q.Time(q.Since)))
	}
	if !q.Until.IsZero() {
		q.Where("updated < " + q.Arg(q.Time(q.Until)))
	}
	statement = "SELECT sid FROM " + from
	if q.where != nil {
		statement += " WHERE " + strings.Join(q.where, " AND ")
	}
	switch q.Order {
	case session.Stored:
		statement += " ORDER BY sid"
	case session.Oldest:
		statement += " ORDER BY updated, app DESC, usr DESC, id DESC"
	default:
		statement += " ORDER BY updated DESC, app, usr, id"
	}
	if q.Limit > 0 && !q.Waiting && !q.CutOff && (q.Indexed || !q.OfEvents()) { // each of them is a hit
		statement += " LIMIT " + q.Arg(q.Limit)
	}
	return statement, q.args
}

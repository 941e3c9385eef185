// Package limits bounds what clients may take of a process and of what it stores: Limits are the bounds, Table
// says what each of them is, and a Process counts what is in use. A request, a run and a stream each have a Hold:
// their share of the memory, which they give back at their end.
//
// A new limit: a field of Limits and a row of Table, which the metrics and the table of docs/server.md follow; the key
// in config.Server; and a call of Process where the thing begins.
package limits

import (
	"fmt"
	"net/http"
	"time"
)

// Limits bound what clients may take. A 0 is the default, which Table says; a negative number is no bound.
type Limits struct {
	Body          int64         // bytes of a body
	Upload        int64         // bytes of a body with a file
	Memory        int64         // bytes that the process holds for requests
	UserMemory    int64         // bytes that it holds for those of one user
	Requests      int           // requests under way, streams among them
	UserRequests  int           // those of one user
	Waiting       int           // runs of the process that wait for a busy session
	UserRuns      int           // runs of one user, waiting or running
	Streams       int           // streams of the process
	UserStreams   int           // streams of one user
	State         int64         // bytes of a session's state, as JSON
	Session       int64         // bytes of a session's events, as JSON
	UserSessions  int64         // bytes of the events and the state of all sessions of a user
	UserArtifacts int64         // bytes of the artifacts of a user, in an app
	Run           time.Duration // length of a run, from its beginning
	Heartbeat     time.Duration // silence on a stream
	Patience      time.Duration // for a client that reads too slowly, for each 64 KiB of an answer
}

// A Row is a limit: what it is, its default, and what happens beyond it.
type Row struct {
	Key     string // of the section server.limits
	What    string
	Default int64  // in bytes, nanoseconds or things; 0 depends on the machine
	Beyond  string // what happens
	Metric  string // the metric that shows how much is in use; "" if none does
	// Status and Code are of the answer to what is refused, and Wait how many seconds to wait before the next try.
	Status int
	Code   string
	Wait   int

	of func(*Limits) any // the field
}

// The rows that others name.
var (
	Memory = &Row{
		Key:    "memory",
		What:   "memory that requests hold",
		Beyond: "503, with `Retry-After`",
		Metric: "plughook_held_bytes",
		Status: http.StatusServiceUnavailable, Code: "overloaded", Wait: 2,
		of: func(l *Limits) any { return &l.Memory },
	}
	UserMemory = &Row{
		Key:    "user_memory",
		What:   "memory that requests of one user hold",
		Beyond: "429, with `Retry-After`",
		Metric: "plughook_user_held_bytes_max",
		Status: http.StatusTooManyRequests, Code: "too_much_at_once", Wait: 2,
		of: func(l *Limits) any { return &l.UserMemory },
	}
	Requests = &Row{
		Key:     "requests",
		What:    "requests under way, streams among them",
		Default: 20_000,
		Beyond:  "503, with `Retry-After`",
		Metric:  "plughook_requests",
		Status:  http.StatusServiceUnavailable, Code: "overloaded", Wait: 2,
		of: func(l *Limits) any { return &l.Requests },
	}
	UserRequests = &Row{
		Key:     "user_requests",
		What:    "requests of one user",
		Default: 400,
		Beyond:  "429, with `Retry-After`",
		Metric:  "plughook_user_requests_max",
		Status:  http.StatusTooManyRequests, Code: "too_many_requests", Wait: 2,
		of: func(l *Limits) any { return &l.UserRequests },
	}
	Waiting = &Row{
		Key:     "waiting",
		What:    "runs that wait for a busy session",
		Default: 1000,
		Beyond:  "429, with `Retry-After`",
		Metric:  "plughook_runs_waiting",
		Status:  http.StatusTooManyRequests, Code: "too_many_runs", Wait: 2,
		of: func(l *Limits) any { return &l.Waiting },
	}
	UserRuns = &Row{
		Key:     "user_runs",
		What:    "runs of one user, waiting or running",
		Default: 100,
		Beyond:  "429, with `Retry-After`",
		Metric:  "plughook_user_runs_max",
		Status:  http.StatusTooManyRequests, Code: "too_many_runs", Wait: 2,
		of: func(l *Limits) any { return &l.UserRuns },
	}
	Streams = &Row{
		Key:     "streams",
		What:    "streams",
		Default: 10_000,
		Beyond:  "429, with `Retry-After`",
		Metric:  "plughook_streams",
		Status:  http.StatusTooManyRequests, Code: "too_many_streams", Wait: 5,
		of: func(l *Limits) any { return &l.Streams },
	}
	UserStreams = &Row{
		Key:     "user_streams",
		What:    "streams of one user",
		Default: 100,
		Beyond:  "429, with `Retry-After`",
		Metric:  "plughook_user_streams_max",
		Status:  http.StatusTooManyRequests, Code: "too_many_streams", Wait: 5,
		of: func(l *Limits) any { return &l.UserStreams },
	}
	State = &Row{
		Key:     "state",
		What:    "a session's state, with its user's, as JSON",
		Default: 1 << 20,
		Beyond:  "413; keys can be deleted",
		Status:  http.StatusRequestEntityTooLarge, Code: "state_full",
		of: func(l *Limits) any { return &l.State },
	}
	Session = &Row{
		Key:     "session",
		What:    "a session's events, as JSON",
		Default: 256 << 20,
		Beyond:  "413 for inputs; begin a new session",
		Status:  http.StatusRequestEntityTooLarge, Code: "session_full",
		of: func(l *Limits) any { return &l.Session },
	}
	UserSessions = &Row{
		Key:     "user_sessions",
		What:    "events and first state of all sessions of a user, and the user's state",
		Default: 1 << 30,
		Beyond:  "413 for inputs, new sessions and forks; delete sessions",
		Status:  http.StatusRequestEntityTooLarge, Code: "user_full",
		of: func(l *Limits) any { return &l.UserSessions },
	}
	UserArtifacts = &Row{
		Key:     "user_artifacts",
		What:    "artifacts of a user in an app; a version is 1 KiB at least",
		Default: 1 << 30,
		Beyond:  "413; delete artifacts",
		Status:  http.StatusRequestEntityTooLarge, Code: "artifacts_full",
		of: func(l *Limits) any { return &l.UserArtifacts },
	}
)

// Table has every limit, in the order of the documentation.
var Table = []*Row{
	{Key: "body", What: "a body", Default: 1 << 20, Beyond: "413", of: func(l *Limits) any { return &l.Body }},
	{Key: "upload", What: "a body with a file", Default: 10 << 20, Beyond: "413",
		of: func(l *Limits) any { return &l.Upload }},
	Memory, UserMemory, Requests, UserRequests, Waiting, UserRuns, Streams, UserStreams,
	State, Session, UserSessions, UserArtifacts,
	{Key: "run", What: "length of a run (without an input: with its wait)", Default: int64(30 * time.Minute),
		Beyond: "the run ends as `cancelled`", of: func(l *Limits) any { return &l.Run }},
	{Key: "heartbeat", What: "silence on a stream", Default: int64(15 * time.Second), Beyond: "a comment is sent",
		of: func(l *Limits) any { return &l.Heartbeat }},
	{Key: "patience", What: "a reader, for each 64 KiB of an answer", Default: int64(10 * time.Second),
		Beyond: "the connection is cut; the run goes on", of: func(l *Limits) any { return &l.Patience }},
}

// value returns a limit, with 0 for no bound.
func (r *Row) value(l *Limits) int64 {
	switch field := r.of(l).(type) {
	case *int64:
		return *field
	case *int:
		return int64(*field)
	case *time.Duration:
		return int64(*field)
	}
	panic("limits: a field of a type that is no limit's")
}

// WithDefaults returns the limits with a number for each that is 0, and 0 for no bound.
func (l Limits) WithDefaults() Limits {
	for _, row := range Table {
		n := row.value(&l)
		switch {
		case n < 0:
			n = 0
		case n == 0 && row == Memory:
			n = processMemory() / 4
		case n == 0 && row == UserMemory:
			n = l.Memory / 4
		case n == 0:
			n = row.Default
		}
		switch field := row.of(&l).(type) {
		case *int64:
			*field = n
		case *int:
			*field = int(n)
		case *time.Duration:
			*field = time.Duration(n)
		}
	}
	return l
}

// isTime reports whether the limit is one of time.
func (r *Row) isTime() bool {
	_, ok := r.of(&Limits{}).(*time.Duration)
	return ok
}

// DefaultText says a limit's default, for people.
func (r *Row) DefaultText() string {
	switch r.of(&Limits{}).(type) {
	case *int64:
		switch {
		case r == Memory:
			return "a quarter of the process's memory"
		case r == UserMemory:
			return "a quarter of that"
		case r.Default >= 1<<30:
			return fmt.Sprintf("%d GiB", r.Default>>30)
		}
		return fmt.Sprintf("%d MiB", r.Default>>20)
	case *time.Duration:
		if d := time.Duration(r.Default); d >= time.Minute {
			return fmt.Sprintf("%d minutes", d/time.Minute)
		}
		return fmt.Sprintf("%d s", time.Duration(r.Default)/time.Second)
	}
	return fmt.Sprint(r.Default)
}

// Exceeded is the error of what a limit refuses.
type Exceeded struct{ Row *Row }

func (e *Exceeded) Error() string {
	return fmt.Sprintf("this is more than the server allows: %s (limit %s)", e.Row.What, e.Row.Key)
}

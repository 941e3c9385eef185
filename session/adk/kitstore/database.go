// Package kitstore reads the sessions that other kits of the Agent Development Kit's family keep: the
// databases of the Python and of the Go kit, in SQLite and in PostgreSQL, and the JSON that the kits' web
// page saves. It never writes to them, and executes nothing that they hold.
//
// A new column of a kit: add it to textColumns and its like. A new database system: another source.
package kitstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/plughook/plughook/session"
)

// A Session is what another kit has of a session. Its marks of compactions and rewinds are the kit's:
// see adk.Convert.
type Session struct {
	*session.Recording
	// Left says in words what the recording lacks or has otherwise than the kit, for people.
	Left []string
}

// ErrOwn is the error for a database that holds sessions of this project, not of another kit.
var ErrOwn = errors.New("it holds sessions of this project already")

// ErrUnknown is the error for a database in which no sessions of a known kit are.
var ErrUnknown = errors.New("it has not the tables in which the Agent Development Kit keeps sessions")

// A Database is another kit's, open for reading.
type Database struct {
	// Kind says in words what the database is.
	Kind string

	from   source
	zone   *time.Location // of local times; nil if nobody said
	events map[string]bool
	whole  bool // events are whole in a column, not one column for each key
	left   []string
}

// A row has a row's columns as text, in the order in which they were asked for. nil is NULL.
type row [][]byte

// A source is a database system.
type source interface {
	// columns returns the names of a table's columns, none if there is no such table. It is an error if the name is
	// that of something else, such as a view: to read that would be to execute what is written in it.
	columns(ctx context.Context, table string) (map[string]bool, error)
	// text returns an expression for a column's value as text.
	text(table, alias, column string) string
	// tie is what orders the events of one time.
	tie(alias string) string
	// each yields the rows that a query selects, of so many columns.
	each(ctx context.Context, query string, columns int) iter.Seq2[row, error]
	Close() error
}

// eachRow yields the rows of a query's result, of so many columns.
func eachRow(rows interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
}, columns int, yield func(row, error) bool) {
	targets := make([]any, columns)
	for rows.Next() {
		r := make(row, columns)
		for i := range r {
			targets[i] = &r[i]
		}
		if err := rows.Scan(targets...); err != nil {
			yield(nil, err)
			return
		}
		if !yield(r, nil) {
			return
		}
	}
	if err := rows.Err(); err != nil {
		yield(nil, err)
	}
}

// noTable returns the error for a database in which a table's name names something else, such as a view.
func noTable(name, kind string) error {
	return fmt.Errorf("its %s is a %s, and not a table as the kits make it: nothing is read of that, as it would be executed",
		name, kind)
}

// OpenSQLite opens an SQLite database of another kit for reading. zone is that in which the kit ran, for
// kits that store local times; without it the zone is guessed for each session. The error is ErrOwn or
// ErrUnknown where the database is not another kit's. A damaged file is an error.
func OpenSQLite(ctx context.Context, file string, zone *time.Location) (*Database, error) {
	from, err := openSQLite(ctx, file)
	if err != nil {
		return nil, err
	}
	return recognized(ctx, from, zone)
}

// OpenPostgres is OpenSQLite for a PostgreSQL database. Errors do not repeat a password.
func OpenPostgres(ctx context.Context, url string, zone *time.Location) (*Database, error) {
	from, err := openPostgres(ctx, url)
	if err != nil {
		return nil, err
	}
	return recognized(ctx, from, zone)
}

// Close closes the database.
func (d *Database) Close() error { return d.from.Close() }

// recognized returns the database of a kit that a source is.
func recognized(ctx context.Context, from source, zone *time.Location) (*Database, error) {
	d := &Database{from: from, zone: zone}
	if err := d.recognize(ctx); err != nil {
		return nil, errors.Join(err, from.Close())
	}
	return d, nil
}

// recognize finds out by the tables whose database it is.
func (d *Database) recognize(ctx context.Context) error {
	tables := map[string]map[string]bool{}
	for _, name := range []string{"sessions", "plughook_sessions", "events", "adk_internal_metadata"} {
		columns, err := d.from.columns(ctx, name)
		if err != nil {
			return err
		}
		tables[name] = columns
	}
	sessions := tables["sessions"]
	d.events = tables["events"]
	d.whole = d.events["event_data"]
	switch {
	case sessions["sid"], len(sessions) == 0 && len(tables["plughook_sessions"]) > 0:
		return ErrOwn
	case !sessions["app_name"] || !sessions["user_id"] || !d.events["session_id"]:
		return ErrUnknown
	case len(tables["adk_internal_metadata"]) > 0:
		return d.checkVersion(ctx)
	case d.whole:
		d.Kind = "a database of the Python kit (SqliteSessionService)"
	case d.events["routes_json"]:
		d.Kind = "a database of the Go kit"
	case d.events["actions"]:
		d.Kind = "a database of the Python kit (schema 0) or the Go kit"
	default:
		return ErrUnknown
	}
	return nil
}

// checkVersion returns an error for a schema of the Python kit that is not known here.
func (d *Database) checkVersion(ctx context.Context) error {
	version := "nothing"
	query := "SELECT " + d.from.text("adk_internal_metadata", "m", "value") +
		" FROM adk_internal_metadata m WHERE m.key = 'schema_version'"
	for r, err := range d.from.each(ctx, query, 1) {
		if err != nil {
			return err
		}
		version = fmt.Sprintf("%q", r[0])
	}
	if version != `"1"` || !d.whole {
		return fmt.Errorf("its table adk_internal_metadata says %s for schema_version; the schema that is read here is \"1\"",
			version)
	}
	d.Kind = "a database of the Python kit (schema 1)"
	return nil
}

// Left says in words, once Sessions has ended, what the sessions do not show: events without a session,
// and shared state that ends otherwise than the kit's.
func (d *Database) Left() []string { return d.left }

// key names the session that a row begins with.
func (r row) key() session.Key {
	return session.Key{App: string(r[0]), User: string(r[1]), ID: string(r[2])}
}

// list returns the expressions of columns, joined by commas.
func (d *Database) list(table, alias string, columns ...string) string {
	var list []string
	for _, c := range columns {
		list = append(list, d.from.text(table, alias, c))
	}
	return strings.Join(list, ", ")
}

// Sessions yields the sessions in the order of their creation, each once it is whole. An error ends it.
func (d *Database) Sessions(ctx context.Context) iter.Seq2[*Session, error] {
	return func(yield func(*Session, error) bool) {
		states, err := d.readStates(ctx)
		if err == nil {
			err = d.countStray(ctx)
		}
		if err == nil && states.shared() {
			err = d.findSetKeys(ctx, states)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		for s, err := range d.logs(ctx) {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(states.finish(s), nil) {
				return
			}
		}
		d.left = append(d.left, states.differences()...)
	}
}

// countStray notes events whose session is not there.
func (d *Database) countStray(ctx context.Context) error {
	query := `SELECT CAST(count(*) AS text) FROM events e WHERE NOT EXISTS (SELECT 1 FROM sessions s
		WHERE s.app_name = e.app_name AND s.user_id = e.user_id AND s.id = e.session_id)`
	for r, err := range d.from.each(ctx, query, 1) {
		if err != nil {
			return err
		}
		if n := string(r[0]); n != "0" {
			d.left = append(d.left, n+" events belong to no session, and are left out")
		}
	}
	return nil
}

// findSetKeys reads all events once, for the keys of apps and users that some event sets.
func (d *Database) findSetKeys(ctx context.Context, states *states) error {
	for s, err := range d.logs(ctx) {
		if err != nil {
			return err
		}
		states.note(s)
	}
	return nil
}

// logs yields the sessions with their events and times, and without a state.
func (d *Database) logs(ctx context.Context) iter.Seq2[*Session, error] {
	columns := d.eventColumns()
	query := "SELECT " + d.list("sessions", "s", "app_name", "user_id", "id", "create_time", "update_time") + ", " +
		d.list("events", "e", columns...) + `
		FROM sessions s LEFT JOIN events e
		ON e.app_name = s.app_name AND e.user_id = s.user_id AND e.session_id = s.id
		ORDER BY s.create_time, s.app_name, s.user_id, s.id, ` + d.from.tie("e")
	return func(yield func(*Session, error) bool) {
		var current *log
		for r, err := range d.from.each(ctx, query, 5+len(columns)) {
			if err != nil {
				yield(nil, err)
				return
			}
			if current == nil || current.key != r.key() {
				if current != nil && !yield(current.session(), nil) {
					return
				}
				current = d.newLog(r)
			}
			if r[5] != nil {
				current.add(columns, r[5:])
			}
		}
		if current != nil {
			yield(current.session(), nil)
		}
	}
}

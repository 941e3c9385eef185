// Package sqlitedb opens SQLite files for database/sql, and registers no driver: names of drivers are global, and a program
// that links another driver under the same name would panic at its start.
//
// The engine is that of modernc.org/sqlite, which is C translated to Go, with the bindings of zombiezen.com/go/sqlite. The
// driver that modernc.org/sqlite itself has registers the name "sqlite" as soon as it is linked.
//
// A new type of argument: a case in stmt.bind.
package sqlitedb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"zombiezen.com/go/sqlite"
)

// Modes of opening a file.
const (
	ReadOnly  = "ro"
	ReadWrite = "rw"  // the file must be there
	Create    = "rwc" // an empty file is made if it is not there
)

// Open returns the database in a file. Each new connection begins with the pragmas, such as "query_only = ON". Nothing is
// opened yet.
func Open(path, mode string, pragmas ...string) *sql.DB {
	name := filepath.ToSlash(path)
	if !strings.HasPrefix(name, "/") { // C:/…
		name = "/" + name
	}
	uri := url.URL{Scheme: "file", Path: name, RawQuery: "mode=" + mode}
	return sql.OpenDB(&connector{uri: uri.String(), pragmas: pragmas})
}

// An Error is a failure that SQLite reports.
type Error struct {
	code sqlite.ResultCode
	err  error
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%v (%d)", e.err, e.code) }

// Code returns SQLite's result code of an error, without its extension, and 0 if the error is not SQLite's.
func Code(err error) int {
	var e *Error
	if !errors.As(err, &e) {
		return 0
	}
	return int(e.code.ToPrimary())
}

// failed returns an error of the bindings as an Error, without the names of the calls that it came through.
func failed(err error) error {
	if err == nil {
		return nil
	}
	code := sqlite.ErrCode(err)
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return &Error{code: code, err: err}
}

// A connector makes connections to a file.
type connector struct {
	uri     string
	pragmas []string
}

// Driver implements driver.Connector.
func (c *connector) Driver() driver.Driver { return c }

// Open implements driver.Driver. Nobody calls it: the driver has no name.
func (c *connector) Open(string) (driver.Conn, error) { return c.Connect(context.Background()) }

// Connect implements driver.Connector.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	opened, err := sqlite.OpenConn(c.uri, sqlite.OpenReadWrite, sqlite.OpenCreate, sqlite.OpenURI)
	if err != nil {
		return nil, failed(err)
	}
	opened.SetBusyTimeout(0) // the pragma busy_timeout sets another one
	made := &conn{c: opened}
	for _, p := range c.pragmas {
		if _, err := made.ExecContext(ctx, "PRAGMA "+p, nil); err != nil {
			return nil, errors.Join(err, made.Close())
		}
	}
	return made, nil
}

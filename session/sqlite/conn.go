package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/plughook/plughook/internal/sqlitedb"
)

// conn is one connection with its prepared statements. It belongs to one goroutine at a time.
//
// Its statements take no context. Each reads and writes little, so it ends soon. And when a context is
// cancelled, the driver interrupts whatever statement the connection runs by then, perhaps a later one.
type conn struct {
	db    *sql.DB // holds this connection only
	c     *sql.Conn
	stmts map[string]*sql.Stmt
}

// dial opens a connection to a file, which must be there, and runs the pragmas on it.
func dial(path string, pragmas ...string) (*conn, error) {
	return dialMode(path, sqlitedb.ReadWrite, pragmas...)
}

// dialNew is dial for a file that may not be there yet: it makes an empty one.
func dialNew(path string, pragmas ...string) (*conn, error) {
	return dialMode(path, sqlitedb.Create, pragmas...)
}

func dialMode(path, mode string, pragmas ...string) (*conn, error) {
	db := sqlitedb.Open(path, mode, pragmas...)
	db.SetMaxOpenConns(1)
	c := &conn{db: db, stmts: map[string]*sql.Stmt{}}
	var err error
	if c.c, err = db.Conn(context.Background()); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return c, nil
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	if err := c.c.Close(); !errors.Is(err, sql.ErrConnDone) {
		errs = append(errs, err)
	}
	return errors.Join(append(errs, c.db.Close())...)
}

// abandon gives up the connection without closing it in SQLite.
func (c *conn) abandon() error { return c.db.Close() } // closes idle connections only, and this one is not

func (c *conn) stmt(query string) (*sql.Stmt, error) {
	if s := c.stmts[query]; s != nil {
		return s, nil
	}
	s, err := c.c.PrepareContext(context.Background(), query)
	if err == nil {
		c.stmts[query] = s
	}
	return s, err
}

// exec runs a statement and returns how many rows it changed.
func (c *conn) exec(query string, args ...any) (int64, error) {
	s, err := c.stmt(query)
	if err != nil {
		return 0, err
	}
	r, err := s.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// row reads the first row of a query into dest and reports whether there was one.
func (c *conn) row(query string, args []any, dest ...any) (bool, error) {
	s, err := c.stmt(query)
	if err != nil {
		return false, err
	}
	err = s.QueryRowContext(context.Background(), args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// errEnough ends each, which returns nil then.
var errEnough = errors.New("enough")

// each reads each row of a query into dest and calls f, until f returns an error.
func (c *conn) each(query string, args, dest []any, f func() error) error {
	s, err := c.stmt(query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(context.Background(), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for err == nil && rows.Next() {
		if err = rows.Scan(dest...); err == nil {
			err = f()
		}
	}
	if err != nil && err != errEnough {
		return err
	}
	return errors.Join(rows.Err(), rows.Close())
}

// rollback ends the transaction, if there is one, without effect.
func (c *conn) rollback() { _, _ = c.exec("ROLLBACK") } // "no transaction is active" is what is wanted

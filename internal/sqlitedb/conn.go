package sqlitedb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"

	"zombiezen.com/go/sqlite"
)

// A conn is one connection. database/sql lets one goroutine at a time use it.
type conn struct{ c *sqlite.Conn }

// Close implements driver.Conn.
func (c *conn) Close() error { return failed(c.c.Close()) }

// Prepare implements driver.Conn.
func (c *conn) Prepare(query string) (driver.Stmt, error) {
	s, rest, err := c.prepare(query)
	if err == nil && !blank(rest) {
		return nil, errors.Join(errors.New("a prepared statement is one statement only"), s.Close())
	}
	return s, err
}

// blank reports whether a query has nothing but spaces and comments.
func blank(query string) bool {
	for {
		query = strings.TrimLeft(query, " \t\r\n\f;")
		found := true
		switch {
		case strings.HasPrefix(query, "--"):
			_, query, found = strings.Cut(query, "\n")
		case strings.HasPrefix(query, "/*"):
			_, query, found = strings.Cut(query, "*/")
		default:
			return query == ""
		}
		if !found {
			return true
		}
	}
}

// prepare prepares the first statement of a query, and returns the rest of the query.
func (c *conn) prepare(query string) (s *stmt, rest string, err error) {
	if blank(query) {
		return nil, "", errors.New("there is no statement in the query")
	}
	prepared, trailing, err := c.c.PrepareTransient(query)
	if err != nil {
		return nil, "", failed(err)
	}
	return &stmt{conn: c, s: prepared}, query[len(query)-trailing:], nil
}

// Begin implements driver.Conn.
func (c *conn) Begin() (driver.Tx, error) { return c.BeginTx(context.Background(), driver.TxOptions{}) }

// BeginTx implements driver.ConnBeginTx. Options have no effect: how SQLite isolates transactions cannot be chosen, and
// the mode or a pragma makes a connection read only.
func (c *conn) BeginTx(ctx context.Context, _ driver.TxOptions) (driver.Tx, error) {
	_, err := c.ExecContext(ctx, "BEGIN", nil)
	return tx{c}, err
}

// ExecContext implements driver.ExecerContext, for any number of statements, the last of which gets the arguments.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	for {
		s, rest, err := c.prepare(query)
		if err != nil {
			return nil, err
		}
		last := blank(rest)
		var given []driver.NamedValue
		if last {
			given = args
		}
		result, err := s.ExecContext(ctx, given)
		if err := errors.Join(err, s.Close()); err != nil || last {
			return result, err
		}
		query = rest
	}
}

// QueryContext implements driver.QueryerContext.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := c.Prepare(query)
	if err != nil {
		return nil, err
	}
	r, err := s.(*stmt).QueryContext(ctx, args)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	r.(*rows).last = true
	return r, nil
}

// interruptedBy lets the end of a context interrupt what runs on the connection, until the function is called that it
// returns.
func (c *conn) interruptedBy(ctx context.Context) (end func()) {
	if ctx.Done() == nil {
		return func() {}
	}
	c.c.SetInterrupt(ctx.Done())
	return func() { c.c.SetInterrupt(nil) }
}

// tx is the transaction of a connection.
type tx struct{ c *conn }

// Commit implements driver.Tx.
func (t tx) Commit() error { return t.end("COMMIT") }

// Rollback implements driver.Tx.
func (t tx) Rollback() error { return t.end("ROLLBACK") }

func (t tx) end(how string) error {
	_, err := t.c.ExecContext(context.Background(), how, nil)
	return err
}

// A stmt is a prepared statement.
type stmt struct {
	conn *conn
	s    *sqlite.Stmt
}

// Close implements driver.Stmt.
func (s *stmt) Close() error {
	_ = s.s.Finalize() // it repeats the error of the last step
	return nil
}

// NumInput implements driver.Stmt.
func (s *stmt) NumInput() int { return s.s.BindParamCount() }

// Exec implements driver.Stmt, and is not called beside ExecContext.
func (s *stmt) Exec([]driver.Value) (driver.Result, error) { return nil, driver.ErrSkip }

// Query implements driver.Stmt, and is not called beside QueryContext.
func (s *stmt) Query([]driver.Value) (driver.Rows, error) { return nil, driver.ErrSkip }

// ExecContext implements driver.StmtExecContext.
func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	end := s.conn.interruptedBy(ctx)
	defer end()
	defer s.reset()
	if err := s.bind(args); err != nil {
		return nil, err
	}
	for {
		more, err := s.s.Step()
		if err != nil {
			return nil, failedIn(ctx, err)
		}
		if !more {
			return result{inserted: s.conn.c.LastInsertRowID(), changed: int64(s.conn.c.Changes())}, nil
		}
	}
}

// QueryContext implements driver.StmtQueryContext.
func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if err := s.bind(args); err != nil {
		s.reset()
		return nil, err
	}
	return &rows{ctx: ctx, stmt: s, end: s.conn.interruptedBy(ctx)}, nil
}

// bind sets the arguments.
func (s *stmt) bind(args []driver.NamedValue) error {
	for _, arg := range args {
		i := arg.Ordinal
		switch v := arg.Value.(type) {
		case nil:
			s.s.BindNull(i)
		case int64:
			s.s.BindInt64(i, v)
		case float64:
			s.s.BindFloat(i, v)
		case bool:
			s.s.BindBool(i, v)
		case string:
			s.s.BindText(i, v)
		case []byte:
			if v == nil {
				s.s.BindNull(i)
				continue
			}
			s.s.BindBytes(i, v)
		default:
			return fmt.Errorf("argument %d: SQLite has no type for a %T", i, v)
		}
	}
	return nil
}

// reset makes the statement ready for its next use, and frees what its arguments take.
func (s *stmt) reset() {
	_ = s.s.Reset() // it repeats the error of the last step
	if s.NumInput() > 0 {
		_ = s.s.ClearBindings()
	}
}

// failedIn returns the error of a step: the context's, if that has ended.
func failedIn(ctx context.Context, err error) error {
	if ctx.Err() != nil && sqlite.ErrCode(err).ToPrimary() == sqlite.ResultInterrupt {
		return context.Cause(ctx)
	}
	return failed(err)
}

// A result is what a statement did.
type result struct{ inserted, changed int64 }

// LastInsertId implements driver.Result.
func (r result) LastInsertId() (int64, error) { return r.inserted, nil }

// RowsAffected implements driver.Result.
func (r result) RowsAffected() (int64, error) { return r.changed, nil }

// rows are the rows of a query.
type rows struct {
	ctx     context.Context
	stmt    *stmt
	end     func()
	columns []string
	last    bool // the statement is of no more use then
}

// Columns implements driver.Rows.
func (r *rows) Columns() []string {
	if r.columns == nil {
		r.columns = make([]string, r.stmt.s.ColumnCount())
		for i := range r.columns {
			r.columns[i] = r.stmt.s.ColumnName(i)
		}
	}
	return r.columns
}

// Close implements driver.Rows.
func (r *rows) Close() error {
	r.end()
	if r.last {
		return r.stmt.Close()
	}
	r.stmt.reset()
	return nil
}

// Next implements driver.Rows.
func (r *rows) Next(dest []driver.Value) error {
	more, err := r.stmt.s.Step()
	switch {
	case err != nil:
		return failedIn(r.ctx, err)
	case !more:
		return io.EOF
	}
	for i := range dest {
		dest[i] = r.value(i)
	}
	return nil
}

// value returns a column of the row.
func (r *rows) value(i int) driver.Value {
	s := r.stmt.s
	switch s.ColumnType(i) {
	case sqlite.TypeInteger:
		return s.ColumnInt64(i)
	case sqlite.TypeFloat:
		return s.ColumnFloat(i)
	case sqlite.TypeText:
		return s.ColumnText(i)
	case sqlite.TypeBlob:
		data := make([]byte, s.ColumnLen(i))
		s.ColumnBytes(i, data)
		return data
	}
	return nil
}

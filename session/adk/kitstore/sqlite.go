package kitstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"

	"github.com/plughook/plughook/internal/sqlitedb"
)

// sqliteSource reads an SQLite file, all of it as it was at one moment.
type sqliteSource struct {
	db *sql.DB
	tx *sql.Tx
}

func openSQLite(ctx context.Context, file string) (*sqliteSource, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	db := sqlitedb.Open(path, sqlitedb.ReadOnly, "trusted_schema = 0", "query_only = ON", "busy_timeout = 5000",
		"ignore_check_constraints = ON")
	db.SetMaxOpenConns(1)
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		_ = db.Close() // nothing was opened
		return nil, fmt.Errorf("open %s: %w", file, err)
	}
	s := &sqliteSource{db: db, tx: tx}
	if err := s.check(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// check returns an error if the file is damaged: of what is broken, queries may show a part.
func (s *sqliteSource) check(ctx context.Context) error {
	const damaged = "the database is damaged; restore a backup, or save what is left with the sqlite3 shell's .recover"
	var found []string
	for r, err := range s.each(ctx, "PRAGMA quick_check(3)", 1) {
		if sqlitedb.Code(err) != 0 {
			return fmt.Errorf("%s: %w", damaged, err)
		}
		if err != nil {
			return err
		}
		found = append(found, string(r[0]))
	}
	if len(found) == 1 && found[0] == "ok" {
		return nil
	}
	return fmt.Errorf("%s: %s", damaged, strings.Join(strings.Fields(strings.Join(found, "; ")), " "))
}

func (s *sqliteSource) Close() error {
	_ = s.tx.Rollback() // it only read
	return s.db.Close()
}

func (s *sqliteSource) columns(ctx context.Context, table string) (map[string]bool, error) {
	columns := map[string]bool{}
	query := "SELECT c.name, t.type FROM pragma_table_info('" + table + "') c, pragma_table_list('" + table + "') t"
	for r, err := range s.each(ctx, query, 2) {
		if err != nil {
			return nil, err
		}
		if kind := string(r[1]); kind != "table" {
			return nil, noTable(table, kind)
		}
		columns[string(r[0])] = true
	}
	return columns, nil
}

// text keeps the microseconds of a time that is a number. The type is each value's own: a database that
// several versions of a kit have written holds more than one.
func (s *sqliteSource) text(_, alias, column string) string {
	c := alias + `."` + column + `"`
	return "CASE typeof(" + c + ") WHEN 'real' THEN printf('%!.6f', " + c + ") ELSE +" + c + " END"
}

func (s *sqliteSource) tie(alias string) string { return alias + ".rowid" }

func (s *sqliteSource) each(ctx context.Context, query string, columns int) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		rows, err := s.tx.QueryContext(ctx, query)
		if err != nil {
			yield(nil, err)
			return
		}
		defer rows.Close() // rows.Err says what went wrong
		eachRow(rows, columns, yield)
	}
}

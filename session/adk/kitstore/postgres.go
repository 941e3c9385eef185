package kitstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// postgresSource reads a PostgreSQL database, all of it as it was at one moment.
type postgresSource struct {
	conn  *pgx.Conn
	bytes map[string]bool // "table.column" of the columns that hold bytes
}

func openPostgres(ctx context.Context, url string) (*postgresSource, error) {
	c, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, errors.New("the URL is none of a PostgreSQL database; one is postgres://USER@HOST/DATABASE")
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = 10 * time.Second
	}
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return nil, err
	}
	s := &postgresSource{conn: conn, bytes: map[string]bool{}}
	// The functions and operators in the queries are PostgreSQL's own, whatever else the database has under their
	// names, and no policy of a table is executed.
	var path string
	err = conn.QueryRow(ctx, "SHOW search_path").Scan(&path)
	if strings.TrimSpace(path) != "" {
		path = ", " + path
	}
	for _, set := range []string{
		"SET search_path = pg_catalog" + path, "SET row_security = off",
		"SET DateStyle = 'ISO'", "SET TimeZone = 'UTC'", "SET bytea_output = 'hex'",
		"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
	} {
		if err == nil {
			_, err = conn.Exec(ctx, set)
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *postgresSource) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return s.conn.Close(ctx)
}

// relations names what may be there in place of a table, as pg_class does.
var relations = map[string]string{"v": "view", "m": "materialized view", "f": "foreign table", "p": "partitioned table"}

func (s *postgresSource) columns(ctx context.Context, table string) (map[string]bool, error) {
	columns := map[string]bool{}
	query := `SELECT a.attname::text, a.atttypid::regtype::text, c.relkind::text,
			(t.typnamespace = 'pg_catalog'::regnamespace)::text
		FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_type t ON t.oid = a.atttypid
		WHERE a.attrelid = to_regclass('` + table + `') AND a.attnum > 0 AND NOT a.attisdropped`
	for r, err := range s.each(ctx, query, 4) {
		if err != nil {
			return nil, err
		}
		if kind := string(r[2]); kind != "r" {
			return nil, noTable(table, cmp.Or(relations[kind], "relation of another kind"))
		}
		if string(r[3]) != "true" { // to turn it into text may be a function of the database
			return nil, fmt.Errorf("the column %q of its table %s has the type %s, which is not PostgreSQL's own",
				r[0], table, r[1])
		}
		columns[string(r[0])] = true
		s.bytes[table+"."+string(r[0])] = string(r[1]) == "bytea"
	}
	return columns, nil
}

func (s *postgresSource) text(table, alias, column string) string {
	c := alias + `."` + column + `"`
	if s.bytes[table+"."+column] {
		return c
	}
	return c + "::text"
}

// tie has nothing to go by: PostgreSQL keeps no order of rows.
func (s *postgresSource) tie(alias string) string { return alias + `."id"` }

func (s *postgresSource) each(ctx context.Context, query string, columns int) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		rows, err := s.conn.Query(ctx, query)
		if err != nil {
			yield(nil, err)
			return
		}
		defer rows.Close()
		eachRow(rows, columns, yield)
	}
}

package postgres

import (
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Every statement here goes by an index, and has one good plan. PostgreSQL would plan some anew each
// time, which costs more than they do, and would read a table from end to end that was small at its
// last ANALYZE, also when it has grown since. So connections ask for what they need as they begin.
var planning = map[string]string{"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off"}

// pin has each connection of a pool ask for the settings in planning, unless the URL sets them. It returns
// the names of the settings that it added.
func pin(config *pgxpool.Config) (asked []string) {
	params := config.ConnConfig.RuntimeParams
	for name, value := range planning {
		if _, ok := params[name]; !ok {
			params[name] = value
			asked = append(asked, name)
		}
	}
	return asked
}

// refused reports whether an error may come from a connection pooler, such as PgBouncer, that refuses
// settings which it does not know. The store works without them.
func refused(err error) bool {
	var answer *pgconn.PgError
	return unreachable(err) && errors.As(err, &answer) && answer.Code[:2] != "28" && answer.Code[:2] != "3D"
}

// readCommitted begins the transactions here: each statement is to see what was committed before it,
// whatever the database's default.
var readCommitted = pgx.TxOptions{BeginQuery: `
	BEGIN ISOLATION LEVEL READ COMMITTED;
	SET LOCAL plan_cache_mode = force_generic_plan;
	SET LOCAL enable_seqscan = off`}

package postgres

import (
	"context"
	"io/fs"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Migrations are this program's.
var Migrations = migrations

// Migrate does to a database what Open does in a program that has these migrations.
func Migrate(ctx context.Context, url string, migrations fs.FS) error {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	return migrate(ctx, pool, migrations)
}

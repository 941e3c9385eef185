//go:build unix

package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/plughook/plughook/internal/pgtest"
	"github.com/plughook/plughook/internal/soak"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/postgres"
)

// worker does not return where the test binary was started as one of several processes.
func worker() { soak.Worker(openSoak) }

func openSoak(ctx context.Context, url string) (session.Service, error) {
	return postgres.Open(ctx, url)
}

// Every acknowledged append survives the death of the process that made it.
func TestKill(t *testing.T) {
	t.Parallel()
	soak.Kill(t, openSoak, pgtest.URL(t)+"&pool_max_conns=4")
}

// Who is stopped for longer than a lease lasts can append no more.
func TestLeases(t *testing.T) {
	t.Parallel()
	soak.Leases(t, openSoak, pgtest.URL(t)+"&pool_max_conns=4", 3500*time.Millisecond)
}

// Processes that add to one counter never pass its bound, and reach it.
func TestBound(t *testing.T) {
	t.Parallel()
	soak.Bound(t, openSoak, pgtest.URL(t)+"&pool_max_conns=4")
}

// Nor does a PgBouncer in between change that, which may give each transaction another connection.
func TestKillThroughPgBouncer(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	open(t, url)
	pooled := bouncer(t, url)
	use(t, open(t, pooled))
	soak.Kill(t, openSoak, pooled+"&pool_max_conns=4")
}

package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/internal/pgtest"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/postgres"
	"github.com/plughook/plughook/session/sessiontest"
)

func TestMain(m *testing.M) {
	worker()
	contract.Short(10)
	pgtest.Main(m)
}

// open returns a store on the database at a URL, closed when the test ends.
func open(t testing.TB, url string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestConformanceOfProcesses(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	sessiontest.RunShared(t, func(t *testing.T) (one, other session.Service) {
		t.Parallel()
		return open(t, url), open(t, url)
	})
}

func TestConformance(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	sessiontest.Run(t, func(t *testing.T) session.Service {
		t.Parallel()
		return open(t, url)
	})
}

func TestSize(t *testing.T) {
	t.Parallel()
	sessiontest.Size(t, open(t, pgtest.URL(t)))
}

func TestHooks(t *testing.T) {
	t.Parallel()
	sessiontest.Hooks(t, open(t, pgtest.URL(t)))
}

// TestNotices runs the contract of a store that keeps notices.
func TestNotices(t *testing.T) {
	t.Parallel()
	sessiontest.Notices(t, open(t, pgtest.URL(t)))
}

package compaction_test

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/internal/pgtest"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/session/postgres"
	"github.com/plughook/plughook/session/sqlite"
)

// histories says how many histories a test draws of each store; soakHistories in the environment makes
// it more.
const soakHistories = "PLUGHOOK_SOAK_HISTORIES"

func histories(t *testing.T, usual int) int {
	if n, err := strconv.Atoi(os.Getenv(soakHistories)); err == nil {
		return n
	}
	if testing.Short() {
		usual = max(1, usual/5)
	}
	return usual
}

// check draws n times.
func check(t *testing.T, n int, f func(*rapid.T)) {
	before := flag.Lookup("rapid.checks").Value.String()
	require.NoError(t, flag.Set("rapid.checks", strconv.Itoa(n)))
	defer func() { require.NoError(t, flag.Set("rapid.checks", before)) }()
	rapid.Check(t, f)
}

// TestLaws: whatever happens to a session, in whatever order (turns, calls that are answered at once,
// late or never, branches, summaries that come late, fail or lie, rewinds of rewinds, crashes), every
// live event is raw or stands behind exactly one live compaction that has seen it, no prompt is above
// its budget, and nothing that was written changes. Run PLUGHOOK_SOAK_HISTORIES=100000 go test -timeout
// 0 -run TestLaws ./plugins/compaction for more.
func TestLaws(t *testing.T) {
	for name, open := range map[string]func(*testing.T) (session.Service, int){
		"memory": func(*testing.T) (session.Service, int) { return memory.New(), 12 },
		"sqlite": func(t *testing.T) (session.Service, int) {
			s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "sessions.db"))
			require.NoError(t, err)
			return s, 3
		},
		"postgres": func(t *testing.T) (session.Service, int) {
			s, err := postgres.Open(t.Context(), pgtest.Start(t).URL(t))
			require.NoError(t, err)
			return s, 2
		},
	} {
		t.Run(name, func(t *testing.T) {
			store, usual := open(t)
			defer func() { require.NoError(t, store.Close()) }()
			seen, n := map[string]int{}, 0
			check(t, histories(t, usual), func(t *rapid.T) {
				for what, times := range history(t, store) {
					seen[what] += times
				}
				n++
			})
			t.Logf("%d histories: %v", n, seen)
		})
	}
}

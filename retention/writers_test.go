package retention_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/retention"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// Writers save artifacts while their user is deleted, from two processes on one directory. Nothing is left, and a new
// session of the same name has none of it. PLUGHOOK_SOAK=20 makes it 100 rounds.
func TestNothingIsLeftOfADeletedUser(t *testing.T) {
	dir := t.TempDir()
	sessions := memory.New()
	defer sessions.Close()
	var servers []artifact.Service
	var files *artifact.Files
	for range 2 {
		var err error
		files, err = artifact.Open(dir)
		require.NoError(t, err)
		defer files.Close()
		servers = append(servers, artifact.Bind(files, sessions))
	}
	for round := range contract.Times(5) {
		var writers, started sync.WaitGroup
		for i := range 10 {
			started.Add(1)
			writers.Go(func() {
				key := session.Key{App: "desk", User: "ann", ID: fmt.Sprint("s", i%3)}
				_, _ = sessions.Create(t.Context(), key, nil) // another writer may have made it
				started.Done()
				for n := range 20 {
					name := []string{"own", "user:shared"}[n%2]
					_, err := servers[i%2].Save(t.Context(), key, name, genai.NewPartFromText("secret"))
					if err != nil {
						require.ErrorIs(t, err, session.ErrNotFound)
					}
				}
			})
		}
		started.Wait()
		store := retention.Store{Sessions: sessions, Artifacts: servers[round%2]}
		_, err := store.User(t.Context(), "desk", "ann")
		require.NoError(t, err)
		writers.Wait()

		size, err := files.Size(t.Context(), "desk", "ann")
		require.NoError(t, err)
		require.Zero(t, size, "round %d", round)
		key := session.Key{App: "desk", User: "ann", ID: "s0"}
		_, err = sessions.Create(t.Context(), key, nil)
		require.NoError(t, err)
		names, err := files.List(t.Context(), key)
		require.NoError(t, err)
		require.Empty(t, names)
		require.NoError(t, sessions.Delete(t.Context(), key))
	}
}

// What a deletion has left behind that did not come to its end is swept up with what is old.
func TestOrphansAreSwept(t *testing.T) {
	files, err := artifact.Open(t.TempDir())
	require.NoError(t, err)
	defer files.Close()
	for name, files := range map[string]artifact.Keeper{"files": files, "memory": artifact.NewMemory()} {
		t.Run(name, func(t *testing.T) {
			sessions := memory.New()
			defer sessions.Close()
			gone := session.Key{App: "desk", User: "ann", ID: "gone"}
			there := session.Key{App: "desk", User: "ann", ID: "there"}
			other := session.Key{App: "shop", User: "ann", ID: "gone"}
			_, err := sessions.Create(t.Context(), there, nil)
			require.NoError(t, err)
			for _, key := range []session.Key{gone, there, other} {
				_, err := files.Save(t.Context(), key, "f", genai.NewPartFromText("text"))
				require.NoError(t, err)
			}
			_, err = files.Save(t.Context(), gone, "user:f", genai.NewPartFromText("text"))
			require.NoError(t, err)

			report := &retention.Report{}
			store := retention.Store{Sessions: sessions, Artifacts: files}
			require.NoError(t, store.Sweep(t.Context(), "desk", report))
			require.Equal(t, 1, report.Artifacts)
			names, err := files.List(t.Context(), gone)
			require.NoError(t, err)
			require.Equal(t, []string{"user:f"}, names)
			for _, key := range []session.Key{there, other} {
				_, err := files.Load(t.Context(), key, "f", artifact.Latest)
				require.NoError(t, err)
			}
			n, err := files.DeleteUser(t.Context(), "desk", "ann")
			require.NoError(t, err)
			require.Equal(t, 2, n)
			size, err := files.Size(t.Context(), "desk", "ann")
			require.NoError(t, err)
			require.Zero(t, size)
		})
	}
}

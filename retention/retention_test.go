package retention_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/retention"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// filled returns stores with a session of each of two users, with an artifact and state of their own and
// of their users.
func filled(t *testing.T) retention.Store {
	s := retention.Store{Sessions: memory.New(), Artifacts: artifact.NewMemory()}
	for _, user := range []string{"ann", "bob"} {
		key := session.Key{App: "desk", User: user, ID: "s"}
		_, err := s.Sessions.Create(t.Context(), key, map[string]any{"own": 1, "user:name": user, "app:open": true})
		require.NoError(t, err)
		for _, name := range []string{"a.txt", "user:b.txt"} {
			_, err := s.Artifacts.Save(t.Context(), key, name, genai.NewPartFromText("x"))
			require.NoError(t, err)
		}
	}
	return s
}

var (
	ann = session.Key{App: "desk", User: "ann", ID: "s"}
	bob = session.Key{App: "desk", User: "bob", ID: "s"}
)

func TestADeletedSessionLeavesWhatIsItsUsers(t *testing.T) {
	s := filled(t)
	report, err := s.Session(t.Context(), ann)
	require.NoError(t, err)
	require.Equal(t, &retention.Report{Sessions: []session.Key{ann}, Artifacts: 1}, report)
	names, err := s.Artifacts.List(t.Context(), ann)
	require.NoError(t, err)
	require.Equal(t, []string{"user:b.txt"}, names)
	_, err = s.Session(t.Context(), ann)
	require.ErrorIs(t, err, session.ErrNotFound)
}

func TestOfADeletedUserNothingIsLeft(t *testing.T) {
	s := filled(t)
	s.DryRun = true
	planned, err := s.User(t.Context(), "desk", "ann")
	require.NoError(t, err)
	_, err = s.Sessions.Get(t.Context(), ann)
	require.NoError(t, err, "a dry run deletes nothing")

	s.DryRun = false
	report, err := s.User(t.Context(), "desk", "ann")
	require.NoError(t, err)
	require.Equal(t, planned, report)
	require.Equal(t, &retention.Report{Sessions: []session.Key{ann}, Artifacts: 2, State: []string{"user:name"}}, report)

	again, err := s.Sessions.Create(t.Context(), ann, nil)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"app:open": true}, again.State)
	names, err := s.Artifacts.List(t.Context(), ann)
	require.NoError(t, err)
	require.Empty(t, names)

	// The other user has everything.
	other, err := s.Sessions.Get(t.Context(), bob)
	require.NoError(t, err)
	require.Equal(t, "bob", other.State["user:name"])
	names, err = s.Artifacts.List(t.Context(), bob)
	require.NoError(t, err)
	require.Len(t, names, 2)
}

func TestSessionsThatNobodyUsedAreDeletedButNoneThatRuns(t *testing.T) {
	s := filled(t)
	report, err := s.Before(t.Context(), "desk", time.Now().Add(-time.Hour))
	require.NoError(t, err)
	require.Empty(t, report.Sessions)

	lease, err := s.Sessions.Lease(t.Context(), bob, "a run")
	require.NoError(t, err)
	defer lease.Release()
	report, err = s.Before(t.Context(), "desk", time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, []session.Key{ann}, report.Sessions)
}

// The tools of a run save artifacts as long as it runs.
func TestOfAUserWhoHasARunNothingIsLeftEither(t *testing.T) {
	s := filled(t)
	lease, err := s.Sessions.Lease(t.Context(), ann, "a run")
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer lease.Release()
		select {
		case <-lease.Cancelled:
		case <-lease.Lost:
		case <-time.After(5 * time.Second):
		}
		for _, name := range []string{"late.txt", "user:late.txt"} {
			_, err := s.Artifacts.Save(t.Context(), ann, name, genai.NewPartFromText("x"))
			assert.NoError(t, err)
		}
	}()
	report, err := s.User(t.Context(), "desk", "ann")
	require.NoError(t, err)
	require.Equal(t, []session.Key{ann}, report.Sessions)
	<-ended
	names, err := s.Artifacts.List(t.Context(), ann)
	require.NoError(t, err)
	require.Empty(t, names)
}

package retention_test

import (
	"context"
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
		_, err := s.Sessions.Create(t.Context(), key,
			map[string]any{"own": 1, "user:name": user, "app:open": true})
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
	require.Equal(t,
		&retention.Report{Sessions: []session.Key{ann}, Artifacts: 2, State: []string{"user:name"}},
		report)

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

// begins is an artifact service at whose list a run begins, once.
type begins struct {
	artifact.Service
	run func()
}

func (b *begins) List(ctx context.Context, key session.Key) ([]string, error) {
	names, err := b.Service.List(ctx, key)
	if run := b.run; run != nil {
		b.run = nil
		run()
	}
	return names, err
}

// A run that would begin after the last one was cancelled, and save artifacts, waits until the session is gone.
func TestNoRunBeginsWhileASessionIsDeleted(t *testing.T) {
	s := filled(t)
	ended := make(chan error, 1)
	s.Artifacts = &begins{Service: s.Artifacts, run: func() {
		begun := make(chan struct{})
		go func() {
			lease, err := s.Sessions.Lease(t.Context(), ann, "a run")
			if err == nil {
				_, err = s.Artifacts.Save(t.Context(), ann, "late.txt", genai.NewPartFromText("x"))
				close(begun)
				lease.Release()
			}
			ended <- err
		}()
		select {
		case <-begun:
		case <-time.After(100 * time.Millisecond):
		}
	}}
	_, err := s.Session(t.Context(), ann)
	require.NoError(t, err)
	require.ErrorIs(t, <-ended, session.ErrNotFound)
	names, err := s.Artifacts.List(t.Context(), ann)
	require.NoError(t, err)
	require.Equal(t, []string{"user:b.txt"}, names)
}

// looked is a session service on one of whose sessions a run begins, when Get has said that nobody runs it.
type looked struct {
	session.Service
	run func()
}

func (l *looked) Get(ctx context.Context, key session.Key) (*session.Session, error) {
	s, err := l.Service.Get(ctx, key)
	if run := l.run; run != nil && key == ann {
		l.run = nil
		run()
	}
	return s, err
}

// Who comes back to an old session at the moment at which it is to be deleted keeps it.
func TestASessionThatIsUsedAgainStays(t *testing.T) {
	for name, ends := range map[string]bool{"the run goes on": false, "the run has ended": true} {
		t.Run(name, func(t *testing.T) {
			s := filled(t)
			sessions := s.Sessions
			time.Sleep(time.Millisecond)
			since := time.Now()
			var lease *session.Lease
			s.Sessions = &looked{Service: sessions, run: func() {
				var err error
				lease, err = sessions.Lease(t.Context(), ann, "a run")
				require.NoError(t, err)
				_, err = sessions.Append(t.Context(),
					session.AppendTarget{Key: ann, Fence: lease.Fence},
					&session.Event{Author: session.User})
				require.NoError(t, err)
				if ends {
					lease.Release()
				}
			}}
			report, err := s.Before(t.Context(), "desk", since)
			require.NoError(t, err)
			require.Equal(t, []session.Key{bob}, report.Sessions)
			select {
			case <-lease.Cancelled:
				t.Error("the run was cancelled")
			default:
			}
			lease.Release()
		})
	}
}

// A session that is made while the others are deleted is deleted, too, with the state that it has set.
func TestASessionThatIsMadeMeanwhileIsDeletedWithItsUser(t *testing.T) {
	s := filled(t)
	sessions := s.Sessions
	made := session.Key{App: "desk", User: "ann", ID: "made meanwhile"}
	s.Artifacts = &begins{Service: s.Artifacts, run: func() {
		_, err := sessions.Create(t.Context(), made, map[string]any{"user:late": 1})
		require.NoError(t, err)
	}}
	report, err := s.User(t.Context(), "desk", "ann")
	require.NoError(t, err)
	require.Equal(t, []session.Key{ann, made}, report.Sessions)
	require.Equal(t, []string{"user:late", "user:name"}, report.State)
	again, err := sessions.Create(t.Context(), ann, nil)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"app:open": true}, again.State)
}

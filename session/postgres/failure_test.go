package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/internal/pgtest"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/postgres"
)

// sql runs a statement beside the store.
func sql(t testing.TB, url, statement string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(context.Background(), statement, args...)
	require.NoError(t, err)
}

func texts(
	t testing.TB,
	s session.Service,
	key session.Key,
	sel session.Selection,
) (list []string) {
	t.Helper()
	for e, err := range s.Read(context.Background(), key, sel) {
		require.NoError(t, err)
		list = append(list, e.Text())
	}
	return list
}

// A password never gets into an error, however the connection string is wrong.
func TestPasswordStaysSecret(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	role := "role_" + strings.ReplaceAll(session.NewID(), "-", "")
	sql(t, url, "CREATE ROLE "+role+" LOGIN PASSWORD 'right'")
	t.Cleanup(func() { sql(t, url, "DROP ROLE "+role) })
	const secret = "s3cr3t#/p%ss"
	for name, url := range map[string]string{
		"wrong password": strings.Replace(url, "user=plughook", "user="+role+"&password=s3cr3t%23%2Fp%25ss", 1),
		"no server":      "postgres://me:s3cr3t%23%2Fp%25ss@127.0.0.1:1/db",
		"bad option":     "postgres://me:s3cr3t%23%2Fp%25ss@h/db?sslmode=sometimes",
		"bad pool":       "postgres://me:s3cr3t%23%2Fp%25ss@h/db?pool_max_conns=many",
		"in the query":   "postgres://h/db?password=s3cr3t%23%2Fp%25ss&sslmode=sometimes",
		"unescaped":      "postgres://me:" + secret + "@h:54x/db",
		"keywords":       "host=h port=54x password='" + secret + "'",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := postgres.Open(t.Context(), url)
			require.Error(t, err)
			t.Log(err)
			require.True(t, strings.HasPrefix(err.Error(), "postgres: "), err)
			for _, part := range []string{secret, "s3cr3t", "p%ss", "p%25ss"} {
				require.NotContains(t, err.Error(), part)
			}
		})
	}
}

// A context that is done ends an operation at once, even one that waits in the database, and the
// append that it ended has happened wholly or not at all; appending again is right.
func TestCancelledAppend(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := open(t, url)
	k := newTalk(t, s, "s", nil)
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM plughook_sessions FOR UPDATE")
	require.NoError(t, err)
	e := said(1)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond,
		fmt.Errorf("the caller left"))
	defer cancel()
	began := time.Now()
	_, err = s.Append(ctx, k.at, e)
	require.ErrorContains(t, err, "the caller left")
	require.Less(t, time.Since(began), time.Minute)
	require.Zero(t, e.Seq)
	require.NoError(t, tx.Rollback(t.Context()))
	k.append(t, e)
	require.Equal(t, int64(1), e.Seq)
	require.Len(t, texts(t, s, k.at.Key, session.Selection{}), 1)
}

// Backends that are terminated at any moment, in the middle of an append too, cost no append: it is
// repeated, and stands there once.
func TestTerminatedBackends(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := open(t, url)
	talks := []*talk{newTalk(t, s, "0", nil), newTalk(t, s, "1", nil), newTalk(t, s, "2", nil)}
	k := terminate(t, url, len(talks))
	defer k.stop()
	var writers sync.WaitGroup
	each := contract.Times(30)
	for i, talk := range talks {
		writers.Go(func() {
			for n := range each {
				e := session.Message(fmt.Sprint(n))
				e.ID = fmt.Sprint("e", n)
				e.Actions.StateIncrement = map[string]float64{"app:n": 1}
				e.Actions.StateDelta = map[string]any{"n": n}
				last, err := s.Append(context.Background(), talk.at, e)
				if err != nil || last != int64(n)+1 {
					t.Errorf("append %d: position %d, %v", n, last, err)
					return
				}
				k.progress(i)
				talk.at.After = last
			}
		})
	}
	writers.Wait()
	k.stop()
	for _, k := range talks {
		log := texts(t, s, k.at.Key, session.Selection{})
		require.Len(t, log, each)
		for i, text := range log {
			require.Equal(t, fmt.Sprint(i), text)
		}
	}
	c, err := s.Get(t.Context(), talks[0].at.Key)
	require.NoError(t, err)
	require.EqualValues(t, len(talks)*each, c.State["app:n"])
}

// Sessions are made and deleted, each once, while backends are terminated.
func TestCreateOnTerminatedBackends(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := open(t, url)
	k := terminate(t, url, 1)
	defer k.stop()
	for n := range contract.Times(10) {
		key := session.Key{App: "a", User: "u", ID: fmt.Sprint(n)}
		_, err := s.Create(t.Context(), key, map[string]any{"user:n": n})
		require.NoError(t, err)
		k.progress(0)
		_, err = s.Create(t.Context(), key, nil)
		require.ErrorIs(t, err, session.ErrExists)
		k.progress(0)
		require.NoError(t, s.Delete(t.Context(), key))
		k.progress(0)
		require.ErrorIs(t, s.Delete(t.Context(), key), session.ErrNotFound)
		k.progress(0)
	}
}

// A killer terminates backends, one every few milliseconds.
type killer struct {
	mu   sync.Mutex
	left []int // by worker: how many backends are terminated before its next progress, at most
	stop func()
}

// progress says that an operation of a worker has succeeded. A store repeats an operation as often as its
// pool has connections. On a machine so slow that no operation ends between two kills, killing on would
// only show that this is not for ever.
func (k *killer) progress(worker int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.left[worker] = 8
}

// may reports whether another backend may be terminated, and counts it.
func (k *killer) may() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if slices.Contains(k.left, 0) {
		return false
	}
	for i := range k.left {
		k.left[i]--
	}
	return true
}

// terminate starts a killer on the backends of a database that so many workers use.
func terminate(t *testing.T, url string, workers int) *killer {
	k := &killer{left: make([]int, workers)}
	for i := range workers {
		k.progress(i)
	}
	done := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		tick := time.NewTicker(15 * time.Millisecond)
		defer tick.Stop()
		conn, err := pgx.Connect(context.Background(), url)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close(context.Background())
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			if !k.may() {
				continue
			}
			_, err := conn.Exec(context.Background(), `
				SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE datname = current_database() AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1`)
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	k.stop = sync.OnceFunc(func() {
		close(done)
		work.Wait()
	})
	return k
}

// A server that goes away fails what is under way with an error that says so; when it is back, the
// store works on, at the first attempt.
func TestServerGone(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	s := open(t, server.URL(t))
	k := newTalk(t, s, "s", nil)
	taken := time.Now()
	lease, err := s.Lease(t.Context(), k.at.Key, "")
	require.NoError(t, err)
	k.at.Fence = lease.Fence
	k.append(t, said(1))
	var all sync.WaitGroup
	for range 16 { // as many connections as the pool holds
		all.Go(func() {
			_, err := s.Get(context.Background(), k.at.Key)
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	server.Crash(t)
	began := time.Now()
	e := said(2)
	_, err = s.Append(t.Context(), k.at, e)
	require.ErrorContains(t, err, "postgres: append to session bench/user/s: ")
	require.ErrorIs(t, err, session.ErrUnavailable)
	t.Log(err)
	_, err = s.Get(t.Context(), k.at.Key)
	require.ErrorIs(t, err, session.ErrUnavailable)
	require.Less(t, time.Since(began), time.Minute)
	select {
	case <-lease.Lost:
		require.GreaterOrEqual(t, time.Since(taken), 3*time.Second,
			"the lease was given up at once")
	case <-time.After(time.Minute):
		t.Fatal("the lease was not lost")
	}
	lease.Release() // does not hang
	server.Restart(t)
	_, err = s.Append(t.Context(), k.at, e) // nobody else has taken the lease
	require.NoError(t, err)
	again, err := s.Lease(t.Context(), k.at.Key, "")
	require.NoError(t, err)
	require.Greater(t, again.Fence, lease.Fence)
	_, err = s.Append(t.Context(),
		session.AppendTarget{Key: k.at.Key, After: 2, Fence: lease.Fence}, said(3))
	require.ErrorIs(t, err, session.ErrFenced)
	again.Release()
}

// The server is crashed again and again under writers; what was acknowledged is there, once, in order.
func TestServerCrashes(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	s := open(t, server.URL(t))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var writers sync.WaitGroup
	talks := []*talk{newTalk(t, s, "0", nil), newTalk(t, s, "1", nil), newTalk(t, s, "2", nil)}
	acked := make([]int, len(talks))
	var written atomic.Int64
	for i, k := range talks {
		writers.Go(func() {
			for ctx.Err() == nil {
				batch := []*session.Event{
					session.Message(fmt.Sprint(acked[i])),
					session.Message(fmt.Sprint(acked[i])),
				}
				for n, e := range batch {
					e.ID = fmt.Sprintf("%d.%d", acked[i], n)
				}
				if i > 0 { // one session without state, which is another statement
					batch[0].Actions.StateDelta = map[string]any{"n": acked[i] + 1}
				}
				// The position is the one before, also where the answer to the same append was lost.
				last, err := s.Append(context.Background(), k.at, batch...)
				for ; err != nil; last, err = s.Append(context.Background(), k.at, batch...) {
					if errors.Is(err, session.ErrConflict) {
						t.Error(err)
						return
					}
					time.Sleep(10 * time.Millisecond) // it is down: not in a tight loop
				}
				acked[i]++
				written.Add(1)
				if last != int64(2*acked[i]) {
					t.Errorf("position %d after %d appends", last, acked[i])
					return
				}
				k.at.After = last
			}
		})
	}
	for range contract.Times(2) {
		before := written.Load()
		require.Eventually(t, func() bool { return written.Load() >= before+50 }, 5*time.Minute,
			time.Millisecond)
		server.Crash(t)
		server.Restart(t)
	}
	cancel()
	writers.Wait()
	for i, k := range talks {
		log := texts(t, s, k.at.Key, session.Selection{})
		require.Len(t, log, 2*acked[i])
		for n, text := range log {
			require.Equal(t, fmt.Sprint(n/2), text)
		}
		c, err := s.Get(t.Context(), k.at.Key)
		require.NoError(t, err)
		if i > 0 {
			require.EqualValues(t, acked[i], c.State["n"])
		}
		t.Logf("session %d: %d appends", i, acked[i])
	}
}

// A huge event goes in and comes back, and a page of huge events does not come at once.
func TestHugeEvents(t *testing.T) {
	t.Parallel()
	s := open(t, pgtest.URL(t))
	k := newTalk(t, s, "s", nil)
	huge := strings.Repeat("0123456789abcdef", 50<<16)
	k.append(t, session.Message(huge))
	k.append(t, session.Message("small"), session.Message(huge[:9<<20]),
		session.Message(huge[:9<<20]))
	log := texts(t, s, k.at.Key, session.Selection{})
	require.Len(t, log, 4)
	require.True(t, log[0] == huge && log[1] == "small" && log[3] == huge[:9<<20],
		"an event came back changed")
}

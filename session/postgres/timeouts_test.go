package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/internal/pgtest"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/postgres"
)

// Where the database ends statements that take too long or wait too long for a lock, an append fails with an
// error that says so. Made again, it stands there once.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	for name, query := range map[string]string{
		"statement_timeout": "statement_timeout=50",
		"lock_timeout":      "lock_timeout=5",
		"both":              "statement_timeout=60&lock_timeout=3",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := pgtest.URL(t)
			open(t, url)
			try, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			s, err := postgres.Open(t.Context(), url+"&"+query)
			for err != nil && try.Err() == nil { // opening has statements, too
				require.ErrorContains(t, err, "timeout")
				s, err = postgres.Open(t.Context(), url+"&"+query)
			}
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			slow := open(t, url)
			conn, err := pgx.Connect(t.Context(), url)
			require.NoError(t, err)
			defer conn.Close(context.Background())
			var writers sync.WaitGroup
			end := time.Now().Add(time.Duration(contract.Times(2)) * time.Second)
			talks := []*talk{
				newTalk(t, slow, "0", nil),
				newTalk(t, slow, "1", nil),
				newTalk(t, slow, "2", nil),
			}
			failed := make([]int, len(talks))
			appended := make([]int, len(talks))
			for i, k := range talks {
				writers.Go(func() {
					s := s
					for n := 0; time.Now().Before(end); n++ {
						e := session.Message(fmt.Sprint(n))
						e.ID = fmt.Sprint("e", n)
						if i > 0 {
							e.Actions.StateIncrement = map[string]float64{"app:n": 1}
							e.Actions.StateDelta = map[string]any{"n": n}
						}
						if i > 1 { // not in one round trip
							e.Actions.StateBound = map[string]float64{"app:n": 1e9}
						}
						last, err := s.Append(context.Background(), k.at, e)
						for ; err != nil; last, err = s.Append(context.Background(), k.at, e) {
							failed[i]++
							if !strings.Contains(err.Error(), "timeout") {
								t.Error(err)
								return
							}
							if time.Now().
								After(end) { // so that the test ends on a slow machine, too
								s = slow
							}
							time.Sleep(time.Millisecond)
						}
						appended[i]++
						if last != int64(n)+1 {
							t.Errorf("append %d: position %d", n, last)
							return
						}
						k.at.After = last
					}
				})
			}

			// Somebody holds locks that the appends want, for longer than they may wait.
			done := make(chan struct{})
			go func() { writers.Wait(); close(done) }()
			for over := false; !over; {
				tx, err := conn.Begin(t.Context())
				require.NoError(t, err)
				_, err = tx.Exec(t.Context(),
					`SELECT FROM plughook_sessions WHERE id = $1 FOR UPDATE`, fmt.Sprint(rand.N(3)))
				require.NoError(t, err)
				time.Sleep(rand.N(100 * time.Millisecond))
				require.NoError(t, tx.Rollback(t.Context()))
				select {
				case <-done:
					over = true
				case <-time.After(rand.N(50 * time.Millisecond)):
				}
			}
			for i, k := range talks {
				log := texts(t, slow, k.at.Key, session.Selection{})
				require.Len(t, log, appended[i])
				for n, text := range log {
					require.Equal(t, fmt.Sprint(n), text)
				}
				t.Logf("session %d: %d appends, %d attempts ended by a timeout", i, appended[i],
					failed[i])
			}
			c, err := slow.Get(t.Context(), talks[0].at.Key)
			require.NoError(t, err)
			require.EqualValues(t, appended[1]+appended[2], c.State["app:n"])
		})
	}
}

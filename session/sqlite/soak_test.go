//go:build unix

package sqlite

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/internal/leaktest"
	"github.com/plughook/plughook/internal/soak"
	"github.com/plughook/plughook/session"
)

func TestMain(m *testing.M) {
	soak.Worker(openSoak)
	if path := os.Getenv(openVariable); path != "" {
		if err := openOnce(path); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if path := os.Getenv(appendVariable); path != "" {
		if err := appendOnce(path); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if path := os.Getenv(holdVariable); path != "" {
		fmt.Println(holdLease(path))
		os.Exit(1)
	}
	contract.Short(25)
	leaktest.Main(m)
}

func openSoak(ctx context.Context, path string) (session.Service, error) {
	return openPatient(ctx, path)
}

// Every acknowledged append survives the death of the process that made it.
func TestKill(t *testing.T) {
	t.Parallel()
	soak.Kill(t, openSoak, filepath.Join(t.TempDir(), "sessions.db"))
}

// Who is stopped for longer than a lease lasts can append no more; nobody is told that the file is locked.
func TestLeases(t *testing.T) {
	t.Parallel()
	soak.Leases(t, openSoak, filepath.Join(t.TempDir(), "sessions.db"), 3500*time.Millisecond)
}

// Processes that add to one counter never pass its bound, and reach it.
func TestBound(t *testing.T) {
	t.Parallel()
	soak.Bound(t, openSoak, filepath.Join(t.TempDir(), "sessions.db"))
}

const openVariable = "PLUGHOOK_SQLITE_OPEN"

func openOnce(path string) error {
	s, err := openPatient(context.Background(), path)
	if err == nil {
		_, err = s.Create(context.Background(), session.Key{App: "app", User: "user"}, nil)
	}
	if err == nil {
		err = s.Close()
	}
	return err
}

const appendVariable = "PLUGHOOK_SQLITE_APPEND"

// appendOnce appends one event to each session of the file, and says where its log ends then.
func appendOnce(path string) error {
	s, err := openPatient(context.Background(), path)
	if err != nil {
		return err
	}
	for m, err := range s.List(context.Background(), "", "") {
		if err != nil {
			return err
		}
		seen := int64(0)
		for _, err := range s.Read(context.Background(), m.Key, session.Selection{}) {
			if err != nil {
				return err
			}
			seen++
		}
		after, err := s.Append(context.Background(), session.AppendTarget{Key: m.Key, After: seen},
			event1K())
		if err != nil {
			return err
		}
		fmt.Print(after)
	}
	return s.Close()
}

// holdVariable names a file. A process that is started with it holds the lease of a session in it until it is killed.
const holdVariable = "PLUGHOOK_SQLITE_HOLD"

// held is that session.
var held = session.Key{App: "app", User: "ann", ID: "s"}

// holdLease returns only if it fails.
func holdLease(path string) error {
	s, err := open(context.Background(), path, time.Hour, patient)
	if err != nil {
		return err
	}
	if _, err := s.Lease(context.Background(), held, "the child"); err != nil {
		return err
	}
	fmt.Println("held")
	select {}
}

// appendElsewhere has another process append one event to the file's only session, and returns where its
// log ends then.
func appendElsewhere(t *testing.T, path string) string {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), appendVariable+"="+path)
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// Of processes that open a new file at once one makes it, and all have it.
func TestOpenProcesses(t *testing.T) {
	t.Parallel()
	for range 3 {
		path := filepath.Join(t.TempDir(), "sessions.db")
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				c := exec.Command(os.Args[0])
				c.Env = append(os.Environ(), openVariable+"="+path)
				if out, err := c.CombinedOutput(); err != nil {
					t.Errorf("%v: %s", err, out)
				}
			})
		}
		wg.Wait()
		n := 0
		for _, err := range openPath(t, path).List(t.Context(), "", "") {
			require.NoError(t, err)
			n++
		}
		require.Equal(t, 8, n)
	}
}

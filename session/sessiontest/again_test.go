package sessiontest_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
	"github.com/plughook/plughook/session/sessiontest"
)

// lapsing gives leases that have run out: their holders have stood still for too long.
type lapsing struct{ session.Service }

func (s lapsing) Lease(
	ctx context.Context,
	key session.Key,
	holder string,
) (*session.Lease, error) {
	lease, err := s.Service.Lease(ctx, key, holder)
	if err == nil {
		lost := make(chan struct{})
		close(lost)
		lease.Release()
		lease.Lost = lost
	}
	return lease, err
}

// A case in which a lease ran out begins anew, with another store. A store whose leases run out each time fails.
func TestACaseInWhichALeaseRanOutBeginsAnew(t *testing.T) {
	const env = "PLUGHOOK_SESSIONTEST_LAPSING"
	if until := os.Getenv(env); until != "" {
		sessiontest.Run(t, func(t *testing.T) session.Service {
			if strings.HasSuffix(t.Name(), until) {
				return memory.New()
			}
			return lapsing{memory.New()}
		})
		return
	}
	run := func(until string) (out string, err error) {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v",
			"-test.run=^TestACaseInWhichALeaseRanOutBeginsAnew$/lease/exclusive")
		cmd.Env = append(os.Environ(), env+"="+until)
		text, err := cmd.CombinedOutput()
		return string(text), err
	}
	out, err := run("/again/again")
	require.NoError(t, err, out)
	require.Contains(t, out,
		"--- PASS: TestACaseInWhichALeaseRanOutBeginsAnew/lease/exclusive/again/again ")
	out, err = run("/never")
	require.Error(t, err, out)
	require.Contains(t, out, "--- FAIL: TestACaseInWhichALeaseRanOutBeginsAnew/lease/exclusive ")
}

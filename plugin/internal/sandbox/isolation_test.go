//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/plughook/plughook/plugin/internal/sandbox/inside"
	"github.com/plughook/plughook/plugin/internal/testplugin"
)

// refusal returns the error of a system that refuses isolation above a level, with an errno.
func refusal(above level, errno unix.Errno) func(level) (*Process, error) {
	return func(l level) (*Process, error) {
		if l > above {
			return nil, fmt.Errorf("%w: %w", inside.ErrIsolation, errno)
		}
		return new(Process), nil
	}
}

// A system without namespaces starts plugins all the same, and the log says once what they lack.
func TestMissingIsolationIsLoggedOnce(t *testing.T) {
	for above := range best {
		log := new(testplugin.Log)
		i := isolation{highest: best}
		for range 2 {
			_, err := i.start("", refusal(above, unix.EPERM), log.Logger())
			require.NoError(t, err)
		}
		require.Equal(t, 1, strings.Count(log.String(), "PLUGINS ARE NOT ISOLATED"))
		require.Contains(t, log.String(), lacks[above][:40])
	}
}

// A level that was reached is kept: a process that cannot have it is not started.
func TestIsolationIsNeverLowered(t *testing.T) {
	log := testplugin.Discard
	for reached := namespaced; reached <= isolated; reached++ {
		i := isolation{highest: best}
		_, err := i.start("", refusal(reached, unix.EPERM), log)
		require.NoError(t, err)
		for _, errno := range []unix.Errno{unix.ENOSPC, unix.EUSERS, unix.EPERM, unix.EINVAL} {
			_, err = i.start("", refusal(reached-1, errno), log)
			require.ErrorIs(t, err, ErrIsolation)
			require.ErrorIs(t, err, errno)
		}
		_, err = i.start("", refusal(reached, unix.EPERM), log)
		require.NoError(t, err, "it can be had again")
	}
}

// What is used up comes back, so not even the first process is started without it.
func TestIsolationThatIsUsedUp(t *testing.T) {
	i := isolation{highest: best}
	_, err := i.start("", refusal(bare, unix.ENOSPC), testplugin.Discard)
	require.ErrorIs(t, err, ErrIsolation)
	_, err = i.start("", refusal(best, 0), testplugin.Discard)
	require.NoError(t, err)
	require.Equal(t, isolated, i.lowest)
}

// A configuration can demand isolation, or none.
func TestIsolationIsDemanded(t *testing.T) {
	i := isolation{highest: best}
	_, err := i.start(Required, refusal(namespaced, unix.EPERM), testplugin.Discard)
	require.ErrorIs(t, err, ErrIsolation)
	_, err = i.start("", refusal(bare, unix.EPERM), testplugin.Discard)
	require.NoError(t, err, "nobody demands it")
	_, err = i.start(Required, refusal(bare, unix.EPERM), testplugin.Discard)
	require.ErrorIs(t, err, ErrIsolation)

	_, err = i.start(Required, refusal(best, 0), testplugin.Discard)
	require.NoError(t, err)
	log := new(testplugin.Log)
	none := func(l level) (*Process, error) {
		require.Equal(t, bare, l)
		return new(Process), nil
	}
	_, err = i.start(None, none, log.Logger())
	require.NoError(t, err)
	require.Contains(t, log.String(), "its configuration says so")
}

// An error that is not about isolation is not tried again without.
func TestAnErrorOfTheExecutable(t *testing.T) {
	i := isolation{highest: best}
	attempts := 0
	_, err := i.start("", func(level) (*Process, error) {
		attempts++
		return nil, errors.New("not executable")
	}, testplugin.Discard)
	require.EqualError(t, err, "not executable")
	require.Equal(t, 1, attempts)
}

// The directory of this process's group is found, however cgroup v2 is mounted.
func TestOwnGroup(t *testing.T) {
	dir, err := ownGroup()
	if err != nil {
		t.Skip(err)
	}
	members, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	require.NoError(t, err)
	require.Contains(t, strings.Fields(string(members)), strconv.Itoa(os.Getpid()))
}

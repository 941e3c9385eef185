package remote

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/plughook/plughook/plugin/internal/testplugin"
)

// cgroups returns a directory of cgroup v2 in which this user may make groups with limits of
// memory and processes. Few machines have one for tests, so it has to be named.
func cgroups(t *testing.T) string {
	dir := os.Getenv("PLUGHOOK_TEST_CGROUP")
	if dir == "" {
		t.Skip("PLUGHOOK_TEST_CGROUP names no directory of cgroup v2")
	}
	return dir
}

// groups returns the groups of plugins in a directory.
func groups(t *testing.T, dir string) []string {
	found, err := filepath.Glob(filepath.Join(dir, "plughook-*"))
	require.NoError(t, err)
	return found
}

// Memory of any kind counts, of all processes of a plugin together. Who uses more is killed, the
// error says why, and nothing of the group is left.
func TestAGroupBoundsMemory(t *testing.T) {
	c := command("asked")
	c.Limits = Limits{Memory: 100 << 20, Processes: 50, Cgroup: cgroups(t)}
	for _, kind := range []string{"private", "shared"} {
		p, _ := started(t, c)
		require.Equal(t, "yes", asked(t, p, "use "+kind+" 30"))
		_, err := question(t, p, "use "+kind+" 100")
		require.ErrorIs(t, err, ErrGone)
		<-p.conn.gone
		require.ErrorContains(
			t,
			p.conn.cause,
			"it used more memory than its limits let it have, 104857600 bytes, and the kernel killed it",
		)
		require.Empty(t, groups(t, c.Limits.Cgroup))
	}
}

// The group is the plugin's alone: it cannot raise its limits, nor leave it.
func TestAPluginDoesNotChangeItsGroup(t *testing.T) {
	c := command("asked")
	c.Limits = Limits{Memory: 100 << 20, Processes: 50, Cgroup: cgroups(t)}
	p, _ := started(t, c)
	found := groups(t, c.Limits.Cgroup)
	require.Len(t, found, 1)
	for file, want := range map[string]string{"memory.max": "104857600\n", "pids.max": "50\n", "memory.oom.group": "1\n"} {
		data, err := os.ReadFile(filepath.Join(found[0], file))
		require.NoError(t, err)
		require.Equal(t, want, string(data), file)
	}
	members, err := os.ReadFile(filepath.Join(found[0], "cgroup.procs"))
	require.NoError(t, err)
	require.NotEmpty(t, members)
	for _, file := range []string{"memory.max", "pids.max", "cgroup.procs", "../cgroup.procs"} {
		require.Contains(t, asked(t, p, "open "+filepath.Join(found[0], file)),
			"read-only file system", file)
	}
	limits := strings.Join(strings.Fields(asked(t, p, "limits")), " ")
	require.Contains(t, limits, "Max data size unlimited unlimited",
		"what is only reserved does not count")
	require.NoError(t, p.process.Stop(t.Context()))
	require.Empty(t, groups(t, c.Limits.Cgroup))
}

// A limit that is too small for the start is told as such.
func TestAGroupTooSmallForAStart(t *testing.T) {
	c := command("asked")
	c.Limits = Limits{Memory: 1 << 20, Cgroup: cgroups(t)}
	_, err := start(t.Context(), c, testplugin.Discard)
	require.ErrorContains(t, err, "used more memory than its limits let it have, 1048576 bytes")
	require.Empty(t, groups(t, c.Limits.Cgroup))
}

// What a killed host has left is removed at a later start. A group with processes, and one that is
// new, are not.
func TestGroupsOfKilledHosts(t *testing.T) {
	c := command("asked")
	c.Limits = Limits{Processes: 50, Cgroup: cgroups(t)}
	old := filepath.Join(c.Limits.Cgroup, "plughook-1000000000-old")
	require.NoError(t, os.Mkdir(old, 0o755))
	fresh := filepath.Join(c.Limits.Cgroup, "plughook-9999999999-new")
	require.NoError(t, os.Mkdir(fresh, 0o755))
	defer unix.Rmdir(fresh)
	p, _ := started(t, c)
	require.Len(t, groups(t, c.Limits.Cgroup), 2)
	require.NoDirExists(t, old)
	require.DirExists(t, fresh)
	require.NoError(t, p.process.Stop(t.Context()))
	require.Equal(t, []string{fresh}, groups(t, c.Limits.Cgroup))
}

// What cannot be had is an error of the start, and never left out.
func TestAGroupThatCannotBeMade(t *testing.T) {
	for dir, want := range map[string]string{
		"/nowhere":  "limits: cgroup /nowhere: statfs /nowhere: no such file or directory",
		t.TempDir(): "is not a directory of cgroup v2",
	} {
		c := command("asked")
		c.Limits = Limits{Memory: 100 << 20, Cgroup: dir}
		_, err := start(t.Context(), c, testplugin.Discard)
		require.ErrorContains(t, err, want)
	}
	c := command("asked")
	c.Limits.Cgroup = ".."
	_, err := start(t.Context(), c, testplugin.Discard)
	require.ErrorContains(t, err, "say how much of at least one of them")
}

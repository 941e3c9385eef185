//go:build unix

package audit_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/audit"
	"github.com/plughook/plughook/session"
)

func verify(t *testing.T, text string) audit.Chain {
	c, err := audit.Verify(strings.NewReader(text), nil)
	require.NoError(t, err)
	return c
}

// fill writes lines into a file of its own and returns its path.
func fill(t *testing.T, lines int) string {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	p, err := audit.New(audit.Config{Path: path, Sync: "rotate"})
	require.NoError(t, err)
	for i := range lines {
		require.NoError(t, offer(p, session.Message("hello"), fmt.Sprint(i)))
	}
	require.NoError(t, p.Close(t.Context()))
	return path
}

// However a line was cut off, nothing before it is lost, and the file says that there was one.
func TestTornLineIsRepaired(t *testing.T) {
	for _, lines := range []int{1, 3} {
		whole := read(t, fill(t, lines))
		before := whole[:strings.LastIndex(strings.TrimSpace(whole), "\n")+1]
		for cut := len(before) + 1; cut < len(whole); cut++ {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			require.NoError(t, os.WriteFile(path, []byte(whole[:cut]), 0o600))
			p, err := audit.New(audit.Config{Path: path, Sync: "rotate"})
			require.NoError(t, err)
			require.NoError(t, offer(p, session.Message("hello"), "after"))
			require.NoError(t, p.Close(t.Context()))
			text := read(t, path)
			require.True(t, strings.HasPrefix(text, before))
			require.Contains(t, text, fmt.Sprintf(`"kind":"repair","cut":%d}`, cut-len(before)))
			require.Equal(
				t,
				audit.Chain{
					First:   1,
					Last:    int64(lines + 1),
					Repairs: 1,
					Hash:    verify(t, text).Hash,
				},
				verify(t, text),
			)
		}
	}
}

// writers starts this binary as a writer and returns it, what it writes on, and its input.
func writer(t *testing.T, be, path, name string) (*exec.Cmd, *bufio.Scanner, io.Closer) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, path, name)
	cmd.Env = append(os.Environ(), asProcess+"="+be, "GORACE=atexit_sleep_ms=0")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return cmd, bufio.NewScanner(out), in
}

// A process that is killed loses no line that it was told of, and the next one goes on.
func TestKilledWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	told := 0
	for round := range 5 {
		cmd, out, _ := writer(t, "writer", path, fmt.Sprint("w", round))
		for i := 0; i < 40 && out.Scan(); i++ {
			require.NotContains(t, out.Text(), "error")
		}
		require.NoError(t, cmd.Process.Signal(syscall.SIGKILL))
		n := 40
		for out.Scan() {
			n++
		}
		require.Error(t, cmd.Wait())
		told += n
		for i := 1; i <= n; i++ {
			require.Contains(t, all(t, path), fmt.Sprintf(`"id":"w%d-%d"`, round, i))
		}
	}
	require.NoError(t, offer(create(t, audit.Config{Path: path}), session.Message("hello"), "last"))
	require.GreaterOrEqual(t, verify(t, all(t, path)).Last, int64(told))
}

// Several processes write one chain, over many files.
func TestSeveralProcessesWriteOneChain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	const writers, lines = 4, 200
	var wait sync.WaitGroup
	told := make([]int, writers)
	for i := range writers {
		cmd, out, in := writer(t, "writer", path, fmt.Sprint("w", i))
		wait.Go(func() {
			for out.Scan() {
				if told[i]++; told[i] == lines {
					in.Close()
				}
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	total := 0
	for _, n := range told {
		require.GreaterOrEqual(t, n, lines)
		total += n
	}
	require.Equal(t, audit.Chain{First: 1, Last: int64(total), Hash: verify(t, all(t, path)).Hash},
		verify(t, all(t, path)))
	aside, err := filepath.Glob(filepath.Dir(path) + "/audit.*.*.jsonl")
	require.NoError(t, err)
	require.Greater(t, len(aside), 4)
}

func TestFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	cmd, out, _ := writer(t, "limited", path, "")
	var said []string
	for out.Scan() {
		said = append(said, out.Text())
	}
	require.NoError(t, cmd.Wait(), said)
	require.Greater(t, len(said), 2)
	require.Contains(
		t,
		said[0],
		"audit: the line cannot be written, so the run cannot go on: write "+path+": file too large",
	)
	require.Equal(t, fmt.Sprintf("failed: %d", len(said)-1), said[len(said)-1])
	c := verify(t, read(t, path))
	require.Equal(t, int64(20-(len(said)-1)+1), c.Last)
	require.Zero(t, c.Repairs, "what was written of a line is taken back at once")
	require.Contains(t, read(t, path), `"id":"last"`)
}

func TestRotation(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.jsonl")
	c := audit.Config{Path: path, MaxBytes: 1000, Keep: 2}
	for round := range 3 { // restarts go on where the one before was
		p, err := audit.New(c)
		require.NoError(t, err)
		for i := range 10 {
			require.NoError(t, offer(p, session.Message("hello"), fmt.Sprint(round, "-", i)))
		}
		require.NoError(t, p.Close(t.Context()))
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 3)
	for _, e := range entries {
		info, err := e.Info()
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode())
		require.LessOrEqual(t, info.Size(), int64(1000))
	}
	got := verify(t, all(t, path))
	require.Equal(t, int64(30), got.Last)
	require.Greater(t, got.First, int64(1))

	require.NoError(t, os.Remove(path)) // as if it had died between the rename and the new file
	p := create(t, c)
	require.NoError(t, offer(p, session.Message("hello"), "next"))
	require.Greater(t, verify(t, all(t, path)).Last, got.First)
	require.NoError(t, os.Rename(path, filepath.Join(dir, "elsewhere"))) // as logrotate does it
	require.NoError(t, offer(p, session.Message("hello"), "again"))
	verify(t, read(t, filepath.Join(dir, "elsewhere"))+read(t, path))
}

func TestRotationByAge(t *testing.T) {
	path := fill(t, 3) // before max_age was set: nobody knows how old it is
	p := create(t, audit.Config{Path: path, MaxAge: "24h"})
	for range 3 {
		require.NoError(t, offer(p, session.Message("hello"), "x"))
	}
	require.Equal(t, 3, strings.Count(read(t, path), `"written":"`))
	require.Equal(t, int64(6), verify(t, all(t, path)).Last)

	_, first, _ := strings.Cut(read(t, path), `"written":"`)
	written, err := time.Parse(time.RFC3339Nano, first[:strings.Index(first, `"`)])
	require.NoError(t, err)
	old := strings.Replace(read(t, path), written.Format(time.RFC3339Nano),
		written.Add(-25*time.Hour).Format(time.RFC3339Nano), 1)
	require.NoError(t, os.WriteFile(path, []byte(old), 0o600))
	again := create(t, audit.Config{Path: path, MaxAge: "24h"})
	require.NoError(t, offer(again, session.Message("hello"), "x"))
	require.Equal(t, 1, strings.Count(read(t, path), "\n"))
}

// Who holds the lock and does not let go is not waited for beyond the hook's time.
func TestLockIsNotWaitedForForEver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	p := create(t, audit.Config{Path: path})
	require.NoFileExists(t, path, "New changes nothing")
	require.NoError(t, offer(p, session.Message("hello"), "x"))
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	_, err = p.OnEvent(ctx, &session.Invocation{}, session.Message("x"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "another process has held the lock")
}

func TestOthersFilesAreLeftAlone(t *testing.T) {
	for name, text := range map[string]string{"text": "hello\n", "no line": "hello", "half": `{"n":1`, "json": `{"a":1}` + "\n", "large": strings.Repeat("x", 5<<20), "mixed": "hello\n" + `{"n":1,"prev":"","kind":"event"}` + "\n"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "notes")
			require.NoError(t, os.WriteFile(path, []byte(text), 0o640))
			p, err := audit.New(audit.Config{Path: path})
			if name == "half" { // that could be ours
				require.NoError(t, err)
				require.NoError(t, p.Close(t.Context()))
				return
			}
			require.ErrorContains(t, err, "something else than an audit's lines; move it away")
			require.Equal(t, text, read(t, path))
		})
	}
	_, err := audit.New(audit.Config{Path: t.TempDir()})
	require.Error(t, err)
	_, err = audit.New(audit.Config{Path: os.DevNull})
	require.ErrorContains(t, err, "not a regular file")
}

package artifact_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/artifact"
)

const processEnv = "PLUGHOOK_ARTIFACT_PROCESS"

// process is what other processes do in these tests: save versions, telling of each.
func process(dir string, saves int) error {
	s, err := artifact.Open(dir)
	if err != nil {
		return err
	}
	defer s.Close()
	for i := 0; i != saves; i++ {
		text := strings.Repeat(fmt.Sprintf("%d-%d ", os.Getpid(), i), 1000)
		v, err := s.Save(ctx, key, "a", genai.NewPartFromBytes([]byte(text), "text/plain"))
		if err != nil {
			return err
		}
		fmt.Println(v, text[:strings.Index(text, " ")])
	}
	return nil
}

func start(t *testing.T, dir string, saves int) (*exec.Cmd, io.Reader) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProcess$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", processEnv, saves, dir))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return cmd, out
}

func TestProcess(t *testing.T) {
	var dir string
	var saves int
	if _, err := fmt.Sscan(os.Getenv(processEnv), &saves, &dir); err != nil {
		t.Skip("other tests run this one, in another process")
	}
	require.NoError(t, process(dir, saves))
}

// whole reads every version and returns them: each is one that a process has written, and all of it.
func whole(t *testing.T, dir string) map[int64]string {
	s := open(t, dir)
	numbers, err := s.Versions(ctx, key, "a")
	require.NoError(t, err)
	all := map[int64]string{}
	for i, v := range numbers {
		require.EqualValues(t, i, v)
		text := load(t, s, key, "a", v)
		said, _, _ := strings.Cut(text, " ")
		require.Equal(t, strings.Repeat(said+" ", 1000), text)
		all[v] = said
	}
	return all
}

func told(t *testing.T, out io.Reader, into map[int64]string, limit int) {
	lines := bufio.NewScanner(out)
	for n := 0; n != limit && lines.Scan(); n++ {
		var v int64
		var said string
		if _, err := fmt.Sscan(lines.Text(), &v, &said); err != nil {
			break // the end of the process's test
		}
		if into[v] != "" {
			t.Errorf("version %d was given to %s and %s", v, into[v], said)
		}
		into[v] = said
	}
}

func TestProcessesSaveAtOnce(t *testing.T) {
	dir := t.TempDir()
	const processes, saves = 3, 15
	got := make([]map[int64]string, processes)
	var wg sync.WaitGroup
	for i := range processes {
		cmd, out := start(t, dir, saves)
		got[i] = map[int64]string{}
		wg.Go(func() {
			told(t, out, got[i], -1)
			_, _ = io.Copy(io.Discard, out)
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	all := whole(t, dir)
	require.Len(t, all, processes*saves)
	for _, versions := range got {
		require.Len(t, versions, saves)
		for v, said := range versions {
			require.Equal(t, said, all[v])
		}
	}
}

// A process that is killed while it saves has lost nothing that it had told of, and left no half version.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	saved := map[int64]string{}
	for round := range 10 {
		cmd, out := start(t, dir, -1)
		told(t, out, saved, round+1)
		require.NoError(t, cmd.Process.Kill())
		told(t, out, saved, -1) // what it told before it died
		require.Error(t, cmd.Wait())
		all := whole(t, dir)
		require.GreaterOrEqual(t, len(all), len(saved))
		for v, said := range saved {
			require.Equal(t, said, all[v])
		}
	}
}

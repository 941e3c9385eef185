package compaction_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/session"
)

// killedScript in the environment is the JSON of the act that a process is to play.
const killedScript = "PLUGHOOK_KILLED_SCRIPT"

// An act is what one process plays of a scripted session, until it is killed.
type act struct {
	Path   string // of the store
	Key    session.Key
	Turn   int // the first one
	Turns  int // of all acts
	Played tally
	Wrong  string // warnings that were logged
}

// A process that is killed at any moment breaks no law: the next one goes on with what is in the store.
// It goes on with a copy of the session, since the lease of the process that was killed ends only after
// a time.
func TestAKilledProcessBreaksNoLaw(t *testing.T) {
	if text := os.Getenv(killedScript); text != "" {
		var a act
		require.NoError(t, json.Unmarshal([]byte(text), &a))
		a.play(t)
		return
	}
	if testing.Short() {
		t.Skip("starts processes")
	}
	a := act{Path: filepath.Join(t.TempDir(), "sessions.db"), Key: key, Turns: turnsOf(25)}
	p := newScripted(t, dramas()[0], a.Path, key)
	p.begin()
	p.end()
	kills := 0
	for a.Turn < a.Turns {
		if a.perform(t) {
			kills++
		}
	}
	t.Logf("%d processes killed, %s", kills, a.Played.told())
	require.LessOrEqual(t, a.Played.Refused, max(1, a.Turns/100))
	require.Empty(t, a.Wrong)
}

// play plays turns, and says after each what has happened.
func (a *act) play(t *testing.T) {
	p := newScripted(t, dramas()[0], a.Path, a.Key)
	p.r = rand.New(rand.NewPCG(7, uint64(a.Turn)))
	p.tally = a.Played
	p.fork()
	for ; a.Turn < a.Turns; a.Turn++ {
		p.turn(a.Turn)
		if a.Turn%20 == 19 {
			p.laws()
		}
		a.Key = p.key
		a.Played = p.tally
		a.Wrong = p.warnings.String()
		line, err := json.Marshal(a)
		require.NoError(t, err)
		fmt.Println(string(line))
	}
	p.end()
}

// perform plays an act in a process of its own, and kills it some turns later, if it has not ended. It
// takes over what the process has said last.
func (a *act) perform(t *testing.T) (killed bool) {
	data, err := json.Marshal(a)
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0], "-test.run=^TestAKilledProcessBreaksNoLaw$",
		"-test.timeout=10m")
	cmd.Env = append(os.Environ(), killedScript+"="+string(data))
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	var said []string
	began := false
	for lines := bufio.NewReader(stdout); ; {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			break
		}
		if json.Unmarshal([]byte(line), a) != nil {
			said = append(said, line)
			continue
		}
		a.Turn++
		if !began {
			began = true
			time.AfterFunc(rand.N(800*time.Millisecond), func() { _ = cmd.Process.Kill() })
		}
	}
	err = cmd.Wait()
	if err != nil && cmd.ProcessState.Exited() {
		t.Fatalf("a process failed at turn %d: %v: %s %s", a.Turn, err, said, &stderr)
	}
	return err != nil
}

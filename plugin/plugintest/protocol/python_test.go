//go:build unix

package protocol

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugin/remote"
)

// interpreter returns the program of Python. What PATH names may be a script that looks for it at each start.
var interpreter = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	return strings.TrimSpace(string(out)), err
})

// counter returns a configuration that starts testdata/counter.py: a plugin that keeps the protocol by hand, with a
// filter and a flaw.
func counter(t *testing.T, has, author, flaw string) remote.Config {
	t.Helper()
	python, err := interpreter()
	if err != nil {
		require.Empty(t, os.Getenv("PLUGHOOK_TEST_ALL"), "python3 is not in PATH")
		t.Skip("python3 is not in PATH: install Python 3.8 or later")
	}
	program, err := filepath.Abs("testdata/counter.py")
	require.NoError(t, err)
	return remote.Config{
		Command:      []string{python, "-B", program, has, author, flaw},
		StartTimeout: time.Minute,
		Log:          slog.New(slog.DiscardHandler),
	}
}

// features are what an event can have, and authors who can make one: what a filter can select.
var (
	features = []string{"text", "call", "response", "media", "state", "error", "confirmation", "transfer", "marker"}
	authors  = []string{"user", "bot", "support", "plugin/*", "support*"}
)

// What a plugin may do wrong about what it is sent once, each with the case that finds it.
var keptWrong = []struct{ flaw, found string }{
	{"ignores appended", "what is not sent again"},
	{"takes state only with fresh", "state of other sessions"},
	{"takes state as a whole", "state of other sessions"},
	{"keeps keys that are gone", "state of other sessions"},
	{"ignores fresh", "made again"},
	{"has one session", "sessions side by side"},
	{"tells sessions apart by their id alone", "sessions side by side"},
	{"answers only the first event of a run", "each call by itself"},
	{"answers only one event of a run at all", "conversation"},
	{"counts in memory", "each call by itself"},
}

func TestVerifyFindsWhatIsKeptWrong(t *testing.T) {
	for _, flawed := range keptWrong {
		t.Run(flawed.flaw, func(t *testing.T) {
			t.Parallel()
			failed, err := verified(t.Context(), counter(t, "call", "", flawed.flaw), flawed.found)
			require.Equal(t, []string{flawed.found}, failed)
			t.Log(err)
		})
	}
}

// A flaw is found whatever the plugin's filter selects: each kind of event comes several times in a run.
func TestVerifyFindsAFlawBehindEachFilter(t *testing.T) {
	find := func(has, author string) {
		t.Run(has+author, func(t *testing.T) {
			t.Parallel()
			failed, _ := verified(t.Context(), counter(t, has, author, "ignores appended"), "what is not sent again")
			require.Equal(t, []string{"what is not sent again"}, failed)
			_, err := verified(t.Context(), counter(t, has, author, "none"), "what is not sent again")
			require.NoError(t, err)
		})
	}
	for _, has := range features {
		find(has, "")
	}
	for _, author := range authors {
		find("", author)
	}
}

func TestVerifyPassesAPluginByHand(t *testing.T) {
	patiently(t)
	_, err := verified(t.Context(), counter(t, "call", "", "none"), "")
	require.NoError(t, err)
}

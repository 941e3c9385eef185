package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/cmd/runner/internal/clitest"
	"github.com/plughook/plughook/internal/sqlitedb"
)

const trajectories = "../../trajectory/testdata/"

// importedTrajectories returns what runs the command on a store with the sessions of trajectory-input.jsonl.
func importedTrajectories(t *testing.T) func(args ...string) (code int, out, stderr string) {
	store := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	run := func(args ...string) (int, string, string) {
		args = append(args, "--store", store)
		return clitest.RunLeakless(t, newRoot, nil, args...)
	}
	code, _, stderr := run("session", "import", trajectories+"trajectory-input.jsonl")
	require.Zero(t, code, stderr)
	return run
}

func read(t *testing.T, name string) string {
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(data)
}

func TestExportForms(t *testing.T) {
	run := importedTrajectories(t)
	for format, name := range map[string]string{
		"chat":    "trajectory-chat.jsonl",
		"atif":    "trajectory-t1.atif.json",
		"evalset": "trajectory-t1.evalset.json",
	} {
		code, out, stderr := run(
			"session",
			"export",
			"t1",
			"--format",
			format,
			"--max-string",
			"60",
		)
		require.Zero(t, code, stderr)
		require.JSONEq(t, read(t, trajectories+name), out, format)
		require.Equal(t, format == "chat", strings.Contains(stderr, "1 calls without a response"),
			stderr)
	}

	// Each line of the golden trajectories is one that the flags of its view and agent give.
	for line := range strings.Lines(read(t, trajectories+"trajectory-expected.jsonl")) {
		var want struct {
			Session     struct{ ID string }
			View, Agent string
		}
		require.NoError(t, json.Unmarshal([]byte(line), &want))
		code, out, stderr := run("session", "export", want.Session.ID, "--format", "trajectory",
			"--max-string", "60", "--view", want.View, "--agent", want.Agent)
		require.Zero(t, code, stderr)
		require.JSONEq(t, line, out)
	}

	_, each, _ := run("session", "export", "t1", "--format", "trajectory", "--each-agent")
	_, clerk, _ := run("session", "export", "t1", "--format", "trajectory", "--agent", "clerk")
	_, auditor, _ := run("session", "export", "t1", "--format", "trajectory", "--agent", "auditor")
	require.Equal(t, clerk+auditor, each)

	_, all, _ := run(
		"session",
		"export",
		"--all",
		"--format",
		"trajectory",
		"--no-redact",
		"--max-string",
		"-1",
	)
	require.Equal(t, 3, strings.Count(all, "\n"))
	require.Contains(t, all, `"password":"made-up-3"`)
	require.NotContains(t, all, "truncated")
	_, own, _ := run("session", "export", "t1", "--format", "trajectory", "--redact", "order,NOTE")
	require.Contains(t, own, `"order":"[REDACTED]","auth":{"api_key":"made-up-1"`)
	require.Contains(t, own, `{"note":"[REDACTED]"}`)

	_, _, stderr := run("session", "export", "--all", "--format", "chat", "--agent", "auditor")
	require.Contains(t, stderr, "left out 2 sessions in which the agent auditor did nothing")
}

// A file is replaced when all is written, and not before.
func TestExportFile(t *testing.T) {
	run := importedTrajectories(t)
	dir := t.TempDir()
	name := filepath.Join(dir, "mine.evalset.json")
	code, out, stderr := run("session", "export", "--all", "--format", "evalset", "--file", name)
	require.Zero(t, code, stderr)
	require.Empty(t, out)
	var set struct {
		ID    string `json:"eval_set_id"`
		Cases []any  `json:"eval_cases"`
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, name)), &set))
	require.Equal(t, "mine", set.ID)
	require.Len(t, set.Cases, 3)

	code, _, _ = run("session", "export", "t1", "nobody", "--file", name)
	require.Equal(t, 6, code)
	require.Contains(t, read(t, name), "eval_set_id")
	names, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, names, 1)
}

// An export that fails halfway leaves the file as it was.
func TestExportThatFailsReplacesNoFile(t *testing.T) {
	dir := t.TempDir()
	store := filepath.Join(dir, "a.db")
	code, _, stderr := clitest.RunLeakless(t, newRoot, nil, "session", "import",
		trajectories+"trajectory-input.jsonl", "--store", "sqlite:"+store)
	require.Zero(t, code, stderr)

	// The store's last event cannot be read.
	db := sqlitedb.Open(store, sqlitedb.ReadWrite)
	_, err := db.Exec("UPDATE events SET data = 'x' WHERE pos = (SELECT max(pos) FROM events)")
	require.NoError(t, err)
	require.NoError(t, db.Close())

	name := filepath.Join(dir, "out")
	for _, format := range []string{"session", "trajectory", "evalset"} {
		require.NoError(t, os.WriteFile(name, []byte("old"), 0o600))
		code, _, stderr := clitest.RunLeakless(t, newRoot, nil, "session", "export", "--all",
			"--format", format, "--file", name, "--store", "sqlite:"+store)
		require.Equal(t, 6, code, stderr)
		require.Equal(t, "old", read(t, name), format)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".out*"))
	require.NoError(t, err)
	require.Empty(t, left)

	code, _, stderr = clitest.RunLeakless(t, newRoot, nil, "session", "export", "--all",
		"--file", filepath.Join(dir, "no", "out"), "--store", "sqlite:"+store)
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "--file "+filepath.Join(dir, "no", "out")+": ")
}

// A session file of a view is imported as a session with the events that count, and their state.
func TestExportedViewIsASession(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.jsonl")
	session := strings.Join([]string{
		`{"session":{"appName":"a","userId":"u","id":"s","state":{"first":1,"gone":1}}}`,
		`{"id":"1","author":"user","content":{"role":"user","parts":[{"text":"one"}]},"actions":{"stateDelta":{"k":1,"gone":null}}}`,
		`{"id":"2","author":"bot","content":{"role":"model","parts":[{"text":"two"}]},"actions":{"stateDelta":{"k":2}}}`,
		`{"id":"3","author":"bot","content":{"role":"model","parts":[{"text":"wrong"}]},"actions":{"stateDelta":{"k":3}}}`,
		`{"id":"4","author":"plugin/rewind","actions":{"rewindTo":2}}`,
		`{"id":"5","author":"plugin/compaction","actions":{"compaction":{"through":2,"keep":[1],"frontier":4,"compactedContent":{"role":"user","parts":[{"text":"sum"}]}}}}`,
		`{"id":"6","author":"bot","content":{"role":"model","parts":[{"text":"six"}]},"actions":{"stateDelta":{"six":6}}}`,
	}, "\n")
	require.NoError(t, os.WriteFile(file, []byte(session), 0o600))
	store := "sqlite:" + file
	code, _, stderr := clitest.RunLeakless(t, newRoot, nil, "session", "import", file, "--store",
		store+".db")
	require.Zero(t, code, stderr)

	for view, want := range map[string][]string{
		"log":      {"1", "2", "3", "4", "5", "6"},
		"standing": {"1", "2", "6"},
		"live":     {"5", "1", "6"},
	} {
		code, out, stderr := clitest.RunLeakless(t, newRoot, nil, "session", "export", "s",
			"--view", view, "--store", store+".db")
		require.Zero(t, code, stderr)
		var ids []string
		for line := range strings.Lines(out) {
			var e struct{ ID string }
			require.NoError(t, json.Unmarshal([]byte(line), &e))
			if e.ID != "" {
				ids = append(ids, e.ID)
			}
		}
		require.Equal(t, want, ids, view)

		// It goes into another store, with the same state.
		copied := file + "." + view
		require.NoError(t, os.WriteFile(copied, []byte(out), 0o600))
		code, _, stderr = clitest.RunLeakless(t, newRoot, nil, "session", "import", copied,
			"--store", store+"."+view+".db")
		require.Zero(t, code, stderr)
		_, shown, _ := clitest.RunLeakless(t, newRoot, nil, "session", "show", "s",
			"--store", store+"."+view+".db")
		_, state, found := strings.Cut(shown, "\nstate\n")
		require.True(t, found, shown)
		require.Equal(t, "     first = 1\n     k = 2\n     six = 6\n", state, view)
	}
}

func TestExportFlags(t *testing.T) {
	run := importedTrajectories(t)
	for _, c := range []struct{ args, want string }{
		{"--format xml", "did you mean"},
		{"--format chat --view whole", `--view "whole": it is one of standing, live, log`},
		{"--agent clerk", "--agent is not of a session file"},
		{"--no-redact", "--no-redact is not of a session file"},
		{"--format chat --agent clerk --each-agent", "exclude each other"},
		{"--format chat --redact a --no-redact", "exclude each other"},
		{"--format chat --max-string 0", "at least 1"},
		{"--format atif --reward state:k", "--reward is of a chat"},
		{"--format chat --reward k", "--reward is state:KEY or file:FILE"},
		{"--format chat --detect urls", "--detect takes secrets and pii"},
		{"--detect pii", "--detect is not of a session file"},
	} {
		args := append([]string{"session", "export", "t1"}, strings.Fields(c.args)...)
		code, out, stderr := run(args...)
		require.Equal(t, 2, code, c.args)
		require.Empty(t, out, c.args)
		if c.args != "--format xml" {
			require.Contains(t, stderr, c.want, c.args)
		}
	}
}

// The guardrail's detectors see what people say, and values; the keys of values are another matter.
func TestExportDetects(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "s.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(strings.Join([]string{
		`{"session":{"appName":"a","userId":"u","id":"s"}}`,
		`{"id":"1","author":"user","content":{"role":"user","parts":[{"text":"I am ann@corp.example"}]}}`,
		`{"id":"2","author":"bot","content":{"role":"model","parts":[{"text":"Hello"}]},` +
			`"actions":{"stateDelta":{"user:token":"s3cret","k":"AKIAQ3EGRZX5LMNTPUVW"}}}`,
	}, "\n")), 0o600))
	store := "sqlite:" + filepath.Join(dir, "a.db")
	run := func(args ...string) string {
		code, out, stderr := clitest.RunLeakless(t, newRoot, nil, append(args, "--store", store)...)
		require.Zero(t, code, stderr)
		return out
	}
	run("session", "import", file)
	require.Contains(t, run("session", "export", "s", "--format", "trajectory"), `"user:token":"[REDACTED]","k":"AKIAQ`)
	require.Contains(t, run("session", "export", "s", "--format", "chat"), "ann@corp.example")
	require.Contains(t, run("session", "export", "s", "--format", "chat", "--detect", "pii"), "I am [EMAIL_ADDRESS]")
	out := run("session", "export", "s", "--format", "trajectory", "--detect", "secrets,pii")
	require.NotContains(t, out, "AKIAQ")
}

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/cmd/runner/internal/clitest"
	"github.com/plughook/plughook/internal/pgtest"
)

// Sessions go into PostgreSQL and come out as they were, too.
func TestPostgres(t *testing.T) {
	where := pgtest.Start(t).URL(t)
	code, _, stderr := clitest.RunLeakless(t, newRoot, nil, "replay", "testdata/rich.jsonl",
		"--store", where)
	require.Zero(t, code, stderr)
	code, out, stderr := clitest.RunLeakless(t, newRoot, nil, "session", "export", "--all",
		"--store", where)
	require.Zero(t, code, stderr)

	file := filepath.Join(t.TempDir(), "out.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(out), 0o600))
	code, _, stderr = clitest.RunLeakless(t, newRoot, nil, "session", "import", file, "--store",
		"sqlite:"+file+".db")
	require.Zero(t, code, stderr)
	code, again, _ := clitest.RunLeakless(t, newRoot, nil, "session", "export", "--all", "--store",
		"sqlite:"+file+".db")
	require.Zero(t, code)
	require.Equal(t, again, out)
}

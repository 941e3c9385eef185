package guardrail_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/session"
)

func TestReload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.yaml")
	at := time.Now()
	write := func(text string) {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		at = at.Add(time.Hour)
		require.NoError(t, os.Chtimes(file, at, at))
	}
	write(`rules: [{id: a, detect: {words: [one]}, action: redact}]`)
	s := stage(t, guardrail.Config{File: file, Reload: true}, "1", "one two", "3", "4")
	require.Equal(t, []string{"user: [WORD] two", "bot: 1"}, s.run("one two"))

	// A run keeps the policy that it began with.
	began := false
	for e, err := range s.runner.Run(ctx, key, session.Message("one"), session.RunConfig{}) {
		require.NoError(t, err)
		if !began {
			write(`rules: [{id: a, detect: {words: [two]}, action: redact}]`)
		}
		if began = true; e.Author == "bot" {
			require.Equal(t, "[WORD] two", e.Text())
		}
	}
	require.Equal(t, []string{"user: one [WORD]", "bot: 3"}, s.run("one two"))
	require.Contains(t, s.log.String(), "the policy was reloaded")

	write(`rules: [{id: a, detect: {words: [two]}, actoin: redact}]`)
	require.Equal(t, []string{"user: one [WORD]", "bot: 4"}, s.run("one two"))
	require.Contains(t, s.log.String(), "the one before it stays in force")
	require.Contains(t, s.log.String(),
		`p.yaml:1:41: unknown key \"actoin\"; did you mean \"action\"?`)
}

// A file that is no policy is told with each run, and so is one that is gone; one that is mended
// counts.
func TestReloadSaysWhichPolicyHolds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.yaml")
	at := time.Now()
	write := func(text string) {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		at = at.Add(time.Hour)
		require.NoError(t, os.Chtimes(file, at, at))
	}
	write(`rules: [{id: a, detect: {words: [one]}, action: redact}]`)
	s := stage(t, guardrail.Config{File: file, Reload: true}, "1", "2", "3", "4", "5")
	for _, c := range []struct {
		change     func()
		says, want string
	}{
		{func() {}, ``, "user: [WORD]"},
		{
			func() { write("") },
			`there are no rules, so the policy would let everything pass`,
			"user: [WORD]",
		},
		{
			func() {},
			`the policy is still wrong, or gone; the one before it is in force`,
			"user: [WORD]",
		},
		{
			func() { require.NoError(t, os.Remove(file)) },
			`the one before it stays in force`,
			"user: [WORD]",
		},
		{
			func() { write(`rules: [{id: a, detect: {words: [two]}, action: redact}]`) },
			`the policy was reloaded`,
			"user: one",
		},
	} {
		s.log.Reset()
		c.change()
		require.Equal(t, c.want, s.run("one")[0])
		require.Contains(t, s.log.String(), c.says)
	}
}

// A file that is included anew and is wrong is looked at again, though the policy's own file stays
// as it is.
func TestReloadOfAFileThatIsIncludedAnew(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "p.yaml")
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("p.yaml", `rules: [{id: a, detect: {words: [one]}, action: redact}]`)
	s := stage(t, guardrail.Config{File: file, Reload: true}, "1", "2", "3")
	require.Equal(t, "user: [WORD] two", s.run("one two")[0])

	write("more.yaml", `rules: [{id: b, detect: {words: [two]}, actoin: redact}]`)
	write("p.yaml",
		`{include: [more.yaml], rules: [{id: a, detect: {words: [one]}, action: redact}]}`)
	require.Equal(t, "user: [WORD] two", s.run("one two")[0])

	write("more.yaml", `rules: [{id: b, detect: {words: [two]}, action: redact}]`)
	require.Equal(t, "user: [WORD] [WORD]", s.run("one two")[0])
}

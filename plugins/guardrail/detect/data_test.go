package detect_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/detect"
)

// All data files can be read. So the lists that they name are there, too.
func TestDataFilesAreRight(t *testing.T) {
	require.NotPanics(t, detect.NewPII)
	require.NotPanics(t, detect.NewInjection)
	require.NotPanics(t, func() { detect.NewSecrets() })
	for _, f := range detect.IDForms() { // rules are parsed when they are first asked
		if f.Rule != nil {
			f.Rule.Holds([]byte(strings.Repeat("0", len(f.Form))))
		}
	}
}

// The data files are read by people, so their lines are not too wide, and words are in the case in
// which they are compared.
func TestDataFilesAreReadable(t *testing.T) {
	files, err := fs.Glob(detect.DataFiles, "data/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		raw, err := fs.ReadFile(detect.DataFiles, name)
		require.NoError(t, err)
		explained := false
		for n, line := range strings.Split(string(raw), "\n") {
			explained = explained || strings.HasPrefix(line, "# Columns: ")
			require.LessOrEqual(t, len([]rune(line)), 220, "%s:%d", name, n+1)
			words := line[strings.LastIndexByte(line, '\t')+1:]
			switch name {
			case "data/vocabulary.txt",
				"data/injection_words.txt",
				"data/names.txt",
				"data/ids.txt":
				if line != "" && line[0] != '#' {
					require.Equal(t, strings.ToLower(words), words, "%s:%d", name, n+1)
				}
			}
		}
		require.True(t, explained, "%s does not name its columns", name)
	}
}

// A rule can be asked about any number of the shapes that it is for, without a panic.
func TestChecksFitTheirNumbers(t *testing.T) {
	alphabets := map[byte]string{
		'9': digits,
		'A': strings.ToUpper(low),
		'*': digits + strings.ToUpper(low),
	}
	asked := 0
	for _, f := range detect.IDForms() {
		if f.Rule == nil {
			continue
		}
		asked++
		shape := letterOrDigit(f.Form)
		for seed := range uint64(300) {
			code := []byte(shape)
			for i := range code {
				code[i] = random(seed*100+uint64(i), 1, alphabets[shape[i]])[0]
			}
			require.NotPanics(t, func() { f.Rule.Holds(code) }, "%s %s", f.Kind, code)
		}
	}
	require.Greater(t, asked, 100)
}

// letterOrDigit is a form without what stands between its letters and digits.
func letterOrDigit(form string) string {
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune(" -./", c) {
			return -1
		}
		return c
	}, form)
}

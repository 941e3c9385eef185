package shell

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// effectLines is a table of command lines and of what they do. Lines that change something have to have the effect that
// the table names, besides others; lines that run other code may be unknown.
//
//go:embed testdata/effects.txt
var effectLines string

func TestEffects(t *testing.T) {
	lines := 0
	for entry := range strings.Lines(effectLines) {
		entry = strings.TrimSpace(entry)
		if entry == "" || entry[0] == '#' {
			continue
		}
		lines++
		named, line, _ := strings.Cut(entry, "  ")
		if i := strings.Index(entry, " "); !strings.Contains(named, ",") && i > 0 {
			named, line, _ = strings.Cut(entry, " ")
		}
		line = strings.ReplaceAll(strings.TrimLeft(line, " "), "␤", "\n")
		got := EffectsOf(line)
		if named == "nothing" {
			assert.Zero(t, got, "%s: %s", line, got)
			continue
		}
		want, err := ParseEffects(named)
		require.NoError(t, err)
		switch want {
		case Writes, Runs, Unknown: // whatever is asked about, is asked about
			assert.NotZero(t, got&^(Reads|Network), "%s: %s", line, got)
			if got&Unknown == 0 {
				assert.NotZero(t, got&(want|Unknown), "%s: %s", line, got)
			}
		default:
			assert.Equal(t, want.String(), got.String(), line)
		}
	}
	require.Greater(t, lines, 200)
}

// Every row can be read, no row stands in the table twice, and what a program gives out for all of its subcommands is
// said in its first row.
func TestEffectTable(t *testing.T) {
	for program, rows := range effectRows() {
		seen := map[string]bool{}
		for i, row := range rows {
			row.read()
			name := strings.Join(row.words, " ")
			assert.False(t, seen[name], "%s %s stands there twice", program, name)
			assert.False(t, i > 0 && name == "", "the row of %s stands behind its subcommands", program)
			seen[name] = true
		}
	}
	require.Greater(t, len(effectRows()), 800)
}

// Of the lines of others that only read, at least 85 % have no other effect, and of the rest at most 0.3 %.
func TestEffectsOfOthers(t *testing.T) {
	var file *os.File
	for _, dir := range []string{os.Getenv("PLUGHOOK_DATA"), "../../../../../../shared/data"} {
		if f, err := os.Open(dir + "/guardrail/commands-dev.jsonl"); err == nil {
			file = f
		}
	}
	if file == nil {
		t.Skip("neither PLUGHOOK_DATA nor ../shared/data beside the repository is a folder with guardrail/commands-dev.jsonl")
	}
	defer file.Close()
	all := map[bool]int{}
	passed := map[bool]int{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var row struct {
			Command   string `json:"command"`
			ReadsOnly bool   `json:"reads_only"`
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &row))
		all[row.ReadsOnly]++
		if EffectsOf(row.Command).within([]Effects{Reads | Network}) {
			passed[row.ReadsOnly]++
			if !row.ReadsOnly {
				t.Log("passes: " + row.Command)
			}
		}
	}
	t.Logf("%d programs; of %d lines that only read %d pass (%.1f %%), of %d others %d (%.2f %%)", len(effectRows()),
		all[true], passed[true], 100*float64(passed[true])/float64(all[true]),
		all[false], passed[false], 100*float64(passed[false])/float64(all[false]))
	assert.GreaterOrEqual(t, float64(passed[true]), 0.85*float64(all[true]))
	assert.LessOrEqual(t, float64(passed[false]), 0.003*float64(all[false]))
}

// BenchmarkEffects is one line with a pipe and a wrapper.
func BenchmarkEffects(b *testing.B) {
	for b.Loop() {
		EffectsOf("sudo kubectl -n prod get pods -o wide | grep -v Running | sort -k3 | head -20")
	}
}

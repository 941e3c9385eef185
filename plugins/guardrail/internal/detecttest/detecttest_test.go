package detecttest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/plugins/guardrail/internal/detecttest"
)

// runs finds runs of x of at least two, and does it wrong in a way of one's choice.
type runs struct {
	edit func([]detect.Finding) []detect.Finding
	open func(text string) int
}

func (r runs) Find(found []detect.Finding, text string) []detect.Finding {
	n := len(found)
	for i := 0; i < len(text); i++ {
		start := i
		for i < len(text) && text[i] == 'x' {
			i++
		}
		if i-start > 1 {
			found = append(found, detect.Finding{Type: "X", Start: start, End: i, Score: 1})
		}
	}
	if r.edit != nil {
		return append(found[:n:n], r.edit(found[n:])...)
	}
	return found
}

func (r runs) Reader() detect.Reader { return detecttest.ReadAll(r) }

func (r runs) Open(text string) int {
	if r.open != nil {
		return r.open(text)
	}
	return len(strings.TrimRight(text, "x"))
}

func TestEachLawIsShownToBeBroken(t *testing.T) {
	const text = "a xx b x xxx c"
	type findings = []detect.Finding
	for _, c := range []struct {
		law string
		d   runs
	}{
		{"", runs{}},
		{"is beyond", runs{open: func(text string) int { return len(text) + 1 }}},
		{
			"decreased",
			runs{open: func(text string) int { return strings.LastIndex(text, "a") + 1 - len(text)/3 }},
		},
		{"settled changed", runs{open: func(text string) int { return len(text) }}},
		{
			"no part",
			runs{edit: func(f findings) findings { return append(f, detect.Finding{Type: "X", Start: 99, End: 100, Score: 1}) }},
		},
		{"overlap", runs{edit: func(f findings) findings { return append(f, f...) }}},
		{"no type", runs{edit: func(f findings) findings {
			for i := range f {
				f[i].Type = ""
			}
			return f
		}}},
		{"score", runs{edit: func(f findings) findings {
			for i := range f {
				f[i].Score = 1.5
			}
			return f
		}}},
	} {
		law, _ := detecttest.Offence(c.d, text)
		if c.law == "" {
			require.Empty(t, law)
		} else {
			require.Contains(t, law, c.law)
		}
	}
}

func TestHoldBack(t *testing.T) {
	p50, p99 := detecttest.HoldBack(runs{},
		[]string{strings.Repeat("abcdefgh ", 10) + "xx" + strings.Repeat(" abc", 10)})
	require.Equal(t, 0, p50)
	require.Equal(t, 1, p99) // two of 132 beginnings end in x
	p50, p99 = detecttest.HoldBack(runs{}, []string{strings.Repeat("x", 100)})
	require.Equal(t, 50, p50)
	require.Equal(t, 99, p99)
}

package view_test

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/plugins/guardrail/internal/detecttest"
	"github.com/plughook/plughook/plugins/guardrail/policy/internal/view"
)

// seeing is a detector that looks through all views with another. It remembers its last text, since
// looking through views costs allocations also where nothing is found.
type seeing struct {
	detect.Detector
	text  string
	found []detect.Finding
}

func (s *seeing) all(found []detect.Finding, text string) []detect.Finding {
	n := len(found)
	found = s.Detector.Find(found, text)
	for _, v := range new(view.Views).Of(text) {
		m := len(found)
		found = s.Detector.Find(found, v.Text)
		for i := range found[m:] {
			found[m+i].Start, found[m+i].End = v.Original(found[m+i].Start, found[m+i].End)
		}
	}
	slices.SortFunc(found[n:], func(a, b detect.Finding) int { return a.Start - b.Start })
	return found
}

func (s *seeing) Find(found []detect.Finding, text string) []detect.Finding {
	if s.found == nil || s.text != text {
		s.text, s.found = text, append(make([]detect.Finding, 0, 8), s.joined(nil, text)...)
	}
	return append(found, s.found...)
}

func (s *seeing) joined(found []detect.Finding, text string) []detect.Finding {
	n := len(found)
	found = s.all(found, text)
	last := n // what overlaps is joined
	for i := n + 1; i < len(found); i++ {
		if found[i].Start < found[last].End {
			found[last].End = max(found[last].End, found[i].End)
		} else {
			last++
			found[last] = found[i]
		}
	}
	return found[:min(last+1, len(found))]
}

func (s *seeing) Open(text string) int {
	open := settled(text, func(text string) int {
		_, open := s.Detector.Reader().Read(nil, text)
		return open
	})
	found := s.Find(nil, text)
	for i := len(found) - 1; i >= 0; i-- {
		if found[i].Start < open && open < found[i].End {
			open = found[i].Start
		}
	}
	return open
}

// words finds a word and runs of at least seven digits, which it takes as long as they are.
type words struct{}

const word = "hello"

func (words) Find(found []detect.Finding, text string) []detect.Finding {
	for i := 0; i < len(text); i++ {
		end := i
		for end < len(text) && '0' <= text[end] && text[end] <= '9' {
			end++
		}
		switch {
		case end-i >= 7:
			found = append(found, detect.Finding{Type: "X", Start: i, End: end, Score: 1})
			i = end - 1
		case end > i:
			i = end - 1
		case strings.HasPrefix(text[i:], word):
			found = append(found, detect.Finding{Type: "X", Start: i, End: i + len(word), Score: 1})
			i += len(word) - 1
		}
	}
	return found
}

func (w words) Reader() detect.Reader { return detecttest.ReadAll(w) }

func (words) Open(text string) int {
	open := len(strings.TrimRight(text, "0123456789"))
	for n := min(len(word)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, word[:n]) {
			return min(open, len(text)-n)
		}
	}
	return open
}

func (s *seeing) Reader() detect.Reader { return detecttest.ReadAll(s) }

func TestStreamedEqualsWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		law, at := detecttest.Offence(&seeing{Detector: words{}}, texts.Draw(t, "text"))
		require.Empty(t, law, "at %d", at)
	})
}

// Words of few letters that are spaced out are seen in a stream, too, wherever the text ends behind
// them.
func TestStreamedShortWordsThatAreSpaced(t *testing.T) {
	phrase, err := detect.Words("WORD", []string{"to say"})
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		between := rapid.SampledFrom([]string{" ", ".", " . ", " - ", "    ", "  ", "··"}).
			Draw(t, "between")
		gap := rapid.SampledFrom([]string{
			between + " ",
			between + between,
			between + " " + between,
		}).
			Draw(t, "gap")
		behind := rapid.SampledFrom([]string{
			"",
			"\n",
			"\n, and",
			". ",
			"!",
			between,
			between + "\n",
		}).
			Draw(t, "behind")
		text := "It: " + spelledApart(between, gap)("to say") + behind
		law, at := detecttest.Offence(&seeing{Detector: phrase}, text)
		require.Empty(t, law, "%q at %d", text, at)
		_, ok := seen(text, "to say")
		require.True(t, ok, "%q", text)
	})
}

func FuzzStream(f *testing.F) {
	f.Add("a\u200bb aGVsbG8gd29ybGQ= %41 &#65; \\u0041 i g n o r e \xe2\x80 \U000e0041")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 1000 {
			law, at := detecttest.Offence(&seeing{Detector: words{}}, text)
			require.Empty(t, law, "at %d", at)
		}
	})
}

func TestLongRunsAreJudgedInParts(t *testing.T) {
	long := strings.Repeat("hello world, grüß dich; ", 600)
	lines := ""
	for s := base64.StdEncoding.EncodeToString([]byte(long)); s != ""; s = s[min(76, len(s)):] {
		lines += s[:min(76, len(s))] + "\r\n"
	}
	for _, text := range []string{
		base64.StdEncoding.EncodeToString([]byte(long)) + " end",
		hex.EncodeToString([]byte(long)) + " end",
		lines,
		strings.TrimSpace(strings.Join(strings.Split(strings.Repeat("hello", 1000), ""), " ")),
	} {
		detecttest.Check(t, &seeing{Detector: words{}}, []string{text[:1000]})
		views := new(view.Views).Of(text)
		require.NotEmpty(t, views)
		require.GreaterOrEqual(t, strings.Count(views[0].Text, "hello"), 600)
		for n := 0; n < len(text); n += 97 {
			require.LessOrEqual(t, n-open(text[:n]), 200)
		}
	}
}

func TestDevelopmentTexts(t *testing.T) {
	var all []string
	for _, name := range []string{
		"guardrail/pii-dev.jsonl",
		"guardrail/benign-dev.jsonl",
		"guardrail/attacks-dev.jsonl",
		"guardrail/secrets-dev.jsonl.gz",
	} {
		texts := detecttest.Texts(detecttest.Development(t, name))
		viewed := 0
		for _, text := range texts {
			if len(new(view.Views).Of(text)) > 0 {
				viewed++
			}
		}
		p50, p99 := detecttest.HoldBack(opening{}, texts)
		t.Logf("%s: %d of %d texts have a view; held back p50 %d, p99 %d bytes", name, viewed,
			len(texts), p50, p99)
		detecttest.Check(t, &seeing{Detector: words{}}, texts)
		all = append(all, texts...)
	}
	p50, p99 := detecttest.HoldBack(opening{}, all)
	t.Logf("all: held back p50 %d, p99 %d bytes", p50, p99)
	require.LessOrEqual(t, p50, 8)
	require.LessOrEqual(t, p99, 64)
}

// opening finds nothing, and holds back what the views do.
type opening struct{}

func (opening) Find(found []detect.Finding, _ string) []detect.Finding { return found }
func (opening) Open(text string) int                                   { return open(text) }

func (o opening) Reader() detect.Reader { return detecttest.ReadAll(o) }

// open is what is settled for a detector that holds nothing back.
func open(text string) int {
	return settled(text, func(text string) int { return len(text) })
}

// settled returns how much of a text is settled for a detector that searches all views: in each of
// them, open says from where on it is open.
func settled(text string, open func(text string) int) int {
	var g view.Growth
	g.Grow(text, func(int, int) {})
	least := len(text)
	for _, v := range g.Views {
		end := open(v.Text)
		at, _ := v.Original(end, end)
		least = min(least, at)
	}
	return least
}

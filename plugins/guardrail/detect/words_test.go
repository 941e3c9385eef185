package detect_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/plugins/guardrail/internal/detecttest"
)

func wordsOf(t require.TestingT, list ...string) detect.Detector {
	d, err := detect.Words("WORD", list)
	require.NoError(t, err)
	return d
}

func TestWords(t *testing.T) {
	for _, c := range []struct {
		list []string
		text string
		want string
	}{
		{[]string{"tulip"}, "Tulip, TULIP tulips atulip tu-lip tulip", "0:5 7:12 34:39"},
		{
			[]string{"project tulip"}, "Project  Tulip; project\n\ttulip; project-tulip",
			"0:14 16:30",
		},
		{
			[]string{"a b"}, "a" + strings.Repeat(" ", 64) + "b; a" + strings.Repeat(" ", 65) + "b",
			"0:66",
		},
		{[]string{"she", "he", "hers"}, "she hers ushers he", "0:3 4:8 16:18"},
		{
			[]string{"red", "red tulip", "tulip fever"}, "red tulip fever, red tulip",
			"0:3 4:15 17:26",
		},
		{[]string{"ÄRGER"}, "ärger Ärgerlich", "0:6"},
		{[]string{"kelvin", "straße"}, "\u212Aelvin STRAßE ſtraße", "0:8 9:16 17:25"},
		{[]string{"σας"}, "ΣΑΣ", "0:6"},
		{[]string{"cafe"}, "cafe\u0301 cafe", "7:11"},
		{[]string{"日本"}, "日本 日本語", "0:6"},
		{[]string{"c++", ".net"}, "C++ and .NET, xc++, c++x", "0:3 8:12 20:23"},
		{[]string{"x"}, "x\xffx", "0:1 2:3"},
		{[]string{"Tulip", "tulip"}, "tulip", "0:5"},
	} {
		var got []string
		for _, f := range wordsOf(t, c.list...).Find(nil, c.text) {
			got = append(got, fmt.Sprintf("%d:%d", f.Start, f.End))
			require.Equal(t, "WORD", f.Type)
			require.Contains(t, c.list, f.Rule)
		}
		require.Equal(t, c.want, strings.Join(got, " "), "%q in %q", c.list, c.text)
	}
}

func TestWordsThatCannotBe(t *testing.T) {
	for _, list := range [][]string{nil, {""}, {" \n"}, {"a\xff"}, {strings.Repeat("a", 1025)}} {
		_, err := detect.Words("WORD", list)
		require.Error(t, err, "%q", list)
	}
	_, err := detect.Words("", []string{"a"})
	require.ErrorContains(t, err, "needs a kind")
	many := make([]string, 3000)
	for i := range many {
		many[i] = random(uint64(i), 100, alnum+"!#$%&()*+,-./:;<=>?@[]^_{|}~")
	}
	_, err = detect.Words("WORD", many)
	require.ErrorContains(t, err, "split it")
}

// What is found is what a regular expression finds, tried at every place.
func TestWordsLikeARegularExpression(t *testing.T) {
	letters := rapid.SampledFrom([]string{"a", "b", "A", "ä", "Ä", " ", "-", "_", "1"})
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return strings.Join(
				rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "Ä", "1", "a b"}), 1, 4).
					Draw(t, "letters"),
				"",
			)
		}), 1, 4).Draw(t, "list")
		text := strings.Join(rapid.SliceOfN(letters, 0, 24).Draw(t, "text"), "")
		pos := map[string]bool{}
		for _, word := range list {
			re := regexp.MustCompile(
				`(?i)^` + strings.ReplaceAll(regexp.QuoteMeta(word), " ", " {1,64}"))
			for i := range text {
				m := re.FindString(text[i:])
				if m != "" && !wordy.MatchString(last(text[:i])) &&
					!wordy.MatchString(first(text[i+len(m):])) {
					pos[fmt.Sprint(i, " ", i+len(m))] = true
				}
			}
		}
		end := 0
		for _, f := range wordsOf(t, list...).Find(nil, text) {
			require.True(t, pos[fmt.Sprint(f.Start, " ", f.End)], "%q in %q: %v", list, text, f)
			for span := range pos { // nothing is left out between two findings
				var start, stop int
				fmt.Sscan(span, &start, &stop)
				require.False(t, start >= end && stop <= f.Start, "%q in %q: %s", list, text, span)
			}
			end = f.End
		}
	})
}

var wordy = regexp.MustCompile(`^[\pL\p{Nd}_]$`)

func first(text string) string {
	for _, r := range text {
		return string(r)
	}
	return ""
}

func last(text string) (s string) {
	for _, r := range text {
		s = string(r)
	}
	return s
}

func TestWordsKeepTheContract(t *testing.T) {
	part := rapid.SampledFrom([]string{
		"a",
		"b",
		"A b",
		" ",
		"\n",
		"ä",
		"\xc3",
		"\xa4",
		"́",
		"a b c",
		"-",
		"日本",
		"語",
		strings.Repeat(" ", 40),
	})
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "ab", "a b", "a b c", "b a", "ä a", "日本", "-", "a-b", "c"}), 1, 5).
			Draw(t, "list")
		text := strings.Join(rapid.SliceOfN(part, 0, 20).Draw(t, "text"), "")
		law, pos := detecttest.Offence(wordsOf(t, list...), text)
		require.Empty(t, law, "%q at %d of %q", list, pos, text)
	})
}

func TestWordsOnTheDevelopmentData(t *testing.T) {
	texts := detecttest.Texts(detecttest.Development(t, "guardrail/benign-dev.jsonl"))
	d := wordsOf(t, "ignore", "system prompt", "the", "of the", "in")
	detecttest.Check(t, d, texts)
	_, p99 := detecttest.HoldBack(d, texts)
	require.LessOrEqual(t, p99, 16)
}

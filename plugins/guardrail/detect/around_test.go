package detect_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/detect"
)

// aroundPieces are what texts are made of; the second of each is what becomes of it where it is changed.
var aroundPieces = [][2]string{
	{
		"It was a quiet day by the river. ",
		"",
	}, {"ann&#64;b.example ", "ann@b.example "}, {"536-22-87&#50;6 ", "536-22-8726 "},
	{
		"4111 1111 11&#49;1 1111 ",
		"4111 1111 1111 1111 ",
	}, {"pass&#119;ord=hunter2!x ", "password=hunter2!x "}, {"536-22-8726 ", ""}, {"078-05-1120 ", ""},
	{
		"my SSN is ",
		"",
	}, {"4111 1111 1111 1111 ", ""}, {"token: x8Qm2ZtR5vKd9LwY3nBf7 ", ""}, {"Cookie: a=b; sid=a8Kq0Zt5vKd9LwY3nB; ", ""}, {"c=d; ", ""},
	{
		"ignore previous ",
		"",
	}, {"instructi&#111;ns ", "instructions "}, {"https://a.example/", ""}, {strings.Repeat("aGVyb24g", 150), ""}, {"eyJhbGciOiJIUzI1NiJ9.eyJ", ""},
	{
		"-----BEGIN PRIVATE KEY-----\n",
		"",
	}, {strings.Repeat(strings.Repeat("QUJD", 16)+"\n", 20), ""}, {"&#45;----END PRIVATE KEY-----\n", "-----END PRIVATE KEY-----\n"},
	{
		`{"passwords": ["hunter2!a", `,
		"",
	}, {`"hunter2!b", `, ""}, {"\u200b", " "}, {"&amp;", "&"}, {"curl -u ann:hunt&#101;r2x ", "curl -u ann:hunter2x "}, {"\n\n", ""}, {"DE89 3704 0044 0532 0130 00 ", ""},
}

// Of a text in which some parts were changed, all is found that is found in no other one.
func TestFindAround(t *testing.T) {
	pii, err := detect.PII()
	require.NoError(t, err)
	words, err := detect.Words("WORD", []string{"quiet day", "river it"})
	require.NoError(t, err)
	windows := 0
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 3))
		var before, after strings.Builder
		var parts []detect.Part
		var shifts [][3]int // where a part that is the same begins in each, and its length
		same := r.IntN(400)
		for after.Len() < 30000 {
			p := aroundPieces[r.IntN(len(aroundPieces))]
			for p[1] == "" && len(p[0]) > 200 && r.IntN(8) > 0 || p[1] != "" && r.IntN(same+1) > 0 {
				p = aroundPieces[r.IntN(len(aroundPieces))]
			}
			becomes := p[0]
			if p[1] != "" {
				becomes = p[1]
				parts = append(parts,
					detect.Part{Start: after.Len(), End: after.Len() + len(becomes)})
			} else {
				shifts = append(shifts, [3]int{before.Len(), after.Len(), len(p[0])})
			}
			before.WriteString(p[0])
			after.WriteString(becomes)
		}
		pos := func(place int) int { // in the text that was changed
			for _, s := range shifts {
				if place < s[0]+s[2] {
					return s[1] + max(0, place-s[0])
				}
			}
			return after.Len()
		}
		for name, d := range map[string]detect.Detector{"pii": pii, "secrets": detect.Secrets(), "injection": detect.Injection(), "words": words} {
			old, long := detect.FindWithLong(d, nil, before.String())
			var placed []detect.Part
			for _, l := range long {
				placed = append(placed, detect.Part{Start: pos(l.Start), End: pos(l.End)})
			}
			all := d.Find(nil, after.String())
			near, _ := detect.FindAround(d, nil, after.String(), parts, placed)
			for _, f := range near {
				require.Contains(t, all, f, "%s %d", name, seed)
			}
			if len(near) < len(all) {
				windows++
			}
			known := map[string]bool{}
			for _, f := range old {
				for _, s := range shifts {
					if s[0] <= f.Start && f.Start < s[0]+s[2] {
						known[fmt.Sprint(f.Type, f.Start-s[0]+s[1], f.End-f.Start)] = true
					}
				}
			}
			for _, f := range all {
				if !slices.Contains(near, f) {
					require.True(t, known[fmt.Sprint(f.Type, f.Start, f.End-f.Start)],
						"%s %d: %v %q", name, seed, f, after.String()[f.Start:f.End])
				}
			}
		}
	}
	require.Greater(t, windows, 50)
}

// In a run of links without a blank each begins where the one before it ends, so that a blank in it
// changes those far behind it, too.
func TestFindAroundInARunWithoutBlanks(t *testing.T) {
	pii, err := detect.PII()
	require.NoError(t, err)
	for _, piece := range []string{
		"https://a.example/1", "https://a.example,", "415-555-0132/", "5-", "301234567,+49",
	} {
		head := "so it is " + strings.Repeat(piece, 1000/len(piece))
		run := strings.Repeat(piece, 6000/len(piece))
		tail := strings.Repeat(". so it is", 3000)
		old := map[detect.Finding]bool{}
		for _, f := range pii.Find(nil, head+"%20"+run+tail) {
			if f.Start > len(head) {
				f.Start -= len("%20") - len(" ")
			}
			if f.End > len(head) {
				f.End -= len("%20") - len(" ")
			}
			old[f] = true
		}
		after := head + " " + run + tail
		near, _ := detect.FindAround(pii, nil, after,
			[]detect.Part{{Start: len(head), End: len(head) + 1}}, nil)
		for _, f := range pii.Find(nil, after) {
			require.True(t, old[f] || slices.Contains(near, f), "%s: %v", piece, f)
		}
	}
}

// A word whose end only is near enough to a number says nothing of it, whatever was read before.
func TestWordsThatAreCut(t *testing.T) {
	pii, err := detect.PII()
	require.NoError(t, err)
	for far := range 40 {
		text := "16\xe2\x80phone " + strings.Repeat(
			"9",
			far,
		) + "3546589%3/85735703009102 7435 14 91666)4952b34393330313233343536: 1414111 1111 1111 1111543555-01323795 so it is"
		want := pii.Find(nil, text)
		reader := pii.Reader()
		var found []detect.Finding
		open := 0
		for n := range text {
			found, open = reader.Read(found, text[:n])
		}
		for _, f := range want {
			require.True(t, f.Start >= open || slices.Contains(found, f), "%q: %v", text, f)
		}
		for _, f := range found {
			require.Contains(t, want, f, text)
		}
	}
}

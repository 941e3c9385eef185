package detect_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/plugins/guardrail/internal/detecttest"
)

// A made sentence has one number, or none.
type madeText struct{ text, label, value string }

func madeTexts(seed uint64) (texts []madeText) {
	m := &maker{rand.New(rand.NewPCG(seed, 1))}
	add := func(label, sentence, value string) {
		before := m.pick(
			[]string{"", "", "Hello,\n\n", "As I said, ", "Thank you for the books. ", "> "})
		after := m.pick([]string{"", "", "\n", " Thanks.", "\n\nBest,\nJo"})
		texts = append(texts,
			madeText{before + strings.Replace(sentence, "%s", value, 1) + after, label, value})
	}
	for _, country := range slices.Sorted(maps.Keys(madePhones)) {
		for _, form := range madePhones[country] {
			add("PHONE_NUMBER", m.pick(phoneSays), m.form(form))
			add("PHONE_NUMBER", m.pick(phonePlain), m.form(form))
		}
	}
	for _, sentence := range phoneSays {
		for range 4 {
			add("PHONE_NUMBER", sentence, m.form(m.pick(saidPhones)))
		}
	}
	for _, kind := range madeKinds {
		for range 12 {
			for _, sentence := range kind.says {
				add(kind.label, sentence, kind.make(m))
			}
		}
	}
	for range 3 {
		for _, not := range madeNot {
			number := not
			if !strings.Contains(not, "ISBN") &&
				!strings.Contains(not, "40063813") { // their check digits are right
				number = m.nines(not)
			}
			add(
				"",
				m.pick([]string{
					"%s",
					"See %s.",
					"It was %s, I think",
					"(%s)",
					"%s is right",
					"we have %s now",
				}),
				number,
			)
		}
	}
	return texts
}

// Sentences in which one number was put are what they were made of.
func TestPIIInSentencesMadeUp(t *testing.T) {
	d := pii(t)
	scored := map[string]bool{"": true}
	for _, k := range madeKinds {
		scored[k.label] = true
	}
	scored["PHONE_NUMBER"] = true
	var gold, found, right int
	there, hits := map[string]int{}, map[string]int{}
	var all []string
	for seed := range uint64(3) {
		for _, made := range madeTexts(seed + 1) {
			all = append(all, made.text)
			pos := strings.Index(made.text, made.value)
			if made.label != "" {
				gold++
				there[made.label]++
			}
			for _, f := range d.Find(nil, made.text) {
				switch {
				case !scored[f.Type]:
				case f.Type == made.label && 2*(min(f.End, pos+len(made.value))-max(f.Start, pos)) >= max(f.End, pos+len(made.value))-min(f.Start, pos):
					found++
					right++
					hits[f.Type]++
				default:
					found++
					t.Logf("%s: %q is none in %q", f.Type, made.text[f.Start:f.End], made.text)
				}
			}
			if !slices.ContainsFunc(d.Find(nil, made.text),
				func(f detect.Finding) bool { return f.Type == made.label }) &&
				made.label != "" {
				t.Logf("%s: %q is missed in %q", made.label, made.value, made.text)
			}
		}
	}
	for label, n := range there {
		t.Logf("%-14s %4d of %4d", label, hits[label], n)
	}
	precision, recall := float64(right)/float64(found), float64(right)/float64(gold)
	t.Logf("precision %.3f, recall %.3f of %d", precision, recall, gold)
	require.GreaterOrEqual(t, precision, .99)
	require.GreaterOrEqual(t, recall, .98)
	detecttest.Check(t, d, all[:len(all)/3])
}

package detect_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/plugins/guardrail/internal/detecttest"
)

// fragments are what texts about people and numbers are made of, whole and in pieces.
var fragments = []string{
	"jo.doe@example.com", "jo", "@", "example.com",
	"https://example.com/a?b=4111111111111111&c=jo@example.com#x", "www.", "http://", "10.0.0.1",
	"fe80::1", "::", "aa:bb:cc:dd:ee:ff",
	"4111 1111 1111 1111", "4111-1111-1111-1111", "378282246310005", "GB82 WEST 1234 5698 7654 32",
	"DE89370400440532013000",
	"415-555-2671", "(415) 555-2671", "+41 (0)44 123 45 67", "+", "(", ")", "00", "0490 75 40 81",
	"467 3395", "x123", " ext. 12", "office", "is my phone", "tel", "call me at ", "order ",
	"078-05-1126", "ssn ", "911-70-1234", "AB 12 34 56 C", "AB", "756.9217.0769.85",
	"390.533.447-05", "960121-1234567", "S2740116C", "11010519491231002X",
	"born on ", "May", "8", "1985", "May 8, 1985", "3rd of March 2001", "2001-02-03T04:05:06Z",
	"12/31/1999", "version ", "driver's license ",
	"bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq", "0x", "1", "12", "123", "1234", "12345", "é", "ß",
	"電話", "\u00a0", "\u2011", "\u202f", "\xff", "\xe2", "\xc2",
	" ", " ", " ", "-", ".", ",", ":", "/", "_", "'", "\"", "\n", "\n\n", "%", "$", "#", "a", "Z",
	"word",
}

func texts() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(
			rapid.SliceOfN(rapid.SampledFrom(fragments), 0, 16).Draw(t, "fragments"), "")
	})
}

func TestPIIKeepsTheLawsOnMixedText(t *testing.T) {
	d := pii(t)
	rapid.Check(t, func(t *rapid.T) {
		text := texts().Draw(t, "text")
		law, pos := detecttest.Offence(d, text)
		require.Empty(t, law, "at byte %d of %q", pos, text)
	})
}

// What fits a type that is asked for is found, whatever else it could be: types that are not asked for hide
// nothing, and where one that is asked for wins, it stands in the same place.
func TestPIITypesThatAreNotAskedForHideNothing(t *testing.T) {
	types := detect.PIITypes()
	rapid.Check(t, func(t *rapid.T) {
		text := texts().Draw(t, "text")
		asked := rapid.SliceOfNDistinct(rapid.SampledFrom(types), 1, 4, rapid.ID).Draw(t, "types")
		some, err := detect.PII(asked...)
		require.NoError(t, err)
		found := some.Find(nil, text)
		for _, f := range found {
			require.Contains(t, asked, f.Type)
		}
		for _, kind := range asked {
			one, err := detect.PII(kind)
			require.NoError(t, err)
			alone := one.Find(nil, text)
			for _, a := range alone {
				overlaps := func(f detect.Finding) bool { return f.Start < a.End && a.Start < f.End }
				require.True(t, slices.ContainsFunc(found, overlaps), "%q fits %s",
					text[a.Start:a.End], kind)
			}
			for _, f := range found {
				same := func(a detect.Finding) bool { return a.Start <= f.Start && f.End <= a.End }
				require.True(t, f.Type != kind || slices.ContainsFunc(alone, same),
					"%q is %s only beside others", text[f.Start:f.End], kind)
			}
		}
	})
}

// Values that fit several types are found by each of them alone.
func TestPIIOfSeveralTypes(t *testing.T) {
	for text, kinds := range map[string][]string{
		"passport AB1234567":      {"UK_PASSPORT", "IT_PASSPORT"},
		"passport M12345678":      {"US_PASSPORT", "KR_PASSPORT", "ZA_PASSPORT"},
		"born 1985-05-08":         {"DATE_OF_BIRTH", "DATE_TIME"},
		"identity card AB1234567": {"IT_IDENTITY_CARD"},
	} {
		for _, kind := range kinds {
			d, err := detect.PII(kind)
			require.NoError(t, err)
			found := d.Find(nil, text)
			require.Len(t, found, 1, "%s as %s", text, kind)
			require.Equal(t, kind, found[0].Type)
		}
	}
}

func FuzzPII(f *testing.F) {
	for _, fragment := range fragments {
		f.Add("a " + fragment + " 1 " + fragment)
	}
	d := pii(f)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<10 {
			return
		}
		law, pos := detecttest.Offence(d, text)
		require.Empty(t, law, "at byte %d", pos)
	})
}

// Work is in proportion to the text, so what makes most of it is done at once, and it is open at
// its end only.
func TestPIIOnMuchOfTheWorst(t *testing.T) {
	d := pii(t)
	for _, worst := range []string{"1", "12 ", "1.", "a.", "a@", "1-", "@", ":", "a:", "(1", "+1 ", "http://", "http://)", "http://a", "http://(((", "é", "\xff", "AB 1", "123 4567 89 ", "a@b.",
		"1\u00a0", "4111 ", "May 1, ", "GB29 ", "ssn ", " tel 5551234", "電話1"} {
		text := strings.Repeat(worst, 1<<16/len(worst))
		found := d.Find(nil, text)
		for i := 1; i < len(found); i++ {
			require.LessOrEqual(t, found[i-1].End, found[i].Start)
		}
		_, open := d.Reader().Read(nil, text)
		require.LessOrEqual(t, len(text)-open, 2<<10, "%q", worst)
	}
}

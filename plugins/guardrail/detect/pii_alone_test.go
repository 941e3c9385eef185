package detect_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/plugins/guardrail/detect/internal/checkdigit"
)

// A number with right check digits that is all of a text, as the value of a field is, needs no word
// before it, if it fits one type only, and so does one that is written as little else is. In a sentence it
// needs one.
func TestNumbersThatAreAllOfAText(t *testing.T) {
	d, err := detect.PII()
	require.NoError(t, err)
	for value, kind := range map[string]string{
		"121000358": "ABA_ROUTING_NUMBER", "1245319599": "US_NPI", " 1245319599\n": "US_NPI",
		"HRB 123456": "DE_HANDELSREGISTER", "AB12 CDE": "UK_VEHICLE_REGISTRATION",
		"W1 2AB": "UK_POSTCODE", "12 34 567890": "RU_PASSPORT",
	} {
		found := d.Find(nil, value)
		require.Len(t, found, 1, "%q", value)
		require.Equal(t, kind, found[0].Type)
	}
	for _, text := range []string{
		"1245319598", "it was 1245319599 then", "1245319599 of them", "111222333",
	} {
		require.Empty(t, d.Find(nil, text), "%q", text)
	}
}

// ofForm makes a value of a form of official numbers. If the form has places for either, it has
// letters and digits.
func (m *maker) ofForm(form detect.IDForm) string {
	var rules []*checkdigit.Rule
	if form.Rule != nil {
		rules = append(rules, form.Rule)
	}
	if form.Kind == "CN_RESIDENT_ID" { // of its last places few are right, and none but X is a letter
		return m.value(strings.NewReplacer("9", "#", "*", "[0-9X]").Replace(form.Form), rules)
	}
	for {
		value := m.value(strings.NewReplacer("9", "#", "A", "@", "*", "?").Replace(form.Form),
			rules)
		if !strings.Contains(form.Form, "*") ||
			strings.ToLower(value) != value && strings.ContainsAny(value, "0123456789") {
			return value
		}
	}
}

// A type that is named is found in each of its forms, whatever else the value could be: as all of a text, if
// its check is right.
func TestPIIOfEachFormIsFoundIfItsTypeIsNamed(t *testing.T) {
	detectors := map[string]detect.Detector{}
	rapid.Check(t, func(t *rapid.T) {
		form := rapid.SampledFrom(detect.IDForms()).Draw(t, "form")
		if detectors[form.Kind] == nil {
			d, err := detect.PII(form.Kind)
			require.NoError(t, err)
			detectors[form.Kind] = d
		}
		m := &maker{rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))}
		value := m.ofForm(form)
		found := detectors[form.Kind].Find(nil, value)
		require.Len(t, found, 1, "%s %q", form.Kind, value)
		require.Equal(t, value, value[found[0].Start:found[0].End])
	})
}

// A type that is named is found in each of its forms beside each of its words and phrases, wherever
// they stand.
func TestPIIOfEachFormIsFoundBesideEachOfItsWords(t *testing.T) {
	detectors := map[string]detect.Detector{}
	words := detect.IDWords()
	sentences := []string{
		"the %[1]s %[2]s then",
		"%[1]s: %[2]s",
		"My %[1]s is %[2]s.",
		"%[2]s is my %[1]s",
		"so %[2]s was the %[1]s that I had",
		"%[2]s (%[1]s)",
	}
	rapid.Check(t, func(t *rapid.T) {
		form := rapid.SampledFrom(detect.IDForms()).Draw(t, "form")
		if detectors[form.Kind] == nil {
			d, err := detect.PII(form.Kind)
			require.NoError(t, err)
			detectors[form.Kind] = d
		}
		word := strings.TrimPrefix(rapid.SampledFrom(words[form.Kind]).Draw(t, "word"), "^")
		sentence := rapid.SampledFrom(sentences).Draw(t, "sentence")
		m := &maker{rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))}
		value := m.ofForm(form)
		text := fmt.Sprintf(sentence, word, value)
		found := detectors[form.Kind].Find(nil, text)
		require.Len(t, found, 1, "%s in %q", form.Kind, text)
		require.Equal(t, value, text[found[0].Start:found[0].End])
	})
}

// So is what has no form in the table: a number that else needs a word beside it, or is rather
// something else.
func TestPIIOfOtherFormsIsFoundIfItsTypeIsNamed(t *testing.T) {
	for kind, value := range map[string]string{
		"CREDIT_CARD":       "122000000000003",
		"PHONE_NUMBER":      "5551234567",
		"IP_ADDRESS":        "12.4.3.1",
		"MAC_ADDRESS":       "00-11-22-33-44-55",
		"DATE_OF_BIRTH":     "8 May 1985",
		"US_DRIVER_LICENSE": "H12234567",
	} {
		d, err := detect.PII(kind)
		require.NoError(t, err)
		for text, n := range map[string]int{value: 1, " " + value + "\n": 1, "it was " + value + " then": 0} {
			require.Len(t, d.Find(nil, text), n, "%s in %q", kind, text)
		}
	}
	some, err := detect.PII("PHONE_NUMBER", "US_SSN")
	require.NoError(t, err)
	require.Empty(t, some.Find(nil, "2006-2009"))
	found := some.Find(nil, "536228726")
	require.Len(t, found, 1)
	require.Equal(t, "US_SSN", found[0].Type)
}

// Of the types that a value fits, it has the one with the fewest such values, wherever that is in the table.
func TestPIIHasTheTypeWithTheFewestValues(t *testing.T) {
	d := pii(t)
	for value, kind := range map[string]string{
		"ABC 123 GP": "ZA_LICENSE_PLATE", // Nigeria's plates may end with any letters
		"P1234567A":  "PH_PASSPORT",      // Germany's identity cards have letters or digits in all places
		"C01X00T47":  "DE_PASSPORT",
		"L01X00T47":  "DE_ID_CARD",
		"12XY34567":  "FR_PASSPORT",
		"M2375756M":  "PH_PASSPORT",

		"passport A12345678":            "ZA_PASSPORT", // South Africa's have four letters, the United States' all
		"passport EB1234567":            "PH_PASSPORT",
		"id number 4304221419197":       "ZA_ID_NUMBER", // cards of 13 digits have no date in them
		"401 023 2137":                  "UK_NHS",       // so few telephone numbers fit its check digit
		"driver's license 64555711ZOMI": "ZA_DRIVER_LICENSE",
	} {
		found := d.Find(nil, value)
		require.Len(t, found, 1, value)
		require.Equal(t, kind, found[0].Type, value)
	}
	// Nearly as many numbers fit the check digits of another type, or fewer are written as those of
	// a type without.
	for _, value := range []string{"105 150 874", "138935903", "YX7015002", "M54703636"} {
		require.Empty(t, d.Find(nil, value), "%q", value)
	}
}

// What programs and shops number things with is no official number, though it is all of a text.
func TestPIIOfHarmlessValuesThatAreAllOfAText(t *testing.T) {
	d := pii(t)
	m := &maker{rand.New(rand.NewPCG(19, 23))}
	for _, form := range []string{
		"#######", "## ###", "#,###,###", "ORD-#####", "ORD######", "INV-2024-####", "SO-#####",
		"[A-Z][A-Z]-######", "[A-Z][A-Z]#####",
		"[A-Z][A-Z][A-Z]####", "[A-Z][A-Z][A-Z]-####", "[A-Z][A-Z][A-Z]#####", "####-####",
		"###-####", "2024-#####", "LH ####", "RTX ####", "M## PRO", "ISO ####",
		"v#.#.#", "#.##.#", "Q[1-4] 2024", "[0-2]#:[0-5]#", "$###.##", "EUR ###",
		"[1-9][A-F]#[A-F]####", "0x###########0000", "00#############A#",
		"[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]",
	} {
		for range 50 {
			value := m.value(form, nil)
			require.Empty(t, d.Find(nil, value), "%q", value)
		}
	}
}

// Numbers of Germany, Turkey, Nigeria, Britain and Canada after a word that says what they are.
func TestNumbersAfterTheirWord(t *testing.T) {
	d, err := detect.PII()
	require.NoError(t, err)
	for text, kind := range map[string]string{
		"postcode SW1A 1AA": "UK_POSTCODE", "plaka 34 ABC 123": "TR_LICENSE_PLATE",
		"Kennzeichen B-AB 1234":      "DE_KFZ",
		"Steuernummer 181/815/08155": "DE_TAX_NUMBER", "LANR 123456601": "DE_LANR",
		"Führerschein B072RRE2I55": "DE_FUEHRERSCHEIN",
		"postal code K1A 0B1":      "CA_POSTAL_CODE", "plate ABC-123DE": "NG_VEHICLE_REGISTRATION",
		"PLZ 10115": "DE_PLZ", "BSNR 123456789": "DE_BSNR", "SSS 34-1234567-8": "PH_SSS",
		"CLIA 11D2030122": "US_CLIA", "chassis WVWZZZ1KZAW000001": "VIN",
	} {
		found := d.Find(nil, text)
		require.Len(t, found, 1, "%q", text)
		require.Equal(t, kind, found[0].Type, "%q", text)
	}
}

package detect_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/detect"
)

// A number with right check digits that is all of a text, as the value of a field is, needs no word
// before it, if it fits one type only. In a sentence it needs one.
func TestNumbersThatAreAllOfAText(t *testing.T) {
	d, err := detect.PII()
	require.NoError(t, err)
	for value, kind := range map[string]string{
		"121000358": "ABA_ROUTING_NUMBER", "1245319599": "US_NPI", " 1245319599\n": "US_NPI", "HRB 123456": "DE_HANDELSREGISTER",
	} {
		found := d.Find(nil, value)
		require.Len(t, found, 1, "%q", value)
		require.Equal(t, kind, found[0].Type)
	}
	for _, text := range []string{"1245319598", "it was 1245319599 then", "1245319599 of them", "111222333"} {
		require.Empty(t, d.Find(nil, text), "%q", text)
	}
}

// Numbers of Germany, Turkey, Nigeria, Britain and Canada after a word that says what they are.
func TestNumbersAfterTheirWord(t *testing.T) {
	d, err := detect.PII()
	require.NoError(t, err)
	for text, kind := range map[string]string{
		"postcode SW1A 1AA": "UK_POSTCODE", "plaka 34 ABC 123": "TR_LICENSE_PLATE", "Kennzeichen B-AB 1234": "DE_KFZ",
		"Steuernummer 181/815/08155": "DE_TAX_NUMBER", "LANR 123456601": "DE_LANR", "Führerschein B072RRE2I55": "DE_FUEHRERSCHEIN",
		"postal code K1A 0B1": "CA_POSTAL_CODE", "plate ABC-123DE": "NG_VEHICLE_REGISTRATION", "PLZ 10115": "DE_PLZ", "BSNR 123456789": "DE_BSNR", "SSS 34-1234567-8": "PH_SSS",
	} {
		found := d.Find(nil, text)
		require.Len(t, found, 1, "%q", text)
		require.Equal(t, kind, found[0].Type, "%q", text)
	}
}

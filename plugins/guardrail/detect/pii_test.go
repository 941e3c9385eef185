package detect_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/detect"
)

func TestPIIFinds(t *testing.T) {
	d := pii(t)
	for _, c := range []struct{ kind, text, part string }{
		{"CREDIT_CARD", "4012888888881881", "4012888888881881"},
		{"CREDIT_CARD", "my card 4012-8888-8888-1881 ok", "4012-8888-8888-1881"},
		{"CREDIT_CARD", "3714 496353 98431.", "3714 496353 98431"},
		{"CREDIT_CARD", `{"cardNumber":"5555555555554444"}`, "5555555555554444"},
		{"CREDIT_CARD", "my credit card: 122000000000003", "122000000000003"},
		{"CREDIT_CARD", "a/b?card=4012888888881881", "4012888888881881"},
		{"IBAN_CODE", "IBAN: DE89 3704 0044 0532 0130 00.", "DE89 3704 0044 0532 0130 00"},
		{"IBAN_CODE", "de89370400440532013000", "de89370400440532013000"},
		{
			"IBAN_CODE", "MT84 MALT 0110 0001 2345 MTLC AST0 01S",
			"MT84 MALT 0110 0001 2345 MTLC AST0 01S",
		},
		{"CRYPTO", "16Yeky6GMjeNkAiNcBY7ZhrLoMSgg1BoyZ", "16Yeky6GMjeNkAiNcBY7ZhrLoMSgg1BoyZ"},
		{
			"CRYPTO", "to bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq.",
			"bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
		},
		{
			"CRYPTO", "0x742d35Cc6634C0532925a3b844Bc454e4438f44e",
			"0x742d35Cc6634C0532925a3b844Bc454e4438f44e",
		},
		{
			"EMAIL_ADDRESS", "(john.o'neil+x@mail.example.co.uk).",
			"john.o'neil+x@mail.example.co.uk",
		},
		{"EMAIL_ADDRESS", "邮箱a@example.com、", "a@example.com"},
		{"EMAIL_ADDRESS", "https://x.example/?mail=jo@example.com&b", "jo@example.com"},
		{"EMAIL_ADDRESS", "mailto:jo@münchen.example", "jo@münchen.example"},
		{"URL", "(see https://en.example.org/wiki/A_(b)).", "https://en.example.org/wiki/A_(b))"},
		{"URL", "see example.com/a?b=c, or", "example.com/a?b=c"},
		{"URL", "www.example.museum.", "www.example.museum"},
		{"IP_ADDRESS", "my ip: 10.0.0.1:8080", "10.0.0.1"},
		{"IP_ADDRESS", "[2001:db8::8a2e:370:7334]", "2001:db8::8a2e:370:7334"},
		{"IP_ADDRESS", "::1 is localhost", "::1"},
		{"MAC_ADDRESS", "00:1A:2B:3C:4D:5E", "00:1A:2B:3C:4D:5E"},
		{"MAC_ADDRESS", "00-1a-2b-3c-4d-5e", "00-1a-2b-3c-4d-5e"},
		{"MAC_ADDRESS", "001A.2B3C.4D5E", "001A.2B3C.4D5E"},
		{"DATE_TIME", "at 2020-05-21T13:45:00Z here", "2020-05-21T13:45:00Z"},
		{"DATE_TIME", "on 21-MAY-2021,", "21-MAY-2021"},
		{"DATE_TIME", "on May 21st, 2021,", "May 21st, 2021"},
		{"DATE_OF_BIRTH", "born on 8 May 1985.", "8 May 1985"},
		{"DATE_OF_BIRTH", "née le 3 février 1971", "3 février 1971"},
		{"DATE_OF_BIRTH", `"dob":"12/31/85"`, "12/31/85"},
		{"US_DRIVER_LICENSE", "my driver's license number is H12234567", "H12234567"},
		{"US_BANK_NUMBER", "my bank account number is 945456787654", "945456787654"},
		{"US_PASSPORT", "my passport number is 912803456", "912803456"},
		{"US_SSN", "078-05-1126", "078-05-1126"},
		{"US_SSN", "ssn 078051126", "078051126"},
		{"US_ITIN", "911-70-1234", "911-70-1234"},
		{"UK_NINO", "AA 12 34 56 B", "AA 12 34 56 B"},
		{"SG_NRIC_FIN", "NRIC S1234567A", "S1234567A"}, // the check letter is wrong, but it is said to be one
		{"IT_IDENTITY_CARD", "carta d'identità CA00000AA", "CA00000AA"},
		{"IN_VEHICLE_REGISTRATION", "KA 53 ME 3456", "KA 53 ME 3456"},
		{"KR_DRIVER_LICENSE", "11-22-333333-44", "11-22-333333-44"},
		{"FI_PERSONAL_IDENTITY_CODE", "131052-308T", "131052-308T"},
	} {
		found := d.Find(nil, c.text)
		require.Len(t, found, 1, "%q: %v", c.text, found)
		require.Equal(t, c.kind, found[0].Type, c.text)
		require.Equal(t, c.part, c.text[found[0].Start:found[0].End])
	}
}

func TestPIIFindsTelephoneNumbers(t *testing.T) {
	d := pii(t, "PHONE_NUMBER")
	for text, part := range map[string]string{
		"or +1 415 555 0132.":                       "+1 415 555 0132",
		"(+44 20 7946 0958)":                        "+44 20 7946 0958",
		"+49 (0) 89 1234567":                        "+49 (0) 89 1234567",
		"<tel:+14155552671>":                        "+14155552671",
		"0041 44 123 45 67":                         "0041 44 123 45 67",
		"is (415) 555-0132, and":                    "(415) 555-0132",
		"(425) 882-9090 ext. 12":                    "(425) 882-9090 ext. 12",
		"415.555.2671x34":                           "415.555.2671x34",
		"1-800-555-0199":                            "1-800-555-0199",
		"au 06 12 34 56 78":                         "06 12 34 56 78",
		"au 06.12.34.56.78":                         "06.12.34.56.78",
		"06\u00a012\u00a034\u00a056\u00a078":        "06\u00a012\u00a034\u00a056\u00a078",
		"020 7946 0958":                             "020 7946 0958",
		"Tel.: 030/12345678":                        "030/12345678",
		"telefon 72 12 88 27":                       "72 12 88 27",
		"My mobile is 5551234":                      "5551234",
		"4155552671 is my mobile":                   "4155552671",
		"416 60 039 office\n":                       "416 60 039",
		"电话13812345678。":                            "13812345678",
		`{"phone_number":"5551234567"}`:             "5551234567",
		`phoneNumber=5551234567`:                    "5551234567",
		"Телефон: 495 123-45-67":                    "495 123-45-67",
		"call me: 555 1234, order 7654321":          "555 1234",
		"(44) 3591-3246":                            "(44) 3591-3246",
		"+972-8-123-4567":                           "+972-8-123-4567",
		"fax 0393 1144137":                          "0393 1144137",
		"reach our hotline at 0961-7596216 or else": "0961-7596216",
	} {
		found := d.Find(nil, text)
		require.Len(t, found, 1, "%q", text)
		require.Equal(t, part, text[found[0].Start:found[0].End])
	}
}

func TestPIIFindsNone(t *testing.T) {
	d := pii(t)
	for _, text := range []string{
		"", "INTRODUCTORY", "the public licence", "4012888888881882",
		"16Yeky6GMjeNkAiNcBY7ZhrLoMSgg1BoyZ2", "DE89370400440532013001", "info@example",
		"@example.com", "a@b",
		"the end.Then we", "main.go and file.txt, README.md", "std::vector", "12:20:39",
		"3... 2... 1... liftoff!", "192.168.0", "version 1.2.3.4", "1.2.3.4.5",
		"078-05-1120", "000-12-3456", "945456787654", "1234567890", "0.1234567890", "id=123456789",
		"room 1234567", "commit 1234567",
		"order 4155552671", "order number 415-555-2671", "it costs $1,234,567.89", "1 234 567 EUR",
		"in 2019 2020 2021 we had", "2020 10 2000 30", "ISBN 978-3-16-148410-0",
		"call me at 10:30 on 5 of 20", "call the function 1234567 times", "build 20200101.1234",
		"timestamp 1700000000", "uuid 123e4567-e89b-12d3-a456-426614174000",
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"tracking number 1Z999AA10123456784", "pi is 3.14159265358979", "10.1038/s41586-020-2649-2",
		"arXiv:2005.14165",
		"lat 52.520008, lon 13.404954", "model A1234567890", "470 72 Acheron Road", "APO AA 61487",
		"may 2 be", "May 2 be", "AB 12", "99.9%", "100-200", "1/2",
	} {
		require.Empty(t, d.Find(nil, text), "%q", text)
	}
}

// The surer of two findings wins; what is asked for does not change that.
func TestPIIOverlaps(t *testing.T) {
	const text = "call my card 4012 8888 8888 1881"
	found := pii(t).Find(nil, text)
	require.Len(t, found, 1)
	require.Equal(t, "CREDIT_CARD", found[0].Type)
	require.Empty(t, pii(t, "PHONE_NUMBER").Find(nil, text))

	const link = "https://example.com/?mail=jo@example.com"
	require.Equal(t, "EMAIL_ADDRESS", pii(t).Find(nil, link)[0].Type)
	require.Equal(t,
		[]detect.Finding{{Type: "URL", Rule: "link", Start: 0, End: len(link), Score: .6}},
		pii(t, "URL").Find(nil, link))
}

func TestPIIRefusesWhatItDoesNotKnow(t *testing.T) {
	_, err := detect.PII("EMAIL_ADDRESS", "PERSON")
	require.ErrorContains(t, err, "PERSON")
	require.ErrorContains(t, err, "IBAN_CODE")
	require.IsIncreasing(t, detect.PIITypes())
}

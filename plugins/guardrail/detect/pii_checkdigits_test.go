package detect_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Numbers with check digits, after a word that says what they are: found for sure as they are, and
// hardly ever with one of their digits wrong.
func TestPIICheckDigits(t *testing.T) {
	for _, c := range []struct{ kind, words, number string }{
		{"ABA_ROUTING_NUMBER", "routing number", "121000358"},
		{"US_NPI", "npi", "1245319599"},
		{"MEDICAL_LICENSE", "dea", "BB1388568"},
		{"UK_NHS", "nhs", "401-023-2137"},
		{"IE_PPS", "ppsn", "1234567T"},
		{"CA_SIN", "sin", "046 454 286"},
		{"AU_ABN", "abn", "51 824 753 556"},
		{"AU_ACN", "acn", "005 499 981"},
		{"AU_TFN", "tfn", "876 543 210"},
		{"AU_MEDICARE", "medicare", "2123 45670 1"},
		{"IN_AADHAAR", "aadhaar", "312345678909"},
		{"IN_GSTIN", "gstin", "27AAPFU0939F1ZV"},
		{"SG_NRIC_FIN", "nric", "S2740116C"},
		{"SG_UEN", "uen", "53125226D"},
		{"SG_UEN", "uen", "201434292D"},
		{"SG_UEN", "uen", "S16FC0121D"},
		{"TH_TNIN", "thai id", "1-2345-67890-12-1"},
		{"KR_BRN", "brn", "220-81-62517"},
		{"JP_MY_NUMBER", "my number", "1234 5678 9018"},
		{"CN_RESIDENT_ID", "身份证", "11010519491231002X"},
		{"TW_NATIONAL_ID", "taiwan id", "A123456789"},
		{"TR_NATIONAL_ID", "tckn", "10000000146"},
		{"ZA_ID_NUMBER", "rsa id", "8001015009087"},
		{"RU_SNILS", "снилс", "112-233-445 95"},
		{"RU_INN", "ИНН", "7707083893"},
		{"DE_TAX_ID", "Steuer-ID:", "86 095 742 719"},
		{"DE_ID_CARD", "Personalausweis", "T220001293"},
		{"DE_SOCIAL_SECURITY", "Rentenversicherungsnummer", "15 070649 C 103"},
		{"DE_HEALTH_INSURANCE", "KVNR", "A123456780"},
		{"DE_HEALTH_INSURANCE", "Meine Krankenversicherungsnummer ist", "A123456780"},
		{"DE_HEALTH_INSURANCE", "health insurance number", "A123456780"},
		{"DE_VAT_ID", "USt-IdNr.", "DE136695976"},
		{"CH_AHV", "ahv", "756.9217.0769.85"},
		{"CH_AHV", "AVS", "756 9217 0769 85"},
		{"CH_AHV", "ahv", "756-9217-0769-85"},
		{"BE_NRN", "registre national", "85 07 30 033 28"},
		{"PL_PESEL", "pesel", "44051401458"},
		{"PL_NIP", "nip", "856-734-62-15"},
		{"CZ_SK_BIRTH_NUMBER", "rodné číslo", "710319/2745"},
		{"RO_CNP", "cnp", "1630615123457"},
		{"BG_EGN", "егн", "7523169263"},
		{"HR_OIB", "oib", "33392005961"},
		{"SI_EMSO", "emšo", "0101006500006"},
		{"EE_LT_PERSONAL_CODE", "isikukood", "36805280109"},
		{"BE_NRN", "rijksregisternummer", "85.07.30-033.28"},
		{"NL_BSN", "BSN", "111222333"},
		{"FR_NIR", "sécurité sociale", "255081416802538"},
		{"FR_NIR", "sécurité sociale", "185052A00400577"},
		{"FR_SIRET", "siret", "73282932000074"},
		{"ES_NIF", "dni", "54362315K"},
		{"ES_NIE", "nie", "X-2482300-W"},
		{"IT_FISCAL_CODE", "codice fiscale", "RCCMNL83S18D969H"},
		{"IT_VAT_CODE", "partita iva", "00743110157"},
		{"PT_NIF", "contribuinte", "501964843"},
		{"GR_AMKA", "amka", "01013099997"},
		{"GR_AFM", "afm", "094259216"},
		{"SE_PERSONNUMMER", "personnummer", "811228-9874"},
		{"NO_FODSELSNUMMER", "fødselsnummer", "15108695088"},
		{"FI_PERSONAL_IDENTITY_CODE", "hetu", "131052-308T"},
		{"BR_CPF", "cpf", "390.533.447-05"},
		{"BR_CNPJ", "cnpj", "16.727.230/0001-97"},
		{"AR_CUIT", "cuit", "20-05536168-2"},
		{"CL_RUT", "rut", "12.531.909-2"},
		{"CO_NIT", "nit", "213.123.432-1"},
		{"MX_CURP", "curp", "BOXW310820HNERXN09"},
		{"PH_HEALTH_INSURANCE", "philhealth", "12-000015726-6"},
		{"DE_SOCIAL_SECURITY", "RVNR", "15570649C104"},
		{"DE_ID_CARD", "Personalausweis", "L01X00T44"},
		{"DE_PASSPORT", "Reisepass", "C01X00T41"},
		{"VIN", "vin", "1M8GDM9AXKP042788"},
		{"IMEI", "imei", "49-015420-323751-8"},
	} {
		t.Run(c.kind, func(t *testing.T) {
			d := pii(t, c.kind)
			find := func(number string) bool {
				text := "the " + c.words + " " + number + "."
				found := d.Find(nil, text)
				return len(found) == 1 && found[0].Score == 1 &&
					text[found[0].Start:found[0].End] == number
			}
			require.True(t, find(c.number), c.number)
			changed, passed := 0, 0
			for i := range len(c.number) {
				for other := byte('0'); other <= '9' && strings.ContainsRune("0123456789", rune(c.number[i])); other++ {
					if other == c.number[i] {
						continue
					}
					changed++
					if find(c.number[:i] + string(other) + c.number[i+1:]) {
						passed++
					}
				}
			}
			require.Positive(t, changed)
			require.LessOrEqual(t, 6*passed, changed, "%d of %d numbers with a wrong digit pass",
				passed, changed)
		})
	}
}

package detect_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/plugins/guardrail/detect/internal/checkdigit"
)

// A published is how the authority that gives out a number writes it, and words that people put
// beside it. In a form # is a digit, @ a letter, ? either, [ABC] one of these; the rest stands for
// itself. Numbers are made until the check digits are right, if the type has any.
type published struct {
	kind  string
	forms []string
	words []string
}

var publishedForms = []published{
	{
		"US_SSN",
		[]string{"###-##-####", "### ## ####", "###.##.####"},
		[]string{"social security", "ssn", "SSNs", "social"},
	},
	{
		"US_ITIN",
		[]string{"9##-[78]#-####", "9## 7# ####", "9##[78]#####"},
		[]string{"individual", "taxpayer", "ITIN", "tax", "payer", "taxid", "tin"},
	},
	{
		"US_PASSPORT",
		[]string{"#########", "@########"},
		[]string{"US", "United States", "passport", "passport#", "travel", "travel document"},
	},
	{
		"US_BANK_NUMBER",
		[]string{"########", "##########", "############", "################"},
		[]string{"account", "account#", "acct", "bank", "checking account", "savings", "debit"},
	},
	{
		"US_DRIVER_LICENSE",
		[]string{"@#######", "@########", "@@######", "@############"},
		[]string{
			"driver",
			"license",
			"driver license",
			"permit",
			"lic",
			"lic#",
			"identification",
			"dls",
			"cdls",
			"driving",
		},
	},
	{
		"ABA_ROUTING_NUMBER",
		[]string{"[0123]########", "[0123]###-####-#"},
		[]string{"aba", "routing", "abarouting", "bankrouting", "routing number"},
	},
	{
		"US_NPI",
		[]string{"[12]#########", "[12]###-###-###", "[12]### ### ###"},
		[]string{
			"NPI",
			"national provider",
			"provider",
			"npi number",
			"provider id",
			"provider identifier",
			"taxonomy",
		},
	},
	{
		"US_MBI",
		[]string{
			"[1-9][ACDEFGHJKMNPQRTUVWXY]?#[ACDEFGHJKMNPQRTUVWXY]?#[ACDEFGHJKMNPQRTUVWXY][ACDEFGHJKMNPQRTUVWXY]##",
			"[1-9][ACDEFG]?#-[ACDEFG]?#-[ACDEFG][ACDEFG]##",
		},
		[]string{"medicare", "MBI", "beneficiary", "cms", "medicaid", "hic", "hicn"},
	},
	{
		"US_CLIA",
		[]string{"11D#######", "45 D #######", "05-D-#######"},
		[]string{
			"CLIA",
			"clia number",
			"clia id",
			"laboratory",
			"clinical laboratory",
			"lab id",
			"lab number",
		},
	},
	{
		"MEDICAL_LICENSE",
		[]string{"[ABFGM]@#######", "[abfgm][a-z]#######", "[ABFGM]9#######"},
		[]string{"medical", "certificate", "DEA", "dea number"},
	},

	{
		"UK_NHS",
		[]string{"### ### ####", "###-###-####", "##########"},
		[]string{"NHS", "national health service", "health authority", "health services authority"},
	},
	{
		"UK_NINO",
		[]string{
			"@@ ## ## ## [ABCD]",
			"@@######[ABCD]",
			"[abceghjklmnoprstwxyz][abceghjklmnprstwxyz]######[abcd]",
		},
		[]string{"national insurance", "NI number", "nino"},
	},
	{
		"UK_PASSPORT",
		[]string{"#########"},
		[]string{"uk passport", "British passport", "hm passport", "HMPO"},
	},
	{
		"UK_DRIVING_LICENCE",
		[]string{
			"[A-Z][A-Z][A-Z][A-Z][A-Z]#[01]#[012]##[A-Z]9#[A-Z][A-Z]",
			"[A-Z][A-Z][A-Z]99#[01]#[012]##[A-Z][A-Z]#[A-Z][A-Z]",
			"[A-Z][A-Z][A-Z][A-Z][A-Z] #[01]#[012]## [A-Z]9#[A-Z][A-Z]",
		},
		[]string{
			"driving licence",
			"driving license",
			"driver's licence",
			"DVLA",
			"dl number",
			"licence number",
			"license number",
		},
	},
	{
		"UK_POSTCODE",
		[]string{
			"[ABCEGHLMNSW]# #[ABDEFGHJ][ABDEFGHJ]",
			"[ABCEGHLMNSW][ABCDEFGH]# #[ABDEFGHJ][ABDEFGHJ]",
			"[ABCEGHLMNSW][ABCDEFGH]## #[ABDEFGHJ][ABDEFGHJ]",
			"[EW]#[A] #[ABDEFGHJ][ABDEFGHJ]",
			"[EW]C#[A] #[ABDEFGHJ][ABDEFGHJ]",
			"[ABCEGHLMNSW][ABCDEFGH]###[ABDEFGHJ][ABDEFGHJ]",
		},
		[]string{
			"postcode",
			"post code",
			"postal code",
			"zip",
			"address",
			"delivery",
			"mailing",
			"shipping",
			"correspondence",
		},
	},
	{
		"UK_VEHICLE_REGISTRATION",
		[]string{
			"[A-H][A-H]5# [A-H][A-H][A-H]",
			"[A-H][A-H]1#[A-H][A-H][A-H]",
			"[A-H]### [A-H][A-H][A-H]",
			"[A-H][A-H][A-H] ###[A-H]",
		},
		[]string{
			"vehicle",
			"registration",
			"number plate",
			"licence plate",
			"license plate",
			"reg",
			"VRN",
			"dvla",
			"v5c",
			"logbook",
			"MOT",
			"car",
		},
	},

	{
		"ES_NIF",
		[]string{
			"########[TRWAGMYFPDXBNJZSQVHLCKE]",
			"########-[TRWAGMYFPDXBNJZSQVHLCKE]",
			"########[trwagmyfpdxbnjzsqvhlcke]",
		},
		[]string{"DNI", "NIF", "documento nacional de identidad", "identificación"},
	},
	{
		"ES_NIE",
		[]string{"[XYZ]#######[A-Z]", "[XYZ]-#######-[A-Z]", "[xyz]#######[a-z]"},
		[]string{"NIE", "número de identificación de extranjero"},
	},
	{
		"ES_PASSPORT",
		[]string{"[A-Z][A-Z][A-Z]######"},
		[]string{"pasaporte", "passport", "número de pasaporte", "passport number"},
	},
	{
		"IT_FISCAL_CODE",
		[]string{
			"[B-T][B-T][B-T][B-T][B-T][B-T]##[ABCDEHLMPRST]##[A-Z]###[A-Z]",
			"[b-t][b-t][b-t][b-t][b-t][b-t]##[abcdehlmprst]##[a-z]###[a-z]",
		},
		[]string{"codice fiscale", "cf"},
	},
	{
		"IT_DRIVER_LICENSE",
		[]string{"[A-Z][A-Z]#######[A-Z]", "U1#######[A-Z]", "U1[B-H]##[B-H]###[A-Z]"},
		[]string{"patente", "patente di guida", "licenza", "licenza di guida"},
	},
	{"IT_VAT_CODE", []string{"0##########"}, []string{"piva", "partita iva", "pi"}},
	{
		"IT_PASSPORT",
		[]string{"[A-Z][A-Z]#######", "[a-z][a-z]#######"},
		[]string{
			"passaporto",
			"elettronico",
			"italiano",
			"viaggio",
			"viaggiare",
			"estero",
			"dogana",
		},
	},
	{
		"IT_IDENTITY_CARD",
		[]string{"C[A-Z]#####[A-Z][A-Z]", "[A-Z][A-Z] #######", "#######[A-Z][A-Z]"},
		[]string{
			"carta",
			"identità",
			"elettronica",
			"cie",
			"riconoscimento",
			"espatrio",
			"carta d'identità",
		},
	},
	{"PL_PESEL", []string{"###########"}, []string{"PESEL", "numer PESEL"}},
	{
		"FI_PERSONAL_IDENTITY_CODE",
		[]string{"######-####", "######-###[A-Y]", "######A###[A-Y]", "######a###[a-y]"},
		[]string{"hetu", "henkilötunnus", "personbeteckningen", "personal identity code"},
	},
	{
		"SE_PERSONNUMMER",
		[]string{"######-####", "19######-####", "19##########", "######+####"},
		[]string{
			"personnummer",
			"svenskt personnummer",
			"svensk id",
			"ssn",
			"personal identity number",
			"samordningsnummer",
		},
	},
	{
		"SE_ORGANISATIONSNUMMER",
		[]string{"55[6789]###-####", "55[6789]#######"},
		[]string{"organisationsnummer", "orgnr", "org nr", "företagsnummer"},
	},
	{
		"DK_CPR_NUMBER",
		[]string{"######-####", "##########"},
		[]string{
			"cpr",
			"CPR-nummer",
			"cpr nr",
			"personnummer",
			"personnr",
			"central person register",
			"civil registration",
		},
	},
	{
		"TR_NATIONAL_ID",
		[]string{"###########"},
		[]string{
			"tc kimlik",
			"kimlik no",
			"kimlik numarası",
			"TCKN",
			"tc no",
			"nüfus cüzdanı",
			"national id",
			"turkish id",
			"türk kimlik",
		},
	},
	{
		"TR_LICENSE_PLATE",
		[]string{
			"34 [A-P][A-P][A-P] ###",
			"06 [A-P][A-P] ###",
			"35[A-P]####",
			"16-[A-P][A-P]-###",
			"01 [A-P] ####",
		},
		[]string{
			"plaka",
			"araç plakası",
			"plaka numarası",
			"kayıt plakası",
			"tr plaka",
			"license plate",
			"number plate",
			"plate",
			"kayıt",
		},
	},

	{
		"DE_TAX_ID",
		[]string{"## ### ### ###", "###########"},
		[]string{
			"Steuer-ID",
			"Steueridentifikationsnummer",
			"steuerliche Identifikationsnummer",
			"Steuer-IdNr",
			"SteuerID",
			"IdNr",
			"tax id",
			"TIN",
			"Identifikationsnummer",
		},
	},
	{
		"DE_TAX_NUMBER",
		[]string{
			"##/###/#####",
			"###/###/#####",
			"###/####/####",
			"11##0########",
			"05##0########",
		},
		[]string{
			"Steuernummer",
			"Steuer-Nr",
			"Steuer Nr",
			"St.-Nr.",
			"St-Nr",
			"Finanzamt",
			"Umsatzsteuer",
			"Einkommensteuer",
			"Körperschaftsteuer",
			"Gewerbesteuer",
			"Steuerbescheid",
		},
	},
	{
		"DE_PASSPORT",
		[]string{
			"C[0-9CFGHJKLMNPRTVWXYZ]#[CFGHJKLMNPRTVWXYZ]##[CFGHJKLMNPRTVWXYZ]##",
			"C##[CFGHJK]##[TVW]###",
		},
		[]string{
			"Reisepass",
			"Pass",
			"Passnummer",
			"Reisepassnummer",
			"passport",
			"Pass-Nr",
			"Dokumentennummer",
		},
	},
	{
		"DE_ID_CARD",
		[]string{"L[0-9CFGHJKLMNPRTVWXYZ]#[CFGHJKLMNPRTVWXYZ]##[CFGHJKLMNPRTVWXYZ]##", "T########"},
		[]string{
			"Personalausweis",
			"Ausweis",
			"Personalausweisnummer",
			"Ausweisnummer",
			"Ausweisdokument",
			"Seriennummer",
			"nPA",
			"neuer Personalausweis",
			"identity card",
		},
	},
	{
		"DE_SOCIAL_SECURITY",
		[]string{"########[A-Z]###", "## ###### [A-Z] ###"},
		[]string{
			"Rentenversicherungsnummer",
			"Sozialversicherungsnummer",
			"Versicherungsnummer",
			"RVNR",
			"SVNR",
			"SV-Nummer",
			"Rente",
			"DRV",
			"Sozialversicherung",
			"Sozialversicherungsausweis",
		},
	},
	{
		"DE_HEALTH_INSURANCE",
		[]string{"[A-Z]#########"},
		[]string{
			"Krankenversicherungsnummer",
			"Krankenversichertennummer",
			"Versichertennummer",
			"KVNR",
			"Krankenkasse",
			"Gesundheitskarte",
			"eGK",
			"GKV",
			"Versichertenkarte",
			"AOK",
			"TKK",
			"Barmer",
			"DAK",
		},
	},
	{
		"DE_KFZ",
		[]string{
			"B-[A-H][A-H] ####",
			"M [A-H][A-H] ###",
			"HH-[A-H][A-H]-##",
			"KA-[A-H] ##E",
			"MIL [A-H] ###H",
			"S-[A-H][A-H] ###",
		},
		[]string{
			"Kennzeichen",
			"KFZ-Kennzeichen",
			"Nummernschild",
			"Fahrzeugkennzeichen",
			"Zulassung",
			"KFZ",
			"Fahrzeug",
			"Auto",
			"PKW",
			"LKW",
			"amtliches Kennzeichen",
		},
	},
	{
		"DE_HANDELSREGISTER",
		[]string{"HRB #####", "HRA ######", "HRB######", "HRA ####", "HRB ##"},
		[]string{
			"Handelsregister",
			"Handelsregisternummer",
			"Amtsgericht",
			"Registergericht",
			"Firma",
			"GmbH",
		},
	},
	{
		"DE_PLZ",
		[]string{"[1-9]####", "0[1-9]###"},
		[]string{
			"PLZ",
			"Postleitzahl",
			"Postanschrift",
			"Adresse",
			"Wohnort",
			"Ort",
			"Wohnanschrift",
			"Lieferadresse",
			"Straße",
			"Postfach",
			"Stadt",
		},
	},
	{
		"DE_LANR",
		[]string{"#########"},
		[]string{
			"LANR",
			"Arztnummer",
			"lebenslange Arztnummer",
			"Arzt-Nr",
			"physician number",
			"Arzt",
		},
	},
	{
		"DE_BSNR",
		[]string{"[02357][128]#######"},
		[]string{
			"BSNR",
			"Betriebsstättennummer",
			"Betriebsstätte",
			"Praxisnummer",
			"Arztpraxis",
			"Praxis",
			"KV-Nummer",
		},
	},
	{
		"DE_VAT_ID",
		[]string{"DE#########", "DE ### ### ###"},
		[]string{
			"USt-IdNr",
			"Umsatzsteuer-Identifikationsnummer",
			"USt-ID",
			"UStIdNr",
			"Mehrwertsteuer",
			"VAT",
			"VAT-ID",
			"Rechnung",
			"invoice",
		},
	},
	{
		"DE_FUEHRERSCHEIN",
		[]string{
			"B0########[A-Z]",
			"MU########[A-Z0-9]",
			"HH########[A-Z0-9]",
			"[A-H]0##[A-H][A-H]#[A-H]#[1-9]#",
		},
		[]string{
			"Führerscheinnummer",
			"Führerschein",
			"Fahrerlaubnis",
			"FeV",
			"KBA",
			"Dokument-Nr",
		},
	},

	{
		"IN_AADHAAR",
		[]string{"#### #### ####", "####-####-####", "############"},
		[]string{"aadhaar", "UIDAI"},
	},
	{
		"IN_PAN",
		[]string{
			"[A-Z][A-Z][A-Z]P[A-Z]####[A-Z]",
			"[A-Z][A-Z][A-Z]C[A-Z]####[A-Z]",
			"[a-z][a-z][a-z]p[a-z]####[a-z]",
		},
		[]string{"PAN", "permanent account number"},
	},
	{
		"IN_GSTIN",
		[]string{"27[A-Z][A-Z][A-Z]P[A-Z]####[A-Z]1Z?", "07[A-Z][A-Z][A-Z]C[A-Z]####[A-Z]1Z?"},
		[]string{"GSTIN", "gst"},
	},
	{
		"IN_VOTER",
		[]string{"[A-Z][A-Z][A-Z]#######"},
		[]string{"voter", "EPIC", "elector photo identity card"},
	},
	{
		"IN_PASSPORT",
		[]string{"[A-Z][1-9]#####[1-9]", "[A-Z][1-9]# ####[1-9]"},
		[]string{"passport", "Indian passport", "passport number"},
	},
	{
		"IN_VEHICLE_REGISTRATION",
		[]string{
			"MH12AB####",
			"DL 01 CA ####",
			"KA-05-MH-####",
			"22 BH #### AA",
			"DL3CA####",
			"MH01A####",
		},
		[]string{"RTO", "vehicle", "plate", "registration"},
	},

	{
		"KR_RRN",
		[]string{"######-[1234]######", "######[1234]######"},
		[]string{"Korean RRN", "RRN", "resident registration number", "rrn#", "주민등록번호"},
	},
	{
		"KR_FRN",
		[]string{"######-[5678]######", "######[5678]######"},
		[]string{"외국인등록번호", "FRN", "foreigner registration number", "외국인번호"},
	},
	{
		"KR_BRN",
		[]string{"###-##-#####", "##########"},
		[]string{
			"사업자등록번호",
			"사업자번호",
			"BRN",
			"business registration number",
			"business number",
			"tax registration number",
		},
	},
	{
		"KR_DRIVER_LICENSE",
		[]string{"11-##-######-##", "13 ## ###### ##", "26##########"},
		[]string{"운전면허", "운전면허번호", "면허번호", "Korean driver license", "Korean driver's license"},
	},
	{
		"KR_PASSPORT",
		[]string{"M########", "M###[A-Z]####", "S########"},
		[]string{"여권", "대한민국 여권", "Korean passport", "Korean passport number"},
	},
	{
		"SG_NRIC_FIN",
		[]string{"[STFG]#######[A-Z]", "[stfg]#######[a-z]"},
		[]string{"NRIC", "FIN", "fin#", "nric#"},
	},
	{
		"SG_UEN",
		[]string{"########[A-Z]", "20#######[A-Z]", "T##LL####[A-Z]"},
		[]string{"UEN", "unique entity number", "ACRA", "business registration"},
	},
	{
		"TH_TNIN",
		[]string{"[1-8]-[13]###-#####-##-#", "[1-8][13]###########"},
		[]string{
			"Thai National ID",
			"Thai ID Number",
			"TNIN",
			"เลขประจำตัวประชาชน",
			"เลขบัตรประชาชน",
			"รหัสปชช",
		},
	},
	{
		"PH_PASSPORT",
		[]string{"P#######[A-Z]"},
		[]string{
			"passport",
			"passport number",
			"Philippine passport",
			"pasaporte",
			"dfa",
			"travel document",
		},
	},
	{
		"PH_TIN",
		[]string{"###-###-###", "###-###-###-000", "############"},
		[]string{
			"TIN",
			"taxpayer identification number",
			"BIR",
			"rdo",
			"revenue district office",
			"taxpayer id",
		},
	},
	{
		"PH_UMID",
		[]string{"0###-#######-#", "############"},
		[]string{
			"UMID",
			"CRN",
			"common reference number",
			"unified multi-purpose id",
			"GSIS",
			"pag-ibig",
			"umid card",
		},
	},
	{
		"PH_HEALTH_INSURANCE",
		[]string{"##-#########-#", "############"},
		[]string{
			"PhilHealth",
			"philhealth number",
			"philhealth id",
			"philhealth pin",
			"health insurance",
			"member data record",
		},
	},
	{
		"NG_NIN",
		[]string{"###########"},
		[]string{
			"NIN",
			"national identification number",
			"national identity number",
			"NIMC",
			"national identity",
			"nigeria id",
		},
	},
	{
		"NG_VEHICLE_REGISTRATION",
		[]string{
			"[A-Z][A-Z][A-Z]-###[A-Z][A-Z]",
			"[A-Z][A-Z][A-Z] ###[A-Z][A-Z]",
			"[A-Z][A-Z][A-Z]###[A-Z][A-Z]",
		},
		[]string{
			"plate number",
			"vehicle registration",
			"license plate",
			"number plate",
			"plate",
			"vehicle",
			"registration",
		},
	},

	{
		"AU_ABN",
		[]string{"## ### ### ###", "###########"},
		[]string{"ABN", "australian business number"},
	},
	{"AU_ACN", []string{"### ### ###", "#########"}, []string{"ACN", "australian company number"}},
	{"AU_TFN", []string{"### ### ###", "#########"}, []string{"TFN", "tax file number"}},
	{"AU_MEDICARE", []string{"[2-6]### ##### #", "[2-6]#########"}, []string{"medicare"}},
	{
		"CA_SIN",
		[]string{"### ### ###", "###-###-###", "#########"},
		[]string{
			"SIN",
			"sin number",
			"social insurance",
			"social insurance number",
			"canada",
			"NAS",
			"numéro nas",
			"numéro d'assurance sociale",
		},
	},
	{
		"CA_POSTAL_CODE",
		[]string{
			"[ABCEGHJKLMNPRSTVXY]#[ABCEGHJKLM] #[ABCEGHJKLM]#",
			"[ABCEGHJKLMNPRSTVXY]#[ABCEGHJKLM]#[ABCEGHJKLM]#",
		},
		[]string{
			"postal code",
			"postal",
			"zip",
			"address",
			"mailing",
			"shipping",
			"code postal",
			"adresse",
			"courrier",
			"livraison",
			"expédition",
		},
	},

	{
		"ZA_ID_NUMBER",
		[]string{"##########[01][89]#", "###### #### [01][89]#"},
		[]string{
			"id",
			"identity",
			"identity number",
			"id number",
			"South African id",
			"RSA ID",
			"smart id",
			"national id",
		},
	},
	{
		"ZA_PASSPORT",
		[]string{"A########", "T########"},
		[]string{"South African passport", "RSA passport", "DHA"},
	},
	{
		"ZA_INCOME_TAX_NUMBER",
		[]string{"[01239]#########"},
		[]string{
			"SARS",
			"tax reference",
			"income tax",
			"tax number",
			"ITR",
			"taxpayer",
			"tax registration",
		},
	},
	{
		"ZA_DRIVER_LICENSE",
		[]string{"########[A-Z][A-Z]##", "######[A-Z][A-Z][A-Z]##", "##########[A-Z][A-Z]"},
		[]string{"eNaTIS", "NaTIS", "driver's licence", "driving licence"},
	},
	{
		"ZA_VAT_NUMBER",
		[]string{"4#########"},
		[]string{"VAT", "VAT number", "vat registration", "tax invoice", "value added tax"},
	},
	{
		"ZA_COMPANY_REGISTRATION",
		[]string{"19##/######/07", "20##/######/23", "CK19##/######", "CK2001/######"},
		[]string{
			"CIPC",
			"company registration",
			"registration number",
			"close corporation",
			"company reg",
			"enterprise number",
		},
	},
	{
		"ZA_TRAFFIC_REGISTER_NUMBER",
		[]string{"#############"},
		[]string{
			"traffic register",
			"traffic register number",
			"TRN",
			"enatis",
			"natis",
			"vehicle register",
		},
	},
	{
		"ZA_LICENSE_PLATE",
		[]string{
			"[B-Z][B-Z] ## [B-Z][B-Z] GP",
			"[B-Z][B-Z]##[B-Z][B-Z]GP",
			"[B-Z][B-Z][B-Z] ### GP",
			"[B-Z][B-Z][B-Z]###EC",
			"N[A-Z] ### ### ZN",
		},
		[]string{
			"licence plate",
			"license plate",
			"number plate",
			"registration",
			"vehicle registration",
			"plate number",
		},
	},

	{
		"FR_NIR",
		[]string{
			"[12]######[1-8]#######",
			"[12] ## 0[1-9] [1-8]# ### ### ##",
			"[12].##.0[1-9].[1-8]#.###.###.##",
		},
		[]string{
			"sécurité sociale",
			"NIR",
			"carte vitale",
			"assurance maladie",
			"numéro de sécurité sociale",
		},
	},
	{
		"FR_SIRET",
		[]string{"##############", "### ### ### #####", "######### #####"},
		[]string{"SIRET"},
	},
	{
		"VIN",
		[]string{"1HGCM8###4A######", "WVWZZZ1K#AW######", "JTD[B-H][B-H]##E##[0-9]######"},
		[]string{"VIN", "vehicle identification number", "chassis", "chassis number"},
	},
	{
		"IMEI",
		[]string{"49-######-######-#", "35 ###### ###### #"},
		[]string{"IMEI", "handset", "mobile device", "phone serial", "device serial"},
	},

	{
		"CREDIT_CARD",
		[]string{
			"4###############",
			"4### #### #### ####",
			"5[1-5]##-####-####-####",
			"3[47]## ###### #####",
			"6011############",
		},
		[]string{"credit", "card", "visa", "mastercard", "cc", "tarjeta", "amex"},
	},
	{
		"DATE_TIME",
		[]string{
			"20##-0[1-9]-1#",
			"1#/0[1-9]/20##",
			"0[1-9]/1#/20##",
			"1#.0[1-9].20##",
			"20##-0[1-9]-1#T1#:[0-5]#:[0-5]#Z",
			"1#-0[1-9]-20##",
			"0[1-9]/1#/##",
			"1#.0[1-9].##",
			"1#-MAY-20##",
			"1#-mar-##",
			"May-20##",
			"20##/0[1-9]/1#",
		},
		[]string{"date", "due date"},
	},
	{
		"EMAIL_ADDRESS",
		[]string{"[a-z][a-z]#[@]example.com", "[a-z].[a-z][a-z]+x[@]mail.example.co.uk"},
		[]string{"email"},
	},
	{"IBAN_CODE", []string{""}, []string{"iban", "bank", "transaction"}},
	{
		"IP_ADDRESS",
		[]string{"1##.1##.1#.#", "2001:db8:#::#", "fe80::####:#a"},
		[]string{"ip", "ipv4", "ipv6"},
	},
	{
		"MAC_ADDRESS",
		[]string{"0#:1A:#B:2C:3D:#E", "0#-1a-#b-2c-3d-#e", "0#1a.#b2c.3d#e"},
		[]string{"mac", "mac address", "hardware address", "physical address", "ethernet"},
	},
	{
		"PHONE_NUMBER",
		[]string{
			"(415) 555-####",
			"+1 415 555 ####",
			"+49 30 1234###",
			"415-555-####",
			"+33 1 42 68 ## ##",
			"020 7946 0###",
		},
		[]string{"phone", "number", "telephone", "cell", "cellphone", "mobile", "call"},
	},
	{
		"URL",
		[]string{"https://example.com/a#", "www.example.org", "http://sub.example.co.uk/x?y=#"},
		[]string{"url", "website", "link"},
	},

	{
		"UUID",
		[]string{
			"########-####-4###-[89ab]###-############",
			"[a-f]#######-####-7###-a###-####[a-f]#######",
		},
		[]string{"uuid", "guid", "unique identifier"},
	},
	{
		"TR_PHONE_NUMBER",
		[]string{"+90 532 ### ## ##", "0532 ### ## ##", "0212 ### ## ##", "+90532#######"},
		[]string{"telefon", "cep no", "cep telefonu", "phone"},
	},
	{
		"ZA_MOBILE_NUMBER",
		[]string{"+27 82 ### ####", "082 ### ####", "+2783#######", "071-###-####"},
		[]string{"phone", "mobile", "cell", "cellular", "handset"},
	},
	{
		"ZA_TELEPHONE_NUMBER",
		[]string{"+27 11 ### ####", "021 ### ####", "+27 21 ### ####"},
		[]string{"phone", "telephone", "landline", "tel", "work number", "office number"},
	},
	{
		"PH_MOBILE_NUMBER",
		[]string{"+63 917 ### ####", "0917 ### ####", "+63917#######"},
		[]string{"mobile", "cellphone", "phone"},
	},
}

// named are the types that only a rule finds that names them: beside all others their numbers are a
// PHONE_NUMBER's, or nobody's.
var named = []string{
	"UUID",
	"TR_PHONE_NUMBER",
	"ZA_MOBILE_NUMBER",
	"ZA_TELEPHONE_NUMBER",
	"PH_MOBILE_NUMBER",
}

// value fills a form in until the check digits of the type are right.
func (m *maker) value(form string, rules []*checkdigit.Rule) string {
	for range 200_000 {
		var b []byte
		for i := 0; i < len(form); i++ {
			set := ""
			switch form[i] {
			case '#':
				set = "0-9"
			case '@':
				set = "A-Z"
			case '?':
				set = "A-Z0-9"
			case '[':
				end := i + strings.IndexByte(form[i:], ']')
				set = form[i+1 : end]
				i = end
			default:
				b = append(b, form[i])
				continue
			}
			var all []byte
			for j := 0; j < len(set); j++ {
				if j+2 < len(set) && set[j+1] == '-' {
					for c := set[j]; c <= set[j+2]; c++ {
						all = append(all, c)
					}
					j += 2
					continue
				}
				all = append(all, set[j])
			}
			b = append(b, all[m.IntN(len(all))])
		}
		var code []byte
		for _, c := range []byte(strings.ToUpper(string(b))) {
			if c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' {
				code = append(code, c)
			}
		}
		if rules == nil ||
			slices.ContainsFunc(rules, func(r *checkdigit.Rule) bool { return r.Holds(code) }) {
			return string(b)
		}
	}
	panic("no number of the form " + form)
}

// checksOf returns the check rules of types, by how many letters and digits they are about: those
// of check digits, if there are any.
func checksOf() map[string]map[int][]*checkdigit.Rule {
	rules := map[string]map[int][]*checkdigit.Rule{}
	for _, digits := range []bool{true, false} {
		known := map[string]bool{}
		for kind, sizes := range rules {
			for size := range sizes {
				known[fmt.Sprint(kind, size)] = true
			}
		}
		for _, f := range detect.IDForms() {
			size := len(letterOrDigit(f.Form))
			if f.Rule == nil || f.Digits != digits || known[fmt.Sprint(f.Kind, size)] {
				continue
			}
			if rules[f.Kind] == nil {
				rules[f.Kind] = map[int][]*checkdigit.Rule{}
			}
			rules[f.Kind][size] = append(rules[f.Kind][size], f.Rule)
		}
	}
	for _, kind := range []string{"DE_KFZ", "PH_PASSPORT"} { // only some of their forms are checked
		delete(rules, kind)
	}
	return rules
}

// of makes a value of a type, in one of its forms.
func (m *maker) of(p published, form string, rules map[string]map[int][]*checkdigit.Rule) string {
	switch p.kind {
	case "IBAN_CODE":
		return m.iban()
	case "CREDIT_CARD":
		for {
			card := m.card()
			if len(card) > 14 { // shorter ones are bar codes, too
				return card
			}
		}
	}
	size := 0
	in := false
	for i := range len(form) {
		switch c := form[i]; {
		case c == '[':
			in = true
			size++
		case c == ']':
			in = false
		case !in && strings.IndexByte(" -./+:", c) < 0:
			size++
		}
	}
	return m.value(form, rules[p.kind][size])
}

// labelled tells whether a detector finds the last place of a value in a text as a type; and, if not, as
// which other.
func labelled(d detect.Detector, kind, text, value string) (right bool, other string) {
	pos := strings.LastIndex(text, value)
	for _, f := range d.Find(nil, text) {
		overlap := min(f.End, pos+len(value)) - max(f.Start, pos)
		if 2*overlap < len(value) {
			continue
		}
		if f.Type == kind || f.Type == "DATE_OF_BIRTH" && kind == "DATE_TIME" {
			return true, ""
		}
		other = f.Type
	}
	return false, other
}

// beside are sentences, fields and rows with a word beside a number.
var beside = []string{
	"%s %s",
	"%s: %s",
	"My %s is %s.",
	"%s=%s",
	`{"%s": "%s"}`,
	"name,%s\nAnna,%s\n",
	"The %s number %s was given.",
	"<%s>%s</>",
}

// A rule that names a type finds every value of it that is all of a text.
func TestPIITypesThatAreNamedAreFound(t *testing.T) {
	rules := checksOf()
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(publishedForms).Draw(t, "type")
		form := rapid.SampledFrom(p.forms).Draw(t, "form")
		value := (&maker{rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))}).of(p, form,
			rules)
		d, err := detect.PII(p.kind)
		require.NoError(t, err)
		right, _ := labelled(d, p.kind, value, value)
		require.True(t, right, "%s: %q", p.kind, value)
	})
}

// What is found of values in their published forms, by all types at once: bare, and beside a word.
func TestPIIOfPublishedForms(t *testing.T) {
	rules := checksOf()
	all := pii(t)
	m := &maker{rand.New(rand.NewPCG(19, 22))}
	var bare, bareFound, bareWrong, said, saidFound, wrong int
	for _, p := range publishedForms {
		if slices.Contains(named, p.kind) {
			continue
		}
		var misses []string
		b, bf, s, sf, w := 0, 0, 0, 0, 0
		for _, form := range p.forms {
			for range 4 {
				v := m.of(p, form, rules)
				right, other := labelled(all, p.kind, v, v)
				b++
				switch {
				case right:
					bf++
				case other != "":
					w++
					bareWrong++
				}
				for _, word := range p.words {
					for _, sentence := range beside {
						text := fmt.Sprintf(sentence, word, v)
						right, other = labelled(all, p.kind, text, v)
						s++
						switch {
						case right:
							sf++
							continue
						case other != "":
							w++
						}
						misses = append(misses, fmt.Sprintf("%q: %s", text, other))
					}
				}
			}
		}
		t.Logf("%-27s bare %2d of %2d, beside its words %3d of %3d, other label %2d", p.kind, bf, b,
			sf, s, w)
		m.Shuffle(len(misses), func(i, j int) { misses[i], misses[j] = misses[j], misses[i] })
		for _, text := range misses[:min(len(misses), 3)] {
			t.Log("    missed ", text)
		}
		bare, bareFound, said, saidFound, wrong = bare+b, bareFound+bf, said+s, saidFound+sf, wrong+w
	}
	t.Logf("bare %.3f, other label %.3f; beside words %.3f; all other labels %.3f",
		float64(bareFound)/float64(bare), float64(bareWrong)/float64(bare),
		float64(saidFound)/float64(said), float64(wrong)/float64(bare+said))
	require.GreaterOrEqual(t, float64(bareFound)/float64(bare), .80)
	require.LessOrEqual(t, float64(bareWrong)/float64(bare), .03)
	require.GreaterOrEqual(t, float64(saidFound)/float64(said), .97)
	require.LessOrEqual(t, float64(wrong)/float64(bare+said), .02)
}

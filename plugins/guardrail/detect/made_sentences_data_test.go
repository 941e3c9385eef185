package detect_test

// What the made-up sentences are of. In a form X stands for any digit and N for one from 2 to 9.

// madePhones are telephone numbers as they are written at home and for abroad, country by country.
var madePhones = map[string][]string{
	"us": {"(NXX) NXX-XXXX", "NXX-NXX-XXXX", "NXX.NXX.XXXX", "+1 NXX-NXX-XXXX", "1-NXX-NXX-XXXX", "+1 (NXX) NXX-XXXX", "+1NXXNXXXXXX", "NXX NXX XXXX", "(NXX)NXX-XXXXxXXX", "001-NXX-NXX-XXXXxXXXX", "+1-NXX-NXX-XXXXxXXX", "NXX.NXX.XXXXxXXXXX", "1 (NXX) NXX-XXXX ext. XX"},
	"gb": {"+44 20 7XXX XXXX", "020 7XXX XXXX", "07XXX XXXXXX", "+44 7XXX XXXXXX", "+44 (0)20 7XXX XXXX", "0161 4XX XXXX", "0800 4XX XXXX", "+447XXXXXXXXX", "077 45XX XXXX", "(020) 7XXX XXXX"},
	"ie": {"+353 N5 XXX XXXX", "0N5 XXX XXXX", "+353 (0)1 4XX XXXX", "01 4XX XXXX"},
	"fr": {"06 12 XX XX XX", "+33 6 12 XX XX XX", "01.42.XX.XX.XX", "+33 (0)1 42 XX XX XX", "04-72-XX-XX-XX", "0033 6 12 XX XX XX", "0 800 XX XX XX"},
	"be": {"0471 2X XX XX", "+32 471 2X XX XX", "0471/2X.XX.XX", "02 52X XX XX", "+32 2 52X XX XX"},
	"nl": {"06-12XXXXXX", "06 12XXXXXX", "+31 6 12XXXXXX", "020-5XXXXXX", "+31 20 5XX XXXX", "06 12XX XXXX"},
	"de": {"0151 23XXXXXX", "+49 151 23XXXXXX", "030/45XXXXX", "030 45 XX XX XX", "(030) 45XXXXX", "+49 (0)30 45XXXXX", "0049 30 45XXXXX", "05253 N2 X6 X5", "+49-NX-45XXXXX", "0176/23XXXXX"},
	"at": {"0664 12XXXXX", "+43 664 12XXXXX", "0664/12XXXXX", "01 52XXXXX", "06N1 14X XN X2"},
	"ch": {"07X 2XX XX XX", "+41 7X 2XX XX XX", "044 2XX XX XX", "+41 (0)44 2XX XX XX"},
	"it": {"347 NXX XXXX", "+39 347 NXX XXXX", "06 NXXX XXXX", "034N 12XXXXX", "02-NXXXXXXX", "+39 02 NXXXXXXX"},
	"es": {"612 3X XX XX", "+34 612 3XX XXX", "N1 N2X XX XX", "+34 X1 N2X XX XX"},
	"pt": {"+351 X12 XXX XXX", "(+351) X12 XXX XXX", "21 N2X XX XX"},
	"pl": {"+48 601 XXX XXX", "22 N2X XX XX", "+48 22 N2X XX XX"},
	"cz": {"+420 601 XXX XXX", "00420 601 XXX XXX"},
	"hu": {"+36 20 XXX XXXX", "06 20 XXX XXXX", "(20) 344-XXXX", "06-1-2XX-XXXX"},
	"ro": {"0721 2XX XXX", "+40 721 2XX XXX", "0721.2XX.XXX"},
	"gr": {"+30 210 NXX XXXX", "210 NXX XXXX", "6X4 2XX XXXX"},
	"tr": {"0532 2XX XX XX", "+90 532 2XX XX XX", "(0532) 2XX XX XX", "532 2XX XX XX"},
	"se": {"070-2XX XX XX", "+46 70 2XX XX XX", "0N-2XX XXX XX", "0650-12XXXXX", "+46 (0)N 2XX XXX XX"},
	"no": {"N12 3X XXX", "+47 X12 3X XXX", "+47 22 NX XX XX"},
	"dk": {"+45 20 NX XX XX", "+45 20NXXXXX"},
	"fi": {"040 2XX XXXX", "+358 40 2XX XXXX", "046 5XX 6NXX", "040-2XXXXXX"},
	"ru": {"+7 4X5 2XX-XX-XX", "8 (4X5) 2XX-XX-XX", "8-800-555-XX-XX", "+7 (X16) 2XX-XX-XX", "8 X16 2XX XX XX", "+7X162XXXXXX"},
	"ua": {"+380 44 2XX XXXX", "044 2XX XX XX", "(044) 2XX-XX-XX"},
	"in": {"+91 XN2XX XXXXX", "+91-XN2XX-XXXXX", "0XN2XX XXXXX", "022-26XXXXXX", "+91XN2XXXXXXX"},
	"pk": {"0300-12XXXXX", "+92 300 12XXXXX", "0300 12XXXXX"},
	"bd": {"01712-3XXXXX", "+880 1712-3XXXXX"},
	"cn": {"13N 00XX XXXX", "+86 13N 00XX XXXX", "010-62XX XXXX", "13N-00XX-XXXX"},
	"jp": {"0X0-12XX-XXXX", "03-32XX-XXXX", "+81 X0-12XX-XXXX", "0120-2XX-XXX"},
	"kr": {"010-23XX-XXXX", "+82 10-23XX-XXXX", "02-7NX-XXXX"},
	"hk": {"+852 X12X XXXX", "+852 X12X-XXXX"},
	"sg": {"+65 X12X XXXX", "+65 X12X-XXXX"},
	"my": {"012-34X XXXX", "+60 12-34X XXXX", "03-22XX XXXX"},
	"th": {"0N1 23X XXXX", "0N1-23X-XXXX", "+66 N1 23X XXXX", "02-23X-XXXX"},
	"vn": {"0X1 23X XX XX", "0X12 3XX XXX", "+84 X1 23X XX XX"},
	"id": {"0N12-34XX-XXXX", "+62 N12-34XX-XXXX"},
	"ph": {"0X17 12X XXXX", "+63 X17 12X XXXX", "(02) N2XX XXXX"},
	"au": {"(02) XNXX XXXX", "0412 3XX XXX", "+61 412 3XX XXX", "02 XNXX XXXX", "1300 3XX XXX", "+61 2 XNXX XXXX"},
	"nz": {"021 23X XXXX", "+64 21 23X XXXX", "(022) 4N3-XXXX", "0X 37X XXXX"},
	"za": {"0N2 23X XXXX", "+27 N2 23X XXXX", "0N5 1XX XXXX"},
	"ng": {"0803 12X XXXX", "+234 N03 12X XXXX"},
	"ke": {"0712 3XXXXX", "+254 712 3XXXXX"},
	"eg": {"0100 12X XXXX", "+20 100 12X XXXX"},
	"il": {"052-12XXXXX", "+972 52-12X-XXXX", "03-62XXXXX"},
	"ae": {"050 12X XXXX", "+971 50 12X XXXX"},
	"br": {"(11) XN2XX-XXXX", "+55 11 XN2XX-XXXX", "(21) 3NXX-XXXX", "11 XN2XX-XXXX"},
	"mx": {"55 12XX XXXX", "+52 55 12XX XXXX", "(55) 12XX-XXXX"},
	"ar": {"+54 X 11 42XX-XXXX", "(011) 42XX-XXXX", "011 42XX-XXXX"},
	"co": {"+57 300 12X XXXX", "300 N2X XXXX"},
	"cl": {"+56 X N2XX XXXX", "N N2XX XXXX"},
}

// saidPhones are home forms that many other numbers have: they are telephones' where somebody says
// so.
var saidPhones = []string{"601 XXX XXX", "605-1XX-XXX", "467 3XXX", "NXX-XXXX", "N472 XXXX", "7N 6XX 4XX", "20 NX XX XX", "60-56-NX-X1", "4XXN7771X6", "NN2XX XXXXX", "NXXNXXXXXX", "21 2N4 6XX 254X", "07XXXXXXXXX", "0151NXXXXXX", "432 0X 16X"}

// phoneSays are sentences that say what the number is, phonePlain some that do not.
var (
	phoneSays = []string{"Call me at %s.", "My phone number is %s", "You can reach Anna on her mobile: %s", "tel. %s", "Phone:\n%s", "Her new number is %s, please update it.", "Text me: %s", "%s (mobile)", "Fax %s", "Ruf mich an unter %s!", "Meine Handynummer: %s",
		"Appelle-moi au %s", "Téléphone : %s", "Mi teléfono es %s", "Llámame al %s", "Il mio cellulare è %s", "Telefone: %s", "Mijn telefoonnummer is %s", "Mitt mobilnummer är %s", "Numer telefonu: %s", "Мой телефон %s", "Телефон: %s", "Telefonum %s", "電話:%s", "手机 %s", "Give him a ring at %s after five",
		"If there is a fire, dial %s", "I missed a call from %s this morning", "they phoned from %s", "WhatsApp %s or write to us", "Ph: %s", "Mob. %s", "Contact Ms Okafor (%s) before Friday", "phone=%s", `{"phone": "%s"}`, "telephone_number: %s", "Can someone ring me back on %s?", "Her cell is %s"}
	phonePlain = []string{"%s", "Anna Novak, %s, Prague", "Ask for Jo, %s.", "%s – that's Anna", "Jo Doe\n%s\n", "Try %s instead", "It's %s, thanks!", "Maria <%s>", "We gave them %s as well.", "I can be found at %s most days", "1. Anna Novak %s", "- %s"}
)

// A madeKind is one of the other types: what is found, its forms, and sentences around it.
type madeKind struct {
	label string
	make  func(m *maker) string
	says  []string
}

var madeKinds = []madeKind{
	{"CREDIT_CARD", (*maker).card, []string{"My card %s was charged twice.", "Please block %s", "%s", "Visa %s exp 12/27", "karta %s", "He typed %s into the form.", "Numéro de carte : %s", "Then she read out %s and hung up", "card_number=%s", `{"pan":"%s"}`, "Is %s still valid?", "charge it to %s, please", "- %s\n- the other one"}},
	{"IBAN_CODE", (*maker).iban, []string{"Send it to %s.", "IBAN: %s", "my account is %s", "%s", "Bitte auf %s überweisen", "Virement sur %s, merci", "account=%s;"}},
	{"IP_ADDRESS", (*maker).ip, []string{"The server at %s is down", "ping %s", "%s", "from %s port 22", "host %s does not answer", "src=%s dst=any", "Blocked [%s] twice", "listen on %s only"}},
	{"US_SSN", (*maker).ssn, []string{"My SSN is %s", "social security number: %s", "ssn=%s", "SSN %s on file", "Her social is %s."}},
	{"EMAIL_ADDRESS", (*maker).email, []string{"Write to %s", "%s", "<%s>", "mailto:%s", "E-Mail: %s.", "(%s)", "cc %s, please", "user=%s&x=1", `"email":"%s"`, "contact：%s。"}},
}

// madeNot are numbers that are none of these, as they stand in letters, logs and code.
var madeNot = []string{
	"order #8999999999", "Order number 8999-9999-999", "invoice 2024-899999", "Rechnung Nr. 89999999", "ISBN 978-3-16-148410-0", "ISBN 0-306-40615-2", "ISBN-13: 9780306406157", "ISSN 2049-3630", "version 10.4.8.9", "v1.2.9-rc.8", "firmware 8.1.9.12",
	"2024-08-19", "19.08.2024", "08/19/2024", "2024-08-19T12:39:49Z", "at 12:49:59.899", "1899999999", "1699999999999", "$ 8,999.99", "€ 89.999,00", "899 999 999 people", "8 999 999 km", "1 899 999 inhabitants", "between 1998 and 2004", "1998-2004", "2019 2020 2021",
	"48.8599, 2.3599", "51.5999° N, 0.1299° W", "3f2504e0-4f89-41d3-9a0c-0305e82c3301", "d41d8cd98f00b204e9800998ecf8427e", "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "commit 9fceb02d0ae598e95dc970b74767f19372d61af8", "serial number SN-8999-9999-99",
	"S/N 4999999999", "part no. 899-9999", "model 8999-99", "ticket 899999", "tracking number 1Z999AA10123456784", "tracking number is 8999 9999 9999", "flight LH899", "row 8999 of 89999", "x = 3.14159265358979", "f(x) = 8x^2 + 99x - 8", "for i := 0; i < 8999; i++ {", "0x8f9a9b9c", "#8f9a9c",
	"8 + 99 = 107", "score 89-99", "89.9 %", "8.9999e-12", "10 000 000", "pages 899-999", "chapter 8.9.9", "lines 899:99", "[12:49:59] worker 89 took 899.9 ms", "GET /v1/items/899999?page=99 200 8999", "pid=89999 uid=899", "size 8999999999 bytes", "room 899, floor 9", "ZIP 89999-8999",
	"89999 Springfield", "suite 899, 8999 Main Street", "EAN 4006381333931", "barcode 4006381333931", "UPC 036000291452", "lot 899-999-99", "case no. 89-9999", "2^64 = 18446744073709551616", "phase 8-9-9", "1280x1024", "00:1A:89:99:FF:0C", "ABC-89999", "Q8-2024", "10.1000/899.99", "arXiv:2403.89999",
	"CPU0: 89.9 C, 8999 rpm", "1, 2, 3, 5, 8, 13, 21, 34", "89 99 89 99 89 99 89 (lottery)", "2 8 9 9", "born in 1989", "DOI 10.1038/s41586-899-9999-9", "8 899 999 shares", "GDP of 899 999 999 999", "population: 8 999 999", "revenue grew to 899.999.999", "table 89 899 999", "1.899.999 votes", "id=899999999", "user 89999999",
	"build 8999.9.8", "12:34:56:78", "3-2-1", "4-4-2", "9-1-1", "24/7/365", "8:99 ratio", "1/2/4/8", "-899.99", "+8.9 %", "+89", "(8999)", "(99) items", "10.0.0", "1.2.3.4.5", "256.300.1.1", "999.999.999.999", "std::vector<int>", "a::b::c", "fe::x", "12::34 min", "@handle8999", "me@home", "a@b", "@media (min-width: 899px)", "foo@1.2.8", "GB00 1234", "DE99", "account 8999", "the sum of 8999999999 and 9", "8,999,999,999", "a[::8]", "x = y[:][::2]", `GET / HTTP/1.1" 200 5899`, "pid 8999 8999", "ms 1699999999999", "we met at 8999 8999 Main Street", "delivered at 899 8999 Rue de la Gare", "the office at 89999 8999 Redbud Drive", "on 12 8999 items", "at 8999-8999 Hz", "8'999'999",
}

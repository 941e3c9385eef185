package detect

// The numbers of digits, after what the offices that give them publish. Where nothing is said of check digits, there are
// none, or none that is published.
var idNumbers = []idNumber{
	// United States
	{"US_SSN", "3-2-4!|3 2 4|3.2.4|9", usSSN, "ssn,ssns,social security,social,soc sec,social insurance"},
	{"US_ITIN", "3-2-4!|3 2 4|9", usITIN, "itin,individual taxpayer,taxpayer,tax id,tin"},
	{"US_PASSPORT", "9", nil, "us passport,passport,passport number,passports"},
	{"US_BANK_NUMBER", "8|9|10|11|12|13|14|15|16|17", nil, "bank account,checking account,savings account,checking,savings,account number,acct number,account no,acct no,bank number,account #,direct deposit"},
	{"ABA_ROUTING_NUMBER", "9|4-4-1", abaRouting, "aba,routing,rtn,routing number,bank routing"},
	{"US_NPI", "10", usNPI, "npi,national provider,provider identifier"},
	{"US_EIN", "2-7", nil, "ein,employer identification,fein"},
	// Great Britain, Ireland
	{"UK_NHS", "3 3 4|3-3-4|10", ukNHS, "nhs,national health,health service,nhs number"},
	{"UK_PASSPORT", "9", nil, "uk passport,british passport"},
	// Canada
	{"CA_SIN", "3-3-3|3 3 3|9", luhnCheck, "sin,social insurance,nas,assurance sociale,insurance number"},
	// Australia
	{"AU_ABN", "2 3 3 3!|11!", auABN, "abn,australian business,business number"},
	{"AU_ACN", "3 3 3|9", auACN, "acn,australian company,company number"},
	{"AU_TFN", "3 3 3|9|8", auTFN, "tfn,tax file"},
	{"AU_MEDICARE", "4 5 1!|10|10 1|4-5-1!", auMedicare, "medicare"},
	// India, Singapore's neighbours, East Asia
	{"IN_AADHAAR", "4 4 4!|4-4-4!|12", inAadhaar, "aadhaar,aadhar,uidai,uid,adhaar,आधार"},
	{"MY_NRIC", "6-2-4!|12", yymmdd6, "nric,mykad,ic,kad pengenalan"},
	{"PK_CNIC", "5-7-1!|13", nil, "cnic,nadra,identity card"},
	{"TH_TNIN", "1-4-5-2-1!|1 4 5 2 1!|13", thTNIN, "thai id,thai national,national id,identification number,tnin,บัตรประชาชน,เลขประจำตัว"},
	{"KR_RRN", "6-7!|13", krRRN, "rrn,resident registration,korean id,주민등록,주민번호"},
	{"KR_FRN", "6-7!|13", krFRN, "frn,foreigner registration,alien registration,외국인등록"},
	{"KR_BRN", "3-2-5!|10", krBRN, "brn,business registration,사업자등록"},
	{"KR_DRIVER_LICENSE", "2-2-6-2!|12", krDriver, "driver license,운전면허,면허번호"},
	{"JP_MY_NUMBER", "4-4-4|4 4 4|12", jpMyNumber, "my number,mynumber,individual number,マイナンバー,個人番号"},
	{"PH_TIN", "3-3-3|3-3-3-3|12|9", nil, "tin,bir,taxpayer identification"},
	{"PH_UMID", "4-7-1|12", nil, "umid,crn,common reference"},
	{"PH_PHILHEALTH", "2-9-1|12", nil, "philhealth"},
	{"ID_NIK", "16", idNIK, "nik,ktp,kependudukan"},
	// Central Europe
	{"DE_TAX_ID", "2 3 3 3!|11!", deTaxID, "steuer,steuerid,id nr,steuernummer,idnr,steueridentifikationsnummer,steuer id,tin,tax id,identifikationsnummer"},
	{"AT_SVNR", "4 6|10", atSVNR, "svnr,sozialversicherungsnummer,sozialversicherung,versicherungsnummer,social security"},
	{"CH_AHV", "3.4.4.2!|3 4 4 2!|3-4-4-2!|13!", chAHV, "ahv,avs,sozialversicherungsnummer"},
	{"PL_PESEL", "11!", plPESEL, "pesel"},
	{"PL_NIP", "3-3-2-2|3-2-2-3|10", plNIP, "nip"},
	{"CZ_SK_BIRTH_NUMBER", "6/4!|6/3|10", czBirth, "rodné číslo,rč,rodne cislo"},
	{"HU_TAX_ID", "10", huTaxID, "adóazonosító,adóazonosító jel,tax"},
	{"RO_CNP", "13!", roCNP, "cnp,cod numeric"},
	{"BG_EGN", "10", bgEGN, "егн,egn"},
	{"HR_OIB", "11", mod11and10Check, "oib"},
	{"SI_EMSO", "13!", siEMSO, "emšo,emso,jmbg"},
	{"EE_LT_PERSONAL_CODE", "11!", eePersonal, "isikukood,asmens kodas,personal code"},
	// Western and southern Europe
	{"BE_NRN", "2.2.2-3.2!|2 2 2 3 2|11!", beNRN, "rijksregister,rijksregisternummer,registre national,national number"},
	{"NL_BSN", "9|3 3 3|4.2.3", nlBSN, "bsn,burgerservicenummer,sofinummer,sofi"},
	{"FR_NIR", "1 2 2 2 3 3 2!|15!|1 2 2 2 3 3", frNIR, "nir,sécurité sociale,sécu,insee"},
	{"FR_SIRET", "3 3 3 5|14", luhnCheck, "siret"},
	{"FR_SIREN", "3 3 3|9", luhnCheck, "siren"},
	{"IT_VAT_CODE", "11", luhnCheck, "piva,partita iva,iva,p iva,vat,codice fiscale"},
	{"PT_NIF", "9|3 3 3", ptNIF, "nif,contribuinte,nipc"},
	{"GR_AMKA", "11", grAMKA, "αμκα,amka"},
	{"GR_AFM", "9", grAFM, "αφμ,afm"},
	// Northern Europe
	{"SE_PERSONNUMMER", "6-4!|8-4!|10|12!", sePersonal, "personnummer,personnr,pnr,swedish id,identity number"},
	{"SE_ORGANISATIONSNUMMER", "6-4!|10", seOrganisation, "organisationsnummer,orgnr,org nr"},
	{"NO_FODSELSNUMMER", "6 5!|11!", noBirth, "fødselsnummer,personnummer,fodselsnummer,fnr"},
	{"FI_PERSONAL_IDENTITY_CODE", "6-4", fiDigits, "hetu,henkilötunnus,personbeteckning,personal identity code"},
	{"DK_CPR", "6-4|10", ddmmyy6, "cpr,personnummer,cpr nummer"},
	// Eastern Europe and beyond
	{"RU_SNILS", "3-3-3 2!|11", ruSNILS, "снилс,snils"},
	{"RU_INN", "10|12!", ruINN, "инн,inn"},
	{"RU_PASSPORT", "4 6|2 2 6|10", nil, "паспорт,паспорта,passport"},
	{"KZ_IIN", "12", kzIIN, "иин,жсн,iin"},
	{"TR_NATIONAL_ID", "11!", trID, "tckn,tc kimlik,kimlik,tc"},
	{"IL_ID", "9|8-1", luhnCheck, "teudat,zehut,israeli id,ת.ז,תעודת זהות"},
	{"ZA_ID", "13!|6 4 3!|6 4 2 1!", zaID, "south african id,identity number,id number,rsa id"},
	{"NG_NIN", "11", verhoeffCheck, "nin,national identification"},
	// Latin America
	{"BR_CPF", "3.3.3-2!|9-2!|11!", brCPF, "cpf,cadastro de pessoas"},
	{"BR_CNPJ", "2.3.3/4-2!|14!", brCNPJ, "cnpj,cadastro nacional"},
	{"AR_CUIT", "2-8-1!|11", arCUIT, "cuit,cuil"},
	{"CL_RUT", "2.3.3-1!|1.3.3-1!|8-1!|7-1!|9", clRUT, "rut,run"},
	{"CO_NIT", "3.3.3-1|9-1|10", coNIT, "nit"},
}

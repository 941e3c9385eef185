package detect

// The codes of letters and digits, after what the offices that give them publish.
var idCodes = []idCode{
	// United States
	{"US_PASSPORT", "A99999999", false, false, nil, "us passport,passport,passport number"},
	{"US_MBI", "9A*9A*9AA99", true, true, usMBI, "mbi,medicare,beneficiary"},
	{"MEDICAL_LICENSE", "AA9999999", false, false, dea, "dea,medical license,medical licence,certificate,physician"},
	// Great Britain, Ireland
	{"UK_NINO", "AA999999A", false, true, ukNINO, "nino,national insurance,ni number,insurance number"},
	{"UK_PASSPORT", "AA9999999", false, false, nil, "uk passport,british passport,passport"},
	{"UK_DRIVING_LICENCE", "*****999999***AA", true, false, ukDriving, "driving licence,dvla,licence"},
	{"UK_VEHICLE_REGISTRATION", "AA99AAA", false, true, nil, "registration,reg,vrn,number plate,license plate,vehicle"},
	{"IE_PPS", "9999999A|9999999AA", true, false, iePPS, "pps,ppsn,personal public service"},
	// Spain, Italy, France, Germany, Finland
	{"ES_NIF", "99999999A|9999999A", true, true, esNIF, "nif,dni,documento nacional"},
	{"ES_NIE", "A9999999A", true, true, esNIE, "nie,extranjero,número de identidad"},
	{"ES_PASSPORT", "AAA999999", false, false, nil, "pasaporte,passport"},
	{"IT_FISCAL_CODE", "AAAAAA**A**A***A", true, false, itFiscal, "codice fiscale,cf,fiscal code"},
	{"IT_DRIVER_LICENSE", "AA9999999A|A9*******A", false, false, nil, "patente,patente di guida,licenza di guida,driver license,driving licence"},
	{"IT_PASSPORT", "AA9999999", false, false, nil, "passaporto,passport,elettronico"},
	{"IT_IDENTITY_CARD", "AA99999AA|AA9999999|9999999AA", false, true, nil, "carta identità,identità,carta di identità,carta d identità,cie,identity card,documento identità"},
	{"FR_PASSPORT", "99AA99999", false, false, nil, "passeport,passport"},
	{"FR_NIR", "99999*9999999**", true, true, frCorsica, "nir,sécurité sociale,sécu,insee"},
	{"DE_ID_CARD", "A********|A********9", false, false, deCard, "personalausweis,ausweis,ausweisnummer,personalausweisnummer,identity card"},
	{"DE_PASSPORT", "A********|A********9", false, false, deCard, "reisepass,reisepassnummer,pass,passnummer,passport"},
	{"DE_SOCIAL_SECURITY", "99999999A999", true, true, deSocial, "rentenversicherung,rentenversicherungsnummer,rvnr,sozialversicherungsnummer,versicherungsnummer"},
	{"DE_HEALTH_INSURANCE", "A999999999", false, false, deHealth, "krankenversichertennummer,krankenversicherungsnummer,krankenkasse,krankenversicherung,kvnr,versichertennummer,versicherungsnummer,gesundheitskarte,health insurance,insurance number"},
	{"DE_VAT_ID", "AA999999999", true, true, deVAT, "ust idnr,ust id,id nr,ustid,umsatzsteuer,umsatzsteuer identifikationsnummer,vat"},
	{"FI_PERSONAL_IDENTITY_CODE", "999999A999*|999999999*", true, true, fiPersonal, "hetu,henkilötunnus,personbeteckning,personal identity code"},
	// Asia
	{"IN_PAN", "AAAAA9999A", true, false, inPAN, "pan,permanent account,income tax"},
	{"IN_GSTIN", "99AAAAA9999A*A*", true, false, inGSTIN, "gstin,gst"},
	{"IN_VOTER", "AAA9999999", false, false, nil, "voter,epic,elector,voter id,election"},
	{"IN_PASSPORT", "A9999999", false, true, nil, "indian passport,passport,passport number"},
	{"IN_VEHICLE_REGISTRATION", "AA99AA9999|AA99A9999|AA9A9999|AA99AAA9999|99AA9999A|99AA9999AA", true, true, inVehicle, "vehicle,registration,rto,number plate,plate"},
	{"SG_NRIC_FIN", "A9999999A", true, false, sgNRIC, "nric,fin,singapore,identity card"},
	{"SG_UEN", "99999999A|999999999A|A99AA9999A", true, false, sgUEN, "uen,unique entity,acra,business registration"},
	{"KR_PASSPORT", "A99999999|A999A9999", false, false, nil, "passport,여권"},
	{"CN_RESIDENT_ID", "99999999999999999*", true, false, cnResident, "身份证,身份證,resident identity,chinese id"},
	{"TW_NATIONAL_ID", "A999999999", true, false, twNational, "身分證,taiwan id,national id"},
	{"PH_PASSPORT", "A9999999A", false, false, nil, "philippine passport,passport"},
	// Latin America
	{"CL_RUT", "99999999A|9999999A", false, true, clRUTLetter, "rut,run"},
	{"MX_CURP", "AAAA999999AAAAAA*9", true, false, mxCURP, "curp"},
	{"MX_RFC", "AAAA999999***|AAA999999***", false, false, mxRFC, "rfc,registro federal"},
}

package detect

import "strings"

const (
	phoneWords = "phone,phones,telephone,tel,telephone number,mobile,cell,cellphone,cellular,fax,call me,call us,call him,call her,call them,call at,call on,call back,^call,^calling,^called,called me,called us,called from,calling from,dial,dialing,ring me,ring us,sms,text me,text us,whatsapp," +
		"signal,telegram,viber,contact,hotline,helpline,landline,pager,voicemail,message,messages,answering,^desk,^office,^home,^work,^reach,^reached at,phone number,my number,his number,her number,your number,our number,their number,new number,contact number,emergency number,registered number," +
		"telefon,telefonnummer,^handy,handynummer,mobil,mobilnummer,mobiltelefon,rufnummer,durchwahl,anrufen,telefax,festnetz," +
		"téléphone,^portable,appeler,appelez,appelle,joindre,teléfono,telefono,móvil,movil,celular,llamar,llame,llámame,llama,telefone,telemóvel,ligue,ligar," +
		"cellulare,chiamare,chiama,chiamami,telefoon,telefoonnummer,mobiel,gsm,bellen,bel me,bel mij,puhelin,puhelinnumero,puh,tlf,ring meg,ring mig,mobilnr,telefonu,komórka,komórkowy,dzwonić,zadzwoń,numer telefonu," +
		"telefonní,telefonszám,^cep,тел,телефон,телефону,моб,мобильный,звоните,позвоните,τηλέφωνο,κινητό," +
		"电话,電話,手机,手機,携帯,휴대폰,전화,연락처,โทร"
	// phoneLabels are said after a number: 555 0100 (mobile).
	phoneLabels = "office,fax,mobile,cell,home,work,tel,phone,telephone,desk,landline,mobil,handy,ext,extension"
	// otherWords say right before a number that it is another.
	otherWords = "order,orders,invoice,zip,zipcode,postcode,postal,box,ref,reference,ticket,case,tracking,shipment,parcel,account,acct,code,pin,version,isbn,issn,doi,model,serial,sku," +
		"part,item,product,year,years,street,apt,apartment,suite,unit,page,pages,port,room,amount,price,total,sum,usd,eur,gbp,id,license,licence,policy,flight,confirmation,booking,passport,card,iban,routing," +
		"ssn,tax,vat,batch,lot,build,bug,issue,commit,row,line,chapter,section,coordinates,latitude,longitude,lat,lon,lng,timestamp," +
		"bestellung,bestellnummer,rechnung,rechnungsnummer,plz,commande,facture,pedido,factura,ordine,fattura,bestelling"
)

// phone finds telephone numbers. By their form alone: with + or 00 and a country's code (ITU-T E.164), in North
// America's 3-3-4, with the area in parentheses, and with a leading 0 in groups that some country writes. Other groups,
// and plain digits, must be said to be a telephone's; and none is one right after a word such as order.
func (f *finder) phone(v *numeral) {
	n := v.phoneGroups()
	if n == 0 || v.link || v.joinedLeft() {
		return
	}
	start := v.pre
	if v.paren && (v.n == 1 || v.groups[1].sep != ')') { // it is not the area that is in parentheses
		v.paren = false
		if start = v.start; v.plus {
			start--
		}
	}
	var buf [numberBytes + wordBytes]byte
	for ; n > 0; n-- {
		d := v.digits(buf[:0], 0, n)
		if len(d) < 7 {
			return
		}
		if len(d) > 17 || v.unclosed(n) {
			continue
		}
		end := v.extended(n)
		if v.joinedRight(end) {
			continue
		}
		if rule, score := v.dialled(d, n, end); score > 0 {
			f.add("PHONE_NUMBER", rule, start, end, score)
			return
		}
	}
}

// phoneGroups returns how many of the first groups a telephone number could have.
func (v *numeral) phoneGroups() int {
	n := v.plain()
	parens := 0
	for i := 1; i < n; i++ {
		switch v.groups[i].sep {
		case '(':
			if parens++; parens > 1 || v.paren {
				return i
			}
		case '/':
			if i > 1 || v.groups[0].size() < 3 { // an area's code before it, as in Germany
				return i
			}
		case ')':
			if parens == 0 && !(v.paren && i == 1) {
				return i
			}
		}
	}
	return n
}

// unclosed says whether a parenthesis that begins in the first n groups does not end there.
func (v *numeral) unclosed(n int) bool {
	open := v.paren
	for i := 1; i < n; i++ {
		open = v.groups[i].sep == '(' || open && v.groups[i].sep != ')'
	}
	return open
}

// extended returns where the first n groups end with the extension that follows them, such as x12 or ext. 12.
func (v *numeral) extended(n int) int {
	end := v.groups[n-1].end
	if n == v.n && v.ext > 0 {
		return v.ext
	}
	i := end
	for i < end+2 && (v.at(i) == ' ' || v.at(i) == ',') {
		i++
	}
	letters := 0
	for i < end+12 && aLetter(v.at(i)) {
		i++
		letters++
	}
	switch word := v.text[i-letters : i]; {
	case word == "x", word == "X", strings.EqualFold(word, "ext"), strings.EqualFold(word, "extn"), strings.EqualFold(word, "extension"):
	default:
		return end
	}
	for range 2 {
		switch v.at(i) {
		case ' ', '.', ':', '#':
			i++
		}
	}
	if i = v.extension(i); i > 0 {
		return i
	}
	return end
}

// dialled says how sure it is that the first n groups, whose digits are d, are a telephone number that ends at end with
// its extension; 0 if they are none.
func (v *numeral) dialled(d []byte, n, end int) (rule string, score float64) {
	if v.plus || d[0] == '0' && d[1] == '0' {
		cc, score := d, .95
		if !v.plus {
			cc, score = d[2:], .8
		}
		digits := len(cc)
		for i := 1; i < n; i++ {
			if g := &v.groups[i]; g.sep == '(' && g.size() == 1 && v.text[g.start] == '0' {
				digits-- // the 0 that is dialled within the country only
			}
		}
		if lo, hi := dialLengths(cc); digits >= lo && digits <= hi && (v.plus || n > 1) {
			return "international", score
		}
		if v.plus {
			return "", 0
		}
	}
	near, said := v.said(phoneList)
	if other, ok := v.said(otherList); ok && other < 2 && other < near || v.hangs() && !said || v.dated(n) {
		return "", 0
	}
	form := v.nationalForm(d, n)
	switch {
	case form == noForm:
	case said:
		return "national", .9
	case form == ownForm && !v.crowded(n), v.followed(end, phoneLabels):
		return "national", .7
	case end > v.groups[n-1].end && n > 1:
		return "national", .7
	}
	return "", 0
}

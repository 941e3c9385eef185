package detect

import "strings"

// What is said of telephone numbers, in some forty languages.
const (
	phoneWords = "phone,phones,telephone,tel,telephone number,mobile,cell,cellphone,cellular,fax,call me,call us,call him,call her,call them,call you,call at,call on,call back,^call,^calling,^called,called me,called us,called from,calling from,dial,dialing,ring me,ring us,sms,text me,text us,whatsapp," +
		"signal,telegram,viber,contact,hotline,helpline,landline,pager,voicemail,message,messages,answering,^desk,^office,^home,^work,^reach,^reached at,phone number,my number,his number,her number,your number,our number,their number,new number,contact number,emergency number,registered number," +
		"telefon,telefonnummer,^handy,handynummer,mobil,mobilnummer,mobiltelefon,rufnummer,durchwahl,anrufen,rufen sie,ruf mich,ruf uns,telefax,festnetz," +
		"téléphone,^portable,appeler,appelez,appelle,joindre,teléfono,telefono,móvil,movil,celular,llamar,llame,llámame,llama,telefone,telemóvel,ligue,ligar," +
		"cellulare,chiamare,chiama,chiamami,telefoon,telefoonnummer,mobiel,gsm,bellen,bel me,bel mij,puhelin,puhelinnumero,puh,tlf,ring meg,ring mig,mobilnr,telefonu,komórka,komórkowy,dzwonić,zadzwoń,numer telefonu," +
		"telefonní,telefonszám,^cep,тел,телефон,телефону,моб,мобильный,звоните,позвоните,τηλέφωνο,κινητό," +
		"ph,mob,cel,tél,fon,fono,phoned,phoning,rang,a ring,missed call,missed a call,a call from,calls from,caller,dialled,dialed,whats app,^text,^texted,ruf,anruf,rückruf,erreichbar,erreichen,telefonum,telefonunuz,numaram,arayın,matkapuhelin,soita,soittakaa,^sími,farsími,számom,telefonszámom,hívj,hívjon,mobilszám,zavolat,zavolejte,volejte,mobilní,telefón,telefónne,mobitel,nazovite,broj telefona,sunați,telefonul,mobilul,telefoonnr,telefonnr," +
		"điện thoại,gọi,telepon,hubungi,telepono,nombor telefon,simu,هاتف,الهاتف,جوال,رقم الهاتف,טלפון,נייד,τηλ,κιν,τηλέφωνό,телефона,телефоном,мобильного,наберите,звони,дзвоніть,мобільний,电话,फ़ोन,फोन,मोबाइल,電話,手机,手機,携帯,휴대폰,전화,연락처,โทร"
	// numberWords may be said before a telephone number, and before much else: they count for groups that no large
	// number and no range is written in.
	numberWords = "call,calling,reach,reachable,numbers,^at,^on,^number,^no,^nr,^num,^numéro,^número,^numero,^nummer,^numer,^номер,^номеру,^under,^unter,^auf,^au,^al,^via,^по"
	// phoneLabels are said after a number: 555 0100 (mobile).
	phoneLabels = "office,fax,mobile,cell,home,work,tel,phone,telephone,desk,landline,mobil,handy,ext,extension,cellular,cellphone,direct,switchboard,voicemail,pager,gsm,celular,cellulare,portable,bureau,privat"
	// otherWords say right before a number that it is another.
	otherWords = "order,orders,invoice,zip,zipcode,postcode,postal,box,ref,reference,ticket,case,tracking,shipment,parcel,account,acct,code,pin,version,isbn,issn,ean,gtin,upc,barcode,imei,doi,model,serial,sku," +
		"part,item,product,year,years,street,apt,apartment,suite,unit,page,pages,port,room,amount,price,total,sum,usd,eur,gbp,id,license,licence,policy,flight,confirmation,booking,passport,card,iban,routing," +
		"ssn,tax,vat,batch,lot,build,bug,issue,commit,row,line,chapter,section,coordinates,latitude,longitude,lat,lon,lng,timestamp," +
		"bestellung,bestellnummer,rechnung,rechnungsnummer,plz,commande,facture,pedido,factura,ordine,fattura,bestelling"
)

// numbered says whether a word such as number stands before the first n groups, no word that makes it another's, and
// they are no quantity and no range.
func (v *numeral) numbered(n int) bool {
	_, ok := v.said(numberList)
	if end := v.groups[n-1].end; v.at(end) == ' ' && kinds[v.at(end+1)]&upperByte != 0 { // a house's, before its street
		return false
	}
	return ok && !v.isOther() && n > 1 && !v.thousands(n) && !v.crowded(n) &&
		(n > 2 || v.groups[1].sep == ' ' && v.groups[1].size() > 3 || v.groups[0].size() == 3 && v.groups[1].size() == 4)
}

// above says whether the word is the end of an earlier line, such as that of a street.
func (v *numeral) above(word int) bool {
	if word >= v.nwords {
		return false
	}
	between := v.text[v.words[word].end:v.pre]
	return strings.IndexByte(between, '\n') >= 0 && strings.IndexByte(between, ':') < 0
}

// isOther says whether a word near before the numeral makes it an order's, a ticket's and so on.
func (v *numeral) isOther() bool {
	near, ok := v.said(otherList)
	return ok && near < 5
}

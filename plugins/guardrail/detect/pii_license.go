package detect

const driverWords = "driver license,drivers license,driver s license,driver licence,drivers licence,driver s licence,driving licence,driving license,drivers lic,driver lic,dl,dmv,cdl"

// driverLicense finds the licence numbers of the United States' drivers: a state's is some letters and digits, with no
// check digit that is published, so only what is said to be one counts: 5 to 16 of them, of which 4 digits or more.
func (f *finder) driverLicense(v *numeral) {
	size, digits, k := 0, 0, 0
	for k < v.n && (k == 0 || v.groups[k].sep == '-' || v.groups[k].sep == ' ' && v.groups[k].size() == 3 && v.groups[k].digits > 0) {
		size += v.groups[k].size()
		digits += v.groups[k].digits
		k++
	}
	if size < 5 || size > 16 || digits < 4 || v.link || v.plus || v.joinedLeft() || v.joinedRight(v.groups[k-1].end) || v.dated(k) {
		return
	}
	if near, ok := v.said(driverList); ok && near < 5 {
		f.add("US_DRIVER_LICENSE", "words", v.start, v.groups[k-1].end, .8)
	}
}

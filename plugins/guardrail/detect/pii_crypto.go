package detect

import (
	"crypto/sha256"
	"strings"
)

// crypto finds addresses of Bitcoin, by their checksums (base58check, and bech32 of BIP 173 or bech32m of BIP 350), and of
// Ethereum, by their form only: the checksum that lies in its capitals (EIP-55) is not looked at.
func (f *finder) crypto(v *numeral) {
	g := &v.groups[0]
	word := v.text[g.start:g.end]
	switch {
	case g.size() == 42 && word[0] == '0' && (word[1] == 'x' || word[1] == 'X') && hexadecimal(word[2:]):
		f.add("CRYPTO", "ethereum", g.start, g.end, .9)
	case g.size() >= 26 && g.size() <= 35 && (word[0] == '1' || word[0] == '3') && base58check(word):
		f.add("CRYPTO", "bitcoin", g.start, g.end, 1)
	case g.size() >= 14 && g.size() <= 64 && strings.EqualFold(word[:3], "bc1") && bech32(word):
		f.add("CRYPTO", "bitcoin", g.start, g.end, 1)
	}
}

func hexadecimal(s string) bool {
	for i := range len(s) {
		if !aHex(s[i]) {
			return false
		}
	}
	return true
}

// base58check says whether a word is 21 bytes in base 58 with the beginning of their double SHA-256 behind.
func base58check(word string) bool {
	const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	var raw [25]byte
	for i := range len(word) {
		carry := strings.IndexByte(alphabet, word[i])
		if carry < 0 {
			return false
		}
		for j := len(raw) - 1; j >= 0; j-- {
			carry += 58 * int(raw[j])
			raw[j] = byte(carry)
			carry >>= 8
		}
		if carry > 0 {
			return false
		}
	}
	sum := sha256.Sum256(raw[:21])
	sum = sha256.Sum256(sum[:])
	return string(sum[:4]) == string(raw[21:])
}

// bech32 says whether a word that begins with bc1 has a right checksum.
func bech32(word string) bool {
	const alphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
	sum := uint32(1)
	mix := func(v uint32) {
		top := sum >> 25
		sum = sum&0x1ffffff<<5 ^ v
		for i, g := range [5]uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
			if top>>i&1 == 1 {
				sum ^= g
			}
		}
	}
	for _, v := range []uint32{'b' >> 5, 'c' >> 5, 0, 'b' & 31, 'c' & 31} {
		mix(v)
	}
	lower, upper := false, false
	for i := range len(word) {
		c := word[i]
		lower = lower || kinds[c]&lowerByte != 0
		if kinds[c]&upperByte != 0 {
			upper, c = true, c+'a'-'A'
		}
		if i < 3 {
			continue
		}
		v := strings.IndexByte(alphabet, c)
		if v < 0 {
			return false
		}
		mix(uint32(v))
	}
	return (sum == 1 || sum == 0x2bc830a3) && !(lower && upper)
}

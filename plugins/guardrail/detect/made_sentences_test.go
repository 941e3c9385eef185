package detect_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A maker makes labelled sentences up, the same ones from the same seed.
type maker struct{ *rand.Rand }

func (m *maker) pick(list []string) string { return list[m.IntN(len(list))] }

// form fills a form in: X is any digit, N one from 2 to 9.
func (m *maker) form(form string) string { return m.fill(form, 'X', 'N') }

// nines is the same with 9 and 8, for what has letters.
func (m *maker) nines(form string) string { return m.fill(form, '9', '8') }

func (m *maker) fill(form string, digit, high byte) string {
	b := []byte(form)
	for i, c := range b {
		switch c {
		case digit:
			b[i] = '0' + byte(m.IntN(10))
		case high:
			b[i] = '2' + byte(m.IntN(8))
		}
	}
	return string(b)
}

// card makes a payment card's number of any of the networks, in any of their groups.
func (m *maker) card() string {
	type issue struct {
		prefix string
		size   int
	}
	issues := []issue{
		{"4", 16},
		{"4", 16},
		{"4", 16},
		{"4", 13},
		{"51", 16},
		{"55", 16},
		{"2221", 16},
		{"2720", 16},
		{"34", 15},
		{"37", 15},
		{"6011", 16},
		{"65", 16},
		{"644", 16},
		{"3528", 16},
		{"3589", 16},
		{"36", 14},
		{"38", 14},
		{"300", 14},
		{"305", 14},
		{"6759", 16},
		{"5018", 16},
		{"6304", 16},
		{"62", 16},
		{"62", 19},
		{"2200", 16},
		{"5018", 12},
		{"6762", 12},
	}
	i := issues[m.IntN(len(issues))]
	d := i.prefix + m.form(strings.Repeat("X", i.size-len(i.prefix)-1))
	for c := '0'; c <= '9'; c++ {
		if luhnSum(d+string(c))%10 == 0 {
			d += string(c)
			break
		}
	}
	groups := map[int][]int{13: {13}, 14: {4, 6, 4}, 15: {4, 6, 5}, 16: {4, 4, 4, 4}, 19: {4, 4, 4, 4, 3}, 12: {12}}[i.size]
	sep := m.pick([]string{"", "", " ", "-", "\u00a0"})
	return grouped(d, groups, sep)
}

func luhnSum(d string) (sum int) {
	for i := range len(d) {
		n := int(d[len(d)-1-i] - '0')
		if i%2 == 1 {
			if n *= 2; n > 9 {
				n -= 9
			}
		}
		sum += n
	}
	return sum
}

func grouped(d string, sizes []int, sep string) string {
	var parts []string
	for _, n := range sizes {
		parts, d = append(parts, d[:n]), d[n:]
	}
	return strings.Join(parts, sep)
}

// iban makes an account's number with its check digits, in one piece or in fours, rarely in small
// letters.
func (m *maker) iban() string {
	form := m.pick([]string{
		"DE999999999999999999",
		"GBNWBK99999999999999",
		"FR99999999999999999999999",
		"ES99999999999999999999",
		"ITX9999999999999999999999",
		"NLABNA9999999999",
		"CH99999999999999999",
		"BE999999999999",
		"AT9999999999999999",
		"PL999999999999999999999999",
		"SE99999999999999999999",
		"NO99999999999",
		"SA99XX9999999999999999",
		"TR9999999999999999999999",
		"BR99999999999999999999999C1",
		"IL9999999999999999999",
	})
	country, rest := form[:2], m.nines(form[2:])
	mod := 0
	for _, c := range rest + country + "00" {
		if c >= 'A' {
			mod = (mod*100 + int(c-'A') + 10) % 97
		} else {
			mod = (mod*10 + int(c-'0')) % 97
		}
	}
	iban := fmt.Sprintf("%s%02d%s", country, 98-mod, rest)
	switch m.IntN(4) {
	case 0:
		iban = strings.ToLower(iban)
	case 1, 2:
		var sizes []int
		for n := len(iban); n > 0; n -= 4 {
			sizes = append(sizes, min(n, 4))
		}
		iban = grouped(iban, sizes, " ")
	}
	return iban
}

func (m *maker) ip() string {
	if m.IntN(3) > 0 {
		return fmt.Sprintf("%d.%d.%d.%d", 1+m.IntN(254), m.IntN(256), m.IntN(256), m.IntN(256))
	}
	hex := func() string { return fmt.Sprintf("%x", m.IntN(0x10000)) }
	return m.pick([]string{
		"2001:db8::" + hex(),
		"fe80::" + hex() + ":" + hex() + ":" + hex() + ":1",
		"2001:db8:" + hex() + ":" + hex() + ":" + hex() + ":" + hex() + ":" + hex() + ":" + hex(),
		"2a02:" + hex() + "::1",
	})
}

func (m *maker) ssn() string {
	area := 1 + m.IntN(898)
	if area == 666 {
		area++
	}
	return fmt.Sprintf(m.pick([]string{"%03d-%02d-%04d", "%03d %02d %04d", "%03d%02d%04d"}), area,
		1+m.IntN(99), 1+m.IntN(9999))
}

func (m *maker) email() string {
	return m.pick([]string{
		"anna.novak",
		"jo",
		"jo+news",
		"j_doe99",
		"o'brien",
		"x",
		"first.last-name",
		"user%corp",
		"müller",
		"иван",
		"anna.josé",
		"99jo",
		`"jo.doe"`,
		`"jo"`,
	}) + "@" +
		m.pick([]string{
			"example.com",
			"mail.example.co.uk",
			"exämple.de",
			"corp-mail.example.io",
			"sub.sub.example.museum",
			"почта.рф",
			"example.travel",
			"xn--exmple-cua.de",
		})
}

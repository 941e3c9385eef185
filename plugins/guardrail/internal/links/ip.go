package links

import (
	"net/netip"
	"strconv"
	"strings"
)

// isNumber says whether a part of a host is a number, so that the host is an IPv4 address.
func isNumber(part string) bool {
	if part != "" && strings.Trim(part, "0123456789") == "" {
		return true
	}
	_, err := number(part)
	return err == nil
}

// number reads a part as browsers do: 0x in hex, 0 before it in octal.
func number(part string) (uint64, error) {
	switch {
	case strings.HasPrefix(part, "0x"):
		if part == "0x" {
			return 0, nil
		}
		return strconv.ParseUint(part[2:], 16, 32)
	case len(part) > 1 && part[0] == '0':
		return strconv.ParseUint(part[1:], 8, 32)
	}
	return strconv.ParseUint(part, 10, 32)
}

// ipv4 reads an address of one to four numbers, of which the last fills what is left.
func ipv4(host string) (string, error) {
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return "", ErrAddress
	}
	var b [4]byte
	for i, part := range parts {
		n, err := number(part)
		if err != nil {
			return "", ErrAddress
		}
		if i < len(parts)-1 {
			if n > 255 {
				return "", ErrAddress
			}
			b[i] = byte(n)
			continue
		}
		for at := 3; at >= i; at-- {
			b[at] = byte(n)
			n >>= 8
		}
		if n > 0 {
			return "", ErrAddress
		}
	}
	return netip.AddrFrom4(b).String(), nil
}

package links

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/idna"
)

// A List says which addresses are allowed.
type List struct {
	schemes []string
	entries []entry
}

// New makes a list. An entry is a host, with a scheme before it and a port and a path behind it as one likes:
//
//	corp.example            that host, at the port of the scheme
//	*.corp.example          every host below it, at any depth, not itself
//	corp.example:8443       at that port only; corp.example:* at any
//	corp.example/docs       that path, and what is below it
//	https://corp.example    with that scheme only
//	*                       every host
//
// Schemes are those that entries without one allow; none means https and http. Hosts may be written in any script.
func New(allow, schemes []string) (*List, error) {
	l := &List{schemes: []string{"https", "http"}}
	if len(schemes) > 0 {
		l.schemes = nil
	}
	for _, s := range schemes {
		l.schemes = append(l.schemes, strings.ToLower(strings.TrimRight(s, ":/")))
	}
	for _, source := range allow {
		e, err := parseEntry(source)
		if err != nil {
			return nil, fmt.Errorf("%q is no entry of an allow-list: %w", source, err)
		}
		l.entries = append(l.entries, e)
	}
	return l, nil
}

// Why an address is refused. The address is not in the errors: it may carry what must not get out.
var (
	ErrScheme   = errors.New("its scheme is not allowed")
	ErrHost     = errors.New("its host is not on the list")
	ErrPort     = errors.New("its port is not on the list")
	ErrPath     = errors.New("its path is not on the list")
	ErrUserinfo = errors.New("it names a user before the host, which hides where it leads")
	ErrAddress  = errors.New("no host can be read in it")
)

// Check says whether an address is allowed, as Find finds it: nil, or why not. It is read as browsers read it: tabs and
// line ends out, backslashes are slashes, as many as there are; hosts in lower case and in ASCII (IDNA), percent
// escapes undone, without a final dot; numbers for hosts in whatever form (0x7f.1, 2130706433, ::ffff:127.0.0.1) are
// the IP address they are. A backslash is also read as Markdown does, to which it is none before punctuation
// (host\.example); the address has to be allowed either way. One that is as long as Find finds any needs the end of its host in it.
func (l *List) Check(address string) error {
	cut := len(address) >= longest
	if err := l.check(address, cut); err != nil || !strings.Contains(address, `\`) {
		return err
	}
	return l.check(unescaped(address), cut)
}

// unescaped returns an address without the backslashes that Markdown takes out.
func unescaped(address string) string {
	var b strings.Builder
	for i := 0; i < len(address); i++ {
		if address[i] == '\\' && i+1 < len(address) && strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", address[i+1]) >= 0 {
			i++
		}
		b.WriteByte(address[i])
	}
	return b.String()
}

// check is Check of an address as it is; cut says that it may go on, for Find ends it there.
func (l *List) check(address string, cut bool) error {
	address = strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' {
			return -1
		}
		return r
	}, strings.TrimFunc(address, func(r rune) bool { return r <= ' ' }))
	scheme, rest := "", address
	if s, after, ok := strings.Cut(address, ":"); ok && isScheme(s) && !startsWithPort(s, after) {
		scheme, rest = strings.ToLower(s), after
	}
	special := scheme == "" || webScheme(scheme)
	if !special {
		if !slices.Contains(l.schemes, scheme) && !slices.ContainsFunc(l.entries, func(e entry) bool { return e.scheme == scheme }) {
			return ErrScheme
		}
		if wordScheme(scheme) {
			return l.mail(scheme, rest)
		}
	}
	rest = strings.ReplaceAll(rest, `\`, "/")
	rest = strings.TrimLeft(rest, "/")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, where := rest[:end], rest[end:]
	switch {
	case strings.Contains(authority, "@"):
		return ErrUserinfo
	case where == "" && cut: // a host, or a user before it, may go on
		return ErrAddress
	}
	if cut { // a path may lead back, further on
		where = "/"
	}
	name, port, err := splitPort(authority)
	if err != nil {
		return ErrAddress
	}
	host, err := canonical(name)
	if err != nil {
		return ErrAddress
	}
	return l.allows(scheme, host, port, where)
}

// mail checks an address of a scheme that is allowed and has no host, or one behind an @.
func (l *List) mail(scheme, rest string) error {
	if scheme != "mailto" {
		return nil
	}
	rest, _, _ = strings.Cut(rest, "?")
	_, name, _ := strings.Cut(rest, "@")
	host, err := canonical(name)
	if err != nil {
		return ErrAddress
	}
	return l.allows(scheme, host, "", "")
}

// allows goes through the entries, and returns the nearest miss.
func (l *List) allows(scheme, host, port, where string) error {
	schemed := func(e entry) bool {
		switch {
		case scheme == "":
			return e.scheme == "" || webScheme(e.scheme)
		case e.scheme != "":
			return e.scheme == scheme
		}
		return slices.Contains(l.schemes, scheme)
	}
	miss := ErrHost
	for _, e := range l.entries {
		if !e.any && e.host != host && !e.below || e.below && !strings.HasSuffix(host, "."+e.host) {
			continue
		}
		switch {
		case !schemed(e):
			miss = ErrScheme
		case e.port != "*" && !e.any && !samePort(scheme, e.port, port):
			miss = ErrPort
		case e.path != "" && !under(where, e.path):
			miss = ErrPath
		default:
			return nil
		}
	}
	return miss
}

var hosts = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.CheckHyphens(false))

// canonical is the one form of a host.
func canonical(name string) (string, error) {
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain
	}
	if inner, ok := strings.CutPrefix(name, "["); ok {
		addr, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		if err != nil {
			return "", ErrAddress
		}
		return addr.WithZone("").Unmap().String(), nil
	}
	host, err := hosts.ToASCII(strings.ToLower(name))
	if err != nil {
		return "", ErrAddress
	}
	host = strings.TrimSuffix(host, ".")
	if host == "" || strings.ContainsAny(host, "/?#@:%\\ <>") {
		return "", ErrAddress
	}
	if last := host[strings.LastIndexByte(host, '.')+1:]; isNumber(last) {
		return ipv4(host)
	}
	return host, nil
}

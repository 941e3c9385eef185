package links

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	whatwg "github.com/nlnwa/whatwg-url/url"
	"golang.org/x/net/idna"

	"github.com/plughook/plughook/internal/lazyregexp"
)

// A List says which addresses are allowed.
type List struct {
	schemes []string
	entries []entry
	byHost  map[string][]entry // those with a host
	any     []entry            // those about every host
}

// An entry is a host of a list, and what is said about it.
type entry struct {
	scheme string // "" for the schemes of the list
	host   string
	any    bool   // every host
	below  bool   // the hosts below host, not itself
	port   string // "" for that of the scheme, * for any
	path   string // "" for any
}

// New makes a list. An entry is a host, with a scheme before it and a port and a path behind it as
// one likes:
//
//	corp.example            that host, at the port of the scheme
//	*.corp.example          every host below it, at any depth, not itself
//	corp.example:8443       at that port only; corp.example:* at any
//	corp.example/docs       that path, and what is below it
//	https://corp.example    with that scheme only
//	*                       every host
//
// Schemes are those that entries without one allow; none means https and http. Hosts may be written
// in any script. The error says what is wrong with an entry.
func New(allow, schemes []string) (*List, error) {
	l := &List{schemes: []string{"https", "http"}, byHost: map[string][]entry{}}
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
		if e.any {
			l.any = append(l.any, e)
		} else {
			l.byHost[e.host] = append(l.byHost[e.host], e)
		}
	}
	return l, nil
}

var defaultPorts = map[string]string{
	"http":  "80",
	"https": "443",
	"ws":    "80",
	"wss":   "443",
	"ftp":   "21",
}

// parseEntry reads an entry.
func parseEntry(source string) (entry, error) {
	var e entry
	rest := strings.TrimSpace(source)
	if scheme, after, ok := strings.Cut(rest, "://"); ok {
		e.scheme = strings.ToLower(scheme)
		rest = after
	}
	rest, where, _ := strings.Cut(rest, "/")
	if strings.ContainsAny(where, "?#*") {
		return e, errors.New("a path is a beginning: write it without ?, # and *")
	}
	where = strings.Trim(where, "/")
	if where != "" {
		e.path = "/" + where
	}
	if rest == "*" {
		e.any = true
		return e, nil
	}
	rest, e.below = strings.CutPrefix(rest, "*.")
	rest, anyPort := strings.CutSuffix(rest, ":*")
	name, port, err := readHost(rest)
	if err != nil || strings.ContainsAny(rest, `@?#\`) {
		return e, errors.New("write a host, or *. and a host, and a port behind it if you like")
	}
	e.host = name
	e.port = port
	if anyPort {
		e.port = "*"
	}
	return e, nil
}

// Why an address is refused. The address is not in the errors: it may carry what must not get out.
var (
	errScheme   = errors.New("its scheme is not allowed")
	errHost     = errors.New("its host is not on the list")
	errPort     = errors.New("its port is not on the list")
	errPath     = errors.New("its path is not on the list")
	errUserinfo = errors.New("it names a user before the host, which hides where it leads")
	errAddress  = errors.New("no host can be read in it")
)

// Check returns nil if an address, as Find finds it, is allowed, and else an error that says why it
// is not. It is read by the rules of browsers (WHATWG): tabs and line ends are dropped, backslashes
// are slashes, hosts are in lower case and in ASCII, with percent escapes undone, and numbers for
// hosts in whatever form (0x7f.1, 2130706433, ::ffff:127.0.0.1) are the IP address that they are. A
// backslash is also read as Markdown does, which drops it before punctuation (host\.example): the
// address has to be allowed either way. Find cuts off a long address; such a one is refused unless
// the end of its host is in it.
func (l *List) Check(address string) error {
	cut := len(address) >= longest
	err := l.check(address, cut)
	if err != nil || !strings.Contains(address, `\`) {
		return err
	}
	return l.check(unescaped(address), cut)
}

// unescaped returns an address without the backslashes that Markdown drops.
func unescaped(address string) string {
	var b strings.Builder
	for i := 0; i < len(address); i++ {
		next := i + 1
		if address[i] == '\\' && next < len(address) && address[next] > ' ' && address[next] < 0x7f &&
			!alnum(address[next]) {
			i++
		}
		b.WriteByte(address[i])
	}
	return b.String()
}

// check is Check of an address as it is; cut says that it may go on.
func (l *List) check(address string, cut bool) error {
	// The scheme, without what browsers drop.
	address = dropping.Replace(strings.TrimFunc(address, func(r rune) bool { return r <= ' ' }))
	scheme := ""
	rest := address
	before, after, ok := strings.Cut(address, ":")
	if ok && isScheme(before, after) {
		scheme = strings.ToLower(before)
		rest = after
	}
	if scheme != "" && !webScheme(scheme) {
		ofEntry := func(e entry) bool { return e.scheme == scheme }
		if !slices.Contains(l.schemes, scheme) && !slices.ContainsFunc(l.entries, ofEntry) {
			return errScheme
		}
		if wordScheme(scheme) {
			return l.checkSlashless(scheme, rest)
		}
	}

	// What comes before the path: a user in it is refused, even an empty one.
	rest = strings.TrimLeft(rest, `/\`)
	end := strings.IndexAny(rest, `/\?#`)
	if end < 0 {
		end = len(rest)
	}
	switch {
	case strings.Contains(rest[:end], "@"):
		return errUserinfo
	case end == len(rest) && cut:
		return errAddress // the host may go on
	}
	name, port, err := readHost(rest[:end])
	if err != nil {
		return err
	}
	where := ""
	if !cut { // a path that is cut off may lead back, further on
		where, _, _ = strings.Cut(rest[end:], "#")
		where, _, _ = strings.Cut(where, "?")
	}
	return l.allows(scheme, name, port, where)
}

var schemeForm = lazyregexp.New(`^[a-zA-Z][a-zA-Z0-9+.-]*$`)

// isScheme says whether what stands before a colon is a scheme, and not a host before a port.
func isScheme(before, after string) bool {
	if webScheme(before) {
		return true
	}
	hasPort := strings.Contains(before, ".") && after != "" && '0' <= after[0] && after[0] <= '9'
	return schemeForm.MatchString(before) && !hasPort
}

var dropping = strings.NewReplacer("\t", "", "\n", "", "\r", "")

// parser takes every address for one of a scheme of the web that has no port of its own: there is a
// host, and a backslash is a slash.
var parser = sync.OnceValue(func() whatwg.Parser {
	return whatwg.NewParser(whatwg.WithSpecialSchemes(map[string]string{"x": ""}))
})

// readHost reads a host, with a port or without. It returns the host in its one form, without a
// final dot, and as an IPv4 address if it is one in IPv6.
func readHost(authority string) (host, port string, err error) {
	if isPlain(authority) {
		return strings.ToLower(authority), "", nil
	}
	u, err := parser().Parse("x://" + authority + "/")
	if err != nil {
		return "", "", errAddress
	}
	host = strings.TrimSuffix(u.Hostname(), ".")
	if u.IsIPv4() || u.IsIPv6() {
		if !numbers.MatchString(authority) {
			return "", "", errAddress
		}
	} else {
		_, err = registered.ToASCII(host)
		if err != nil || host == "" {
			return "", "", errAddress
		}
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if err == nil {
		host = addr.Unmap().String()
	}
	return host, u.Port(), nil
}

// isPlain says whether a host has letters of ASCII, digits, and single dots and hyphens between
// them, and ends in a domain that begins with a letter, as most have: the parser would do no more
// than make its letters small.
func isPlain(host string) bool {
	previous := byte('.')
	for n := range len(host) {
		c := host[n]
		if !alnum(c) && (c != '.' && c != '-' || previous == '.' || previous == '-') {
			return false
		}
		previous = c
	}
	ending := host[strings.LastIndexByte(host, '.')+1:]
	return ending != "" && ending[0] > '9' && previous != '-'
}

var (
	// numbers are addresses of machines. The parser takes others for such, too: +127.0.0.1,
	// 127.0.1.-255.
	numbers = lazyregexp.New(`^([0-9a-fA-FxX.]+|\[[0-9a-fA-F:.]+\])(:[0-9]*)?$`)
	// registered accepts hosts that have a name which can be registered. Browsers accept others,
	// too: a_b, ≠.
	registered = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.CheckHyphens(false))
)

// checkSlashless checks an address of a scheme that is allowed and needs no slashes. Only mailto has a host,
// behind an @.
func (l *List) checkSlashless(scheme, rest string) error {
	if scheme != "mailto" {
		return nil
	}
	rest, _, _ = strings.Cut(rest, "?")
	_, name, _ := strings.Cut(rest, "@")
	if strings.ContainsAny(name, `/\#@:`) {
		return errAddress
	}
	name, _, err := readHost(name)
	if err != nil {
		return err
	}
	return l.allows(scheme, name, "", "")
}

// allows returns nil if an entry allows what an address consists of, and else what is wrong for the
// entry of its host.
func (l *List) allows(scheme, host, port, where string) error {
	miss := errHost
	candidates := append(slices.Clip(l.any), l.byHost[host]...)
	for rest := host; rest != ""; {
		_, rest, _ = strings.Cut(rest, ".")
		candidates = append(candidates, l.byHost[rest]...)
	}
	for _, e := range candidates {
		switch {
		case !e.any && e.below == (e.host == host):
		case !l.schemed(e, scheme):
			miss = errScheme
		case !e.any && !samePort(scheme, e.port, port):
			miss = errPort
		case e.path != "" && !e.holds(where):
			miss = errPath
		default:
			return nil
		}
	}
	return miss
}

// schemed says whether an entry allows a scheme.
func (l *List) schemed(e entry, scheme string) bool {
	switch {
	case scheme == "":
		return e.scheme == "" || webScheme(e.scheme)
	case e.scheme != "":
		return e.scheme == scheme
	}
	return slices.Contains(l.schemes, scheme)
}

// samePort says whether a port is the one that an entry wants: "" is that of the scheme.
func samePort(scheme, want, port string) bool {
	usual := defaultPorts[scheme]
	switch want {
	case "*", port:
		return true
	case "":
		return port == usual
	}
	return port == "" && want == usual
}

// holds says whether a path is below that of the entry, both as browsers read it, and as servers do
// to which a//.. is no more than a/..
func (e entry) holds(where string) bool {
	u, err := parser().Parse("x://x" + where)
	return err == nil && under(u.Pathname(), e.path) && under(where, e.path)
}

// under says whether the path of an address is a path, or below it.
func under(where, prefix string) bool {
	for range 3 { // there are servers that undo escapes twice
		plain, err := url.PathUnescape(where)
		if err != nil {
			return false
		}
		where = strings.ReplaceAll(plain, `\`, "/")
	}
	where = path.Clean("/" + where)
	return where == prefix || strings.HasPrefix(where, prefix+"/")
}

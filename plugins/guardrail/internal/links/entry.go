package links

import (
	"errors"
	"net/url"
	"path"
	"strconv"
	"strings"
)

type entry struct {
	scheme, host, port, path string
	below                    bool // any host below that
	any                      bool
}

func parseEntry(source string) (entry, error) {
	var e entry
	rest := strings.TrimSpace(source)
	if scheme, after, ok := strings.Cut(rest, "://"); ok {
		e.scheme, rest = strings.ToLower(scheme), after
	}
	rest, e.path, _ = strings.Cut(rest, "/")
	if strings.ContainsAny(e.path, "?#*") {
		return e, errors.New("a path is a beginning: write it without ?, # and *")
	}
	if e.path = strings.Trim(e.path, "/"); e.path != "" {
		e.path = "/" + e.path
	}
	if rest == "*" {
		e.any = true
		return e, nil
	}
	rest, e.below = strings.CutPrefix(rest, "*.")
	name, port, err := splitPort(rest)
	if err == nil && port != "" && port != "*" {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return e, errors.New("its port is no number")
	}
	if strings.ContainsAny(name, "*@ ") || name == "" {
		return e, errors.New("write a host, or *. and a host")
	}
	e.port = port
	e.host, err = canonical(name)
	return e, err
}

var defaultPorts = map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}

// samePort says whether a port is the one of an entry, or the scheme's if the entry has none.
func samePort(scheme, want, port string) bool {
	if want == "" {
		return port == "" || port == defaultPorts[scheme]
	}
	return port == want || port == "" && want == defaultPorts[scheme]
}

// under says whether an address's path is a path or below it, its dots resolved.
func under(where, prefix string) bool {
	where, _, _ = strings.Cut(where, "?")
	where, _, _ = strings.Cut(where, "#")
	for range 3 { // escapes of escapes are for servers that undo them twice
		plain, err := url.PathUnescape(where)
		if err != nil {
			return false
		}
		where = strings.ReplaceAll(plain, `\`, "/")
	}
	where = path.Clean("/" + where)
	return where == prefix || strings.HasPrefix(where, prefix+"/")
}

func isScheme(s string) bool {
	for n := range len(s) {
		if c := s[n]; !alnum(c) && c != '+' && c != '-' && c != '.' || n == 0 && c <= '9' {
			return false
		}
	}
	return s != ""
}

// startsWithPort says whether what looks like a scheme is a bare host before a port.
func startsWithPort(s, after string) bool {
	return strings.Contains(s, ".") && after != "" && '0' <= after[0] && after[0] <= '9'
}

// splitPort splits host:port; the port may be missing, or empty.
func splitPort(authority string) (host, port string, err error) {
	if strings.HasPrefix(authority, "[") {
		end := strings.IndexByte(authority, ']')
		if end < 0 {
			return "", "", ErrAddress
		}
		host, port = authority[:end+1], strings.TrimPrefix(authority[end+1:], ":")
	} else {
		host, port, _ = strings.Cut(authority, ":")
	}
	if port != "*" && strings.Trim(port, "0123456789") != "" {
		return "", "", ErrAddress
	}
	if len(port) > 1 {
		port = strings.TrimLeft(port, "0")
	}
	return host, port, nil
}

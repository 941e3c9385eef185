package artifact

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plughook/plughook/session"
)

// CheckName returns an ErrName that says what is wrong with a name, or nil. After an optional UserPrefix, a
// name has 1 to 512 bytes of UTF-8, with no element between slashes that is empty, "." or "..", no
// backslash, and no control character.
func CheckName(name string) error {
	path := strings.TrimPrefix(name, UserPrefix)
	switch {
	case path == "":
		return badName(name, "it is empty")
	case len(path) > 512:
		return fmt.Errorf("artifact: a name of %d bytes: %w: 512 is the most", len(path), ErrName)
	case !utf8.ValidString(path):
		return badName(name, "it is not UTF-8")
	case strings.ContainsRune(path, '\\'):
		return badName(name, "it has a backslash; elements are separated by /")
	case strings.ContainsFunc(path, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }):
		return badName(name, "it has a control character")
	}
	for element := range strings.SplitSeq(path, "/") {
		switch element {
		case "":
			return badName(name, "an element of it is empty; it is a relative path, such as charts/q3.png")
		case ".", "..":
			return badName(name, "an element of it is "+element)
		}
	}
	return nil
}

func badName(name, why string) error {
	return fmt.Errorf("artifact: the name %q: %w: %s", name, ErrName, why)
}

// check refuses keys and names that no service takes.
func check(key session.Key, name string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	return CheckName(name)
}

func checkKey(key session.Key) error {
	if err := key.Check(false); err != nil {
		return fmt.Errorf("artifact: %w", err)
	}
	return nil
}

// notFound says what is not there. A version below 0 stands for any.
func notFound(key session.Key, name string, version int64) error {
	if version < 0 {
		return fmt.Errorf("artifact %q of session %s: %w", name, key, ErrNotFound)
	}
	return fmt.Errorf("artifact %q of session %s, version %d: %w", name, key, version, ErrNotFound)
}

// scope returns whose artifacts the name is one of: the session's, or, without an ID, the user's.
func scope(key session.Key, name string) session.Key {
	if strings.HasPrefix(name, UserPrefix) {
		key.ID = ""
	}
	return key
}

// URIScheme begins the address of an artifact's version (see URI).
const URIScheme = "artifact:"

// URI returns the address of an artifact's version, as seen from the session: "artifact:NAME?version=N", with
// the name escaped. It is for where content holds a URI, such as genai.FileData.
func URI(name string, version int64) string {
	return URIScheme + (&url.URL{Path: "/" + name}).EscapedPath()[1:] + "?version=" + strconv.FormatInt(version, 10)
}

// ParseURI returns the name and the version in an address of URI's form, or an ErrURI.
func ParseURI(uri string) (name string, version int64, err error) {
	bad := func(why string) (string, int64, error) {
		return "", 0, fmt.Errorf("artifact: the URI %q: %w: %s; its form is %sNAME?version=N", uri, ErrURI, why, URIScheme)
	}
	rest, ok := strings.CutPrefix(uri, URIScheme)
	if !ok {
		return bad("it does not begin with " + URIScheme)
	}
	escaped, number, _ := strings.Cut(rest, "?version=")
	version, err = strconv.ParseInt(number, 10, 64)
	if err != nil || version < 0 || strconv.FormatInt(version, 10) != number {
		return bad("it has no version, or something after it")
	}
	if name, err = url.PathUnescape(escaped); err != nil {
		return bad("its name is not escaped as it should be")
	}
	if err := CheckName(name); err != nil {
		return bad("its name is none")
	}
	return name, version, nil
}

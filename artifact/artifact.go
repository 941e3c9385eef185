// Package artifact stores files that agents, tools and users make. The log has only their names and versions
// (session.Actions.ArtifactDelta); the Service has their contents.
//
// A new kind of content: storable says whether it may be kept, and about in version.go how Files writes it. A
// new store: implement Service, and run the contract on it in artifact_test.go.
package artifact

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// UserPrefix begins the names of artifacts that belong to a user in all sessions of an app. All other
// artifacts belong to one session.
const UserPrefix = "user:"

// A Service stores artifacts. It may be used by many goroutines, and, if it stores them outside of the
// process, by many processes. Every version stays until the artifact is deleted: a rewind changes the log,
// not the files.
//
// A name is a relative path with slashes, such as "report.csv" or "charts/q3.png"; see CheckName and
// UserPrefix. Names are compared byte by byte, so names that differ only in case are different. A method that
// takes a name returns the error of CheckName if the name is invalid. A key must be valid for a session
// (session.Key.Check), or the error is session.ErrInvalid; the session need not exist.
//
// If the context of an operation ends, the operation either returns the context's error and has no effect, or
// has its whole effect. The files contract_*_test.go test this contract.
type Service interface {
	// Save stores a copy of data as the next version and returns the number of that version, 0 for the first.
	// It stores all of it or nothing. If an artifact is saved several times at once, each call gets its own
	// version.
	//
	// Data has one of these: InlineData, FileData with a FileURI, or Text, which may be empty. If it has
	// anything else, which would be lost, the error is ErrPart.
	Save(ctx context.Context, key session.Key, name string, data *genai.Part) (version int64, err error)
	// Load returns a copy of a version, or of the latest if version is Latest. The error is ErrNotFound if
	// there is none.
	Load(ctx context.Context, key session.Key, name string, version int64) (*genai.Part, error)
	// List returns the names of the session's and the user's artifacts, sorted.
	List(ctx context.Context, key session.Key) ([]string, error)
	// Versions returns the numbers of an artifact's versions, ascending. The error is ErrNotFound if there is
	// none.
	Versions(ctx context.Context, key session.Key, name string) ([]int64, error)
	// Delete removes an artifact with all its versions. The next version that is saved is 0 again. Deleting
	// an artifact that does not exist is not an error.
	Delete(ctx context.Context, key session.Key, name string) error
}

// Latest asks Load for the latest version.
const Latest int64 = -1

// Errors to use with errors.Is.
var (
	ErrNotFound = errors.New("artifact not found")
	ErrName     = errors.New("not a valid artifact name")
	ErrPart     = errors.New("not valid artifact data")
	ErrURI      = errors.New("not an artifact address")
)

// URIScheme begins the address of a version of an artifact; see URI.
const URIScheme = "artifact:"

// URI returns the address of a version of an artifact within its session: "artifact:NAME?version=N", with the
// name escaped. It is for fields that hold a URI, such as genai.FileData.FileURI.
func URI(name string, version int64) string {
	escaped := (&url.URL{Path: "/" + name}).EscapedPath()[1:]
	return URIScheme + escaped + "?version=" + strconv.FormatInt(version, 10)
}

// ParseURI returns the name and the version of an address that URI returned, or an ErrURI.
func ParseURI(uri string) (name string, version int64, err error) {
	bad := func(why string) (string, int64, error) {
		return "", 0, fmt.Errorf("artifact: the URI %q: %w: %s; it must be %sNAME?version=N", uri, ErrURI, why, URIScheme)
	}
	rest, ok := strings.CutPrefix(uri, URIScheme)
	if !ok {
		return bad("it does not begin with " + URIScheme)
	}
	escaped, number, _ := strings.Cut(rest, "?version=")
	version, err = strconv.ParseInt(number, 10, 64)
	if err != nil || version < 0 || strconv.FormatInt(version, 10) != number {
		return bad("it does not end with a version")
	}
	name, err = url.PathUnescape(escaped)
	if err != nil {
		return bad("its name is not escaped correctly")
	}
	if err := CheckName(name); err != nil {
		return bad("its name is not an artifact name")
	}
	return name, version, nil
}

// CheckName returns nil, or an ErrName that says why a name is invalid. After an optional UserPrefix, a name
// has 1 to 512 bytes of UTF-8 without backslashes and control characters, and no element between slashes is
// empty, "." or "..".
func CheckName(name string) error {
	path := strings.TrimPrefix(name, UserPrefix)
	switch {
	case path == "":
		return badName(name, "it is empty")
	case len(path) > 512:
		return fmt.Errorf("artifact: a name of %d bytes: %w: it may have at most 512", len(path), ErrName)
	case !utf8.ValidString(path):
		return badName(name, "it is not UTF-8")
	case strings.ContainsRune(path, '\\'):
		return badName(name, "it has a backslash; elements are separated by /")
	case strings.ContainsFunc(path, isControl):
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

func isControl(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}

func badName(name, why string) error {
	return fmt.Errorf("artifact: the name %q: %w: %s", name, ErrName, why)
}

// check returns an error if a key or a name is invalid.
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

// notFound returns an ErrNotFound. A version below 0 means all versions.
func notFound(key session.Key, name string, version int64) error {
	if version < 0 {
		return fmt.Errorf("artifact %q of session %s: %w", name, key, ErrNotFound)
	}
	return fmt.Errorf("artifact %q of session %s, version %d: %w", name, key, version, ErrNotFound)
}

// scope returns to whom an artifact belongs: the session, or, as a key without ID, the user.
func scope(key session.Key, name string) session.Key {
	if strings.HasPrefix(name, UserPrefix) {
		key.ID = ""
	}
	return key
}

// storable returns a copy of the data of a part, or an ErrPart if a service could not store all of it.
func storable(p *genai.Part) (*genai.Part, error) {
	if p == nil {
		return nil, badPart("it is nil")
	}
	rest := *p
	rest.InlineData = nil
	rest.FileData = nil
	rest.Text = ""
	if !reflect.ValueOf(rest).IsZero() {
		return nil, badPart("it has other fields than InlineData, FileData and Text; save one of these in a part of its own")
	}
	kinds := 0
	texts := []string{p.Text}
	if p.Text != "" {
		kinds++
	}
	if blob := p.InlineData; blob != nil {
		kinds++
		texts = append(texts, blob.MIMEType, blob.DisplayName)
	}
	if file := p.FileData; file != nil {
		kinds++
		texts = append(texts, file.FileURI, file.MIMEType, file.DisplayName)
		if file.FileURI == "" {
			return nil, badPart("its FileData has no FileURI")
		}
	}
	if kinds > 1 {
		return nil, badPart("it has more than one of InlineData, FileData and Text")
	}
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return nil, badPart("a text in it is not UTF-8")
		}
	}
	return copied(p), nil
}

func badPart(why string) error { return fmt.Errorf("artifact: the part: %w: %s", ErrPart, why) }

// copied returns a copy of the data of a part.
func copied(p *genai.Part) *genai.Part {
	c := &genai.Part{Text: p.Text}
	if p.InlineData != nil {
		blob := *p.InlineData
		blob.Data = bytes.Clone(blob.Data)
		c.InlineData = &blob
	}
	if p.FileData != nil {
		file := *p.FileData
		c.FileData = &file
	}
	return c
}

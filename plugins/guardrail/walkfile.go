package guardrail

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"mime"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/plughook/plughook/session"
)

// The names under which what a model's provider does for it answers: it runs code, and grounds an answer in what it has
// found.
const (
	codeTool   = "code_execution"
	searchTool = "grounding"
)

// sources goes through what a model says its answer is from. It is edited by taking it out.
func (w *walker) sources(e *session.Event, stage Stage) {
	if g := e.GroundingMetadata; g != nil && w.opaque(g, &item{stage: stage}) && w.write {
		e.GroundingMetadata = nil
	}
	if c := e.CitationMetadata; c != nil && w.opaque(c, &item{stage: stage}) && w.write {
		e.CitationMetadata = nil
	}
}

// opaque is json for a value whose texts cannot be edited where they are. It reports whether one was.
func (w *walker) opaque(value any, it *item) (edited bool) {
	var plain map[string]any
	data, err := json.Marshal(value)
	if err != nil || json.Unmarshal(data, &plain) != nil || len(plain) == 0 {
		return false // it cannot get into the log either
	}
	w.in(it, func(edit func(jsonLeaf) (string, bool)) { _, edited = eachString(plain, "", edit) })
	return edited
}

// textOf returns the text in a file's bytes, if its type is one of texts, or may be and the bytes are: in UTF-8 or UTF-16.
func textOf(kind string, data []byte) (text string, l jsonLeaf, ok bool) {
	base, params, _ := mime.ParseMediaType(kind)
	plain := utf8.Valid(data) && bytes.IndexByte(data, 0) < 0
	if len(data) == 0 || !textual(kind) || !plain && !textTypes.MatchString(base) {
		return "", l, false
	}
	l.value = strings.HasSuffix(base, "json")
	var order binary.ByteOrder
	switch charset := strings.ToLower(params["charset"]); {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}), charset == "utf-16le" && !plain:
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}), strings.HasPrefix(charset, "utf-16") && !plain:
		order = binary.BigEndian
	default:
		return string(data), l, true
	}
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	return strings.TrimPrefix(string(utf16.Decode(units)), "\ufeff"), l, true
}

// textual reports whether files of a type may be texts.
func textual(kind string) bool {
	base, _, _ := mime.ParseMediaType(kind)
	return textTypes.MatchString(base) || !otherTypes.MatchString(base)
}

// The types of texts, and those that are none.
var (
	textTypes  = regexp.MustCompile(`^(text|message)(/|$)|[/+](json|xml|yaml|x-yaml|toml|x-ndjson|(x-)?javascript|typescript|sql|x-sh|x-www-form-urlencoded|graphql|rtf)$`)
	otherTypes = regexp.MustCompile(`^(image|audio|video|font|model)/|^application/(pdf|zip|gzip|x-tar|wasm|vnd\..*)$`)
)

// inUTF8 is a type of texts, of one that is in UTF-8 now.
func inUTF8(kind string) string {
	base, params, err := mime.ParseMediaType(kind)
	if err != nil || params["charset"] == "" {
		return kind
	}
	params["charset"] = "utf-8"
	return mime.FormatMediaType(base, params)
}

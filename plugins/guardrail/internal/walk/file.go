package walk

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"mime"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/plugins/guardrail/internal/jsonvalue"
	"github.com/plughook/plughook/plugins/guardrail/policy/file"
)

// opaque goes through a value whose texts cannot be changed one by one. It reports whether an edit
// would change one.
func (w *Walker) opaque(value any, it *Item) (edited bool) {
	var plain map[string]any
	data, err := json.Marshal(value)
	if err != nil || json.Unmarshal(data, &plain) != nil || len(plain) == 0 {
		return false // it cannot get into the log either
	}
	w.item(it, func(edit editFunc) { _, edited = jsonvalue.Each(plain, "", edit) })
	return edited
}

// files goes through files as one item, without texts.
func (w *Walker) files(it *Item, files []file.File) {
	if len(files) > 0 {
		it.Files = files
		w.around(it, func() {})
	}
}

// textOf returns the text in a file, in UTF-8 or UTF-16: if the file's type is one of texts, or may
// be one and the bytes are text.
func textOf(kind string, data []byte) (text string, l jsonvalue.Leaf, ok bool) {
	base, params, _ := mime.ParseMediaType(kind)
	plain := utf8.Valid(data) && bytes.IndexByte(data, 0) < 0
	if len(data) == 0 || !MayBeText(kind) || !plain && !textTypes.MatchString(base) {
		return "", l, false
	}
	l.Value = strings.HasSuffix(base, "json")
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

// MayBeText reports whether files of a MIME type may be texts.
func MayBeText(kind string) bool {
	base, _, _ := mime.ParseMediaType(kind)
	return textTypes.MatchString(base) || !otherTypes.MatchString(base)
}

// Types of files that are texts, and types that are not.
var (
	textTypes  = lazyregexp.New(`^(text|message)(/|$)|[/+](json|xml|yaml|x-yaml|toml|x-ndjson|(x-)?javascript|typescript|sql|x-sh|x-www-form-urlencoded|graphql|rtf)$`)
	otherTypes = lazyregexp.New(`^(image|audio|video|font|model)/|^application/(pdf|zip|gzip|x-tar|wasm|vnd\..*)$`)
)

// inUTF8 returns the type of a text file after its text was written in UTF-8.
func inUTF8(kind string) string {
	base, params, err := mime.ParseMediaType(kind)
	if err != nil || params["charset"] == "" {
		return kind
	}
	params["charset"] = "utf-8"
	return mime.FormatMediaType(base, params)
}

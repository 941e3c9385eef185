package yamlfile_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/yamlfile"
)

type form struct {
	Name  string         `yaml:"name"`
	Every time.Duration  `yaml:"every"`
	Items []Item         `yaml:"items"`
	Any   any            `yaml:"any"`
	By    map[string]int `yaml:"by"`
	Small int32          `yaml:"small"`
	Even  []even         `yaml:"even"`
	Point *Item          `yaml:"point"`
	Words []string       `yaml:"words"`
	Bare  *struct{}      `yaml:"bare"`
	Item  `yaml:",inline"`
}

// even reads itself.
type even int

func (e *even) UnmarshalYAML(read func(any) error) error {
	var v any
	if err := read(&v); err != nil {
		return err
	}
	switch n := v.(type) {
	case map[string]any:
		return errors.New("it is an object")
	case uint64:
		if *e = even(n); n%2 == 0 {
			return nil
		}
	}
	return yamlfile.Wants("an even number")
}

type Item struct {
	On    bool    `yaml:"on"`
	Share float64 `yaml:"share"`
}

func TestRead(t *testing.T) {
	var v form
	f, err := yamlfile.Read(
		"f.yaml",
		[]byte(
			"name: x\nevery: 2s\nitems:\n  - {on: true, share: 1}\nany: {a: [1]}\nby: {b: 2}\neven: [2]\npoint:\nshare: 2\n",
		),
		&v,
	)
	require.NoError(t, err)
	require.Equal(
		t,
		form{
			"x",
			2 * time.Second,
			[]Item{{true, 1}},
			map[string]any{"a": []any{uint64(1)}},
			map[string]int{"b": 2},
			0,
			[]even{2},
			&Item{},
			nil,
			nil,
			Item{Share: 2},
		},
		v,
	)
	require.Equal(t, "f.yaml", f.Name())
	require.True(t, f.Has("items[0].share"))
	require.False(t, f.Has("items[1]"))
	require.Equal(t, "5:11", f.At("any.a[0]"))
	require.EqualError(t, f.Errorf("by.b", "is %d", 2), "f.yaml:6:9: is 2")
	require.EqualError(t, f.ErrorInf("name", 3, "here"), "f.yaml:1:10: here")
}

// Numbers are numbers in every form that YAML has for them, and texts of the same form are texts.
func TestReadNumbers(t *testing.T) {
	var v form
	_, err := yamlfile.Read("f.yaml", []byte(
		"any: [1e-7, -1E+3, 100000000000000000000, 18446744073709551615, 1.5, '1e-7', \"012\", {a:[1], http://x: 'a\tb'}]\n"+
			"name: |\n  1e5\nwords:\n  - >- # why\n    a\tb\nshare: 1e-3\nevery: 2s\t# a comment\n"), &v)
	require.NoError(t, err)
	require.Equal(t, []any{1e-7, -1e3, json.Number("100000000000000000000"), uint64(math.MaxUint64), 1.5, "1e-7", "012",
		map[string]any{"a": []any{uint64(1)}, "http://x": "a\tb"}}, v.Any)
	require.Equal(t, "1e5\n", v.Name)
	require.Equal(t, []string{"a\tb"}, v.Words)
	require.Equal(t, 1e-3, v.Share)
}

// A mark of UTF-8, as some editors write it, is no part of the file.
func TestReadMarked(t *testing.T) {
	var v form
	f, err := yamlfile.Read("f.yaml", []byte("\ufeffname: x\n"), &v)
	require.NoError(t, err)
	require.Equal(t, form{Name: "x"}, v)
	require.Equal(t, "1:7", f.At("name"))
}

func TestReadRefuses(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"unknown key":     {"nome: x", `f.yaml:1:1: unknown key "nome"; did you mean "name"?`},
		"unlike any":      {"zzzzzzzz: x", `f.yaml:1:1: unknown key "zzzzzzzz"; there are any, bare, by, even, every, items, name, on, point, share, small, words`},
		"unknown inside":  {"items:\n  - onn: true", `f.yaml:2:5: unknown key "onn"; did you mean "on"?`},
		"text":            {"name: 1", "f.yaml:1:7: name wants a text (put it in quotes), not 1"},
		"duration":        {"every: soon", "f.yaml:1:8: every wants a duration such as 500ms or 2s, not soon"},
		"list":            {"items: 1", "f.yaml:1:8: items wants a list, not 1"},
		"word for list":   {"words: a", "f.yaml:1:8: words wants a list, not a; write [a]"},
		"word for struct": {"point: a", "f.yaml:1:8: point wants keys and values, not a; its keys are on, share"},
		"long for list":   {"words: " + strings.Repeat("a", 100), "f.yaml:1:8: words wants a list, not " + strings.Repeat("a", 60) + "…"},
		"word for no key": {"bare: true", "f.yaml:1:7: bare wants keys and values, not true; it has no keys, so leave the value out"},
		"long":            {"items: " + strings.Repeat("é", 100), "f.yaml:1:8: items wants a list, not " + strings.Repeat("é", 60) + "…"},
		"tab":             {"by:\n\ta: 1", "f.yaml:2:1: a tab cannot indent a line; write spaces"},
		"bool":            {"items: [{on: 1}]", "f.yaml:1:14: on wants true or false, not 1"},
		"number":          {"by: {a: x}", "f.yaml:1:9: a wants a whole number, not x"},
		"struct":          {"items: [1]", "f.yaml:1:9: items[0] wants keys and values, not 1"},
		"twice":           {"name: a\nname: b", "f.yaml:2:1: "},
		"anchor":          {"name: &a x\nany: *a", "f.yaml:1:7: anchors, aliases and tags are not supported; write out what they stand for"},
		"tag":             {"name: !!str 5", "f.yaml:1:7: anchors, aliases and tags"},
		"merge":           {"any: {<<: {a: b}}", "f.yaml:1:7: anchors, aliases and tags"},
		"small number":    {"small: 3000000000", "f.yaml:1:8: small wants a whole number, not 3000000000"},
		"self":            {"even: [2, 3]", "f.yaml:1:11: even[1] wants an even number, not 3"},
		"self, nothing":   {"even: [null]", "f.yaml:1:8: even[0] wants an even number, not nothing"},
		"self, failing":   {"even: [{}]", "f.yaml:1:8: even[0]: "},
		"inline":          {"onn: true", `f.yaml:1:1: unknown key "onn"; did you mean "on"?`},
		"pointer":         {"point: {onn: true}", `f.yaml:1:9: unknown key "onn"; did you mean "on"?`},
		"second document": {"name: a\n---\nname: b", "f.yaml:3:1: a second document; a file is one"},
		"no YAML":         {"name: [", "f.yaml:1:"},
		"no UTF-8":        {"name: é\nany: é\xe9", "f.yaml:2:7: from here on it is not UTF-8; save the file in UTF-8"},
		"UTF-16":          {"\xff\xfen\x00", "f.yaml:1:1: from here on it is not UTF-8"},
		"control":         {"name: x\x00y", `f.yaml:1:8: the control character U+0000, which YAML does not allow; in double quotes it is written \x00`},
		"marked":          {"\ufeffnome: x", "f.yaml:1:1: unknown key"},
		"joined":          {"any: {user:lang: de}", "f.yaml:1:11: a colon without a space after it"},
		"joined, number":  {"any: {a:1}", "f.yaml:1:8: a colon without a space after it"},
		"two colons":      {"any: {f: g: h}", "f.yaml:1:10: a second colon; put the text in quotes"},
		"tab in a text":   {"name: x\ny: say a\tb", `f.yaml:2:4: a tab in a text; put the text in double quotes, and write the tab as \t`},
		"tab in a number": {"by: {a: 1\t2}", "f.yaml:1:9: a tab in a text"},
		"tab in quotes":   {"any: [\"a\tb\", c]", "f.yaml:1:7: a tab in a text"},
		"zero first":      {"by: {a: 012}", "f.yaml:1:9: 012 begins with 0, which not all take for the same number"},
		"zero first, 8":   {"any: 08", "f.yaml:1:6: 08 begins with 0"},
		"too large":       {"any: 1e400", "f.yaml:1:6: the number 1e400 is too large"},
		"number as text":  {"name: 1e-7", "f.yaml:1:7: name wants a text (put it in quotes), not 1e-7"},
		"deep":            {"any: " + strings.Repeat("[", 200), "f.yaml:1:106: more than 100 values inside of one another"},
	} {
		t.Run(name, func(t *testing.T) {
			var v form
			_, err := yamlfile.Read("f.yaml", []byte(c.file), &v)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestGuess(t *testing.T) {
	words := []string{"plugins", "store", "on_error", "app"}
	for word, want := range map[string]string{"plugin": "plugins", "Store": "store", "on-error": "on_error", "stroe": "store"} {
		require.Equal(t, `; did you mean "`+want+`"?`, yamlfile.Guess(word, words))
		require.Equal(t, yamlfile.Guess(word, words), yamlfile.Meant(word, words))
	}
	require.Empty(t, yamlfile.Guess("xyz", words))
	require.Equal(t, "; there are app, on_error, plugins, store", yamlfile.Meant("xyz", words))
	require.Equal(t, "; there are none", yamlfile.Meant("xyz", nil))
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("items: [{on: true}]"))
	f.Add([]byte("? - - -"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		if len(data) < 1<<12 {
			var v form
			_, _ = yamlfile.Read("f", data, &v)
		}
	})
}

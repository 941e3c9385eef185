package yamlfile_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/yamlfile"
)

type form struct {
	Name  string         `yaml:"name"`
	Every time.Duration  `yaml:"every"`
	Items []item         `yaml:"items"`
	Any   any            `yaml:"any"`
	By    map[string]int `yaml:"by"`
}

type item struct {
	On    bool    `yaml:"on"`
	Share float64 `yaml:"share"`
}

func TestRead(t *testing.T) {
	var v form
	f, err := yamlfile.Read("f.yaml", []byte("name: x\nevery: 2s\nitems:\n  - {on: true, share: 1}\nany: {a: [1]}\nby: {b: 2}\n"), &v)
	require.NoError(t, err)
	require.Equal(t, form{"x", 2 * time.Second, []item{{true, 1}}, map[string]any{"a": []any{uint64(1)}}, map[string]int{"b": 2}}, v)
	require.True(t, f.Has("items[0].share"))
	require.False(t, f.Has("items[1]"))
	require.Equal(t, "5:11", f.At("any.a[0]"))
	require.EqualError(t, f.Errorf("by.b", "is %d", 2), "f.yaml:6:9: is 2")
	require.EqualError(t, f.ErrorInf("name", 3, "here"), "f.yaml:1:10: here")
}

func TestReadRefuses(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"unknown key":     {"nome: x", `f.yaml:1:1: unknown key "nome"; did you mean "name"?`},
		"unlike any":      {"zzzzzzzz: x", `f.yaml:1:1: unknown key "zzzzzzzz"; there are any, by, every, items, name`},
		"unknown inside":  {"items:\n  - onn: true", `f.yaml:2:5: unknown key "onn"; did you mean "on"?`},
		"text":            {"name: 1", "f.yaml:1:7: name wants a text (put it in quotes), not 1"},
		"duration":        {"every: soon", "f.yaml:1:8: every wants a duration such as 500ms or 2s, not soon"},
		"list":            {"items: 1", "f.yaml:1:8: items wants a list, not 1"},
		"bool":            {"items: [{on: 1}]", "f.yaml:1:14: on wants true or false, not 1"},
		"number":          {"by: {a: x}", "f.yaml:1:9: a wants a whole number, not x"},
		"struct":          {"items: [1]", "f.yaml:1:9: items[0] wants keys and values, not 1"},
		"twice":           {"name: a\nname: b", "f.yaml:2:1: "},
		"alias":           {"name: &a x\nany: *a", "f.yaml:2:6: aliases are not supported; write out what they stand for"},
		"second document": {"name: a\n---\nname: b", "f.yaml:3:1: a second document; a file is one"},
		"no YAML":         {"name: [", "f.yaml:1:"},
		"deep":            {"any: " + strings.Repeat("[", 200), "f.yaml:1:106: more than 100 values inside of one another"},
	} {
		t.Run(name, func(t *testing.T) {
			var v form
			_, err := yamlfile.Read("f.yaml", []byte(c.file), &v)
			require.ErrorContains(t, err, c.want)
		})
	}
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

package policy

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/plughook/plughook/plugins/guardrail/policy/internal/form"
	"github.com/plughook/plughook/yamlfile"
)

// maxIncludes is how many files a policy may include.
const maxIncludes = 100

// A part is a file of a policy: the policy's own, or one that it includes.
type part struct {
	*yamlfile.File
	form form.File
	data []byte
}

// parts reads a policy's file, and those that it includes. Their names count from the directory of the
// policy's file.
func parts(name string, data []byte) ([]part, error) {
	own, err := readPart(name, data)
	if err != nil {
		return nil, err
	}
	all := []part{own}
	if len(own.form.Include) > maxIncludes {
		return nil, own.Errorf("include", "%d files; a policy includes at most %d", len(own.form.Include), maxIncludes)
	}
	for i, file := range own.form.Include {
		at := fmt.Sprintf("include[%d]", i)
		switch {
		case strings.Contains(name, "://"):
			return nil, own.Errorf(at, "a policy that is loaded from an address includes no files; put everything into one")
		case strings.Contains(file, "://"):
			return nil, own.Errorf(at, "a policy includes files, and nothing from an address: store %s beside this file", file)
		case file == "" || filepath.IsAbs(file):
			return nil, own.Errorf(at, "%q must be the path of a file, from the directory of this one", file)
		}
		file = filepath.Join(filepath.Dir(name), file)
		if slices.ContainsFunc(all, func(p part) bool { return p.Name() == file }) {
			return nil, own.Errorf(at, "%s is already a part of this policy", file)
		}
		data, err := content(file, "a policy", maxFile)
		if err != nil {
			return nil, own.Errorf(at, "%w", err)
		}
		included, err := readPart(file, data)
		if err != nil {
			return nil, err
		}
		all = append(all, included)
	}
	return all, nil
}

func readPart(name string, data []byte) (part, error) {
	p := part{form: form.File{Version: 1}, data: data}
	file, err := yamlfile.Read(name, data, &p.form)
	p.File = file
	return p, err
}

// ofTheWhole are the keys that only the policy's own file has: they are about all of it.
var ofTheWhole = []string{"include", "release", "mode", "on_error", "limits", "judges", "tenant_key"}

// readLists reads the named lists of the policy and of the files that it includes. It returns the content of
// the files that have the texts of lists.
func (r *reader) readLists(all []part) (contents [][]byte) {
	for i := range all {
		p := &all[i]
		r.File = p.File
		for _, key := range ofTheWhole {
			if i > 0 && p.Has(key) {
				r.bad(key, "an included file has no %s: it is about the whole policy, so it stands in %s", key, all[0].Name())
			}
		}
		for _, name := range slices.Sorted(maps.Keys(p.form.Lists)) {
			at := "lists." + name
			list, data := r.readList(at, p.form.Lists[name])
			if data != nil {
				contents = append(contents, data)
			}
			switch {
			case r.lists[name] != nil:
				r.bad(at, "there is another list %q in this policy", name)
			case len(list) == 0:
				r.bad(at, "the list is empty, so what refers to it would find nothing")
			}
			for _, l := range list {
				if l.text == "" || l.text[0] == '@' && data == nil {
					r.badText(l, "a list has texts that are not empty, and refers to no other list")
				}
			}
			r.lists[name] = list
		}
	}
	return contents
}

// readList reads a list: texts, or a file with one in each line, and lines that begin with #, which say nothing.
// The name of a file counts from the directory of the policy's file.
func (r *reader) readList(at string, value any) (list []listed, data []byte) {
	switch v := value.(type) {
	case []any:
		for i, item := range v {
			place := fmt.Sprintf("%s[%d]", at, i)
			text, ok := item.(string)
			if !ok {
				r.bad(place, "this must be a string; put it in quotes")
				text = "?"
			}
			list = append(list, listed{text: text, at: r.Name() + ":" + r.At(place)})
		}
		return list, nil
	case map[string]any:
		name, ok := v["file"].(string)
		switch {
		case !ok || len(v) > 1 || name == "" || filepath.IsAbs(name) || strings.Contains(name, "://"):
			r.bad(at, "write {file: PATH}, a path from the directory of the policy, or a list of texts")
			return []listed{{text: "?"}}, nil
		case strings.Contains(r.policy.name, "://"):
			r.bad(at, "a policy that is loaded from an address reads no files; write the texts into it")
			return []listed{{text: "?"}}, nil
		}
		name = filepath.Join(filepath.Dir(r.policy.name), name)
		data, err := content(name, "a list", maxFile)
		if err == nil && !utf8.Valid(data) {
			err = fmt.Errorf("%s is not UTF-8; store it as that", name)
		}
		if err != nil {
			r.bad(at, "%w", err)
			return []listed{{text: "?"}}, nil
		}
		r.policy.files = append(r.policy.files, name)
		for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
			list = append(list, listed{text: strings.TrimSpace(line), at: fmt.Sprintf("%s:%d:1", name, len(list)+1)})
		}
		nothing := func(l listed) bool { return l.text == "" || l.text[0] == '#' }
		return slices.DeleteFunc(list, nothing), data
	}
	r.bad(at, "this must be a list of texts, or {file: PATH}")
	return []listed{{text: "?"}}, nil
}

// expand puts the texts of lists in the place of references to them: @name. A text that begins with @ is
// written with @@.
func (r *reader) expand(at string, texts []string) []string {
	refers := func(text string) bool { return strings.HasPrefix(text, "@") }
	if !slices.ContainsFunc(texts, refers) {
		return texts
	}
	var all []string
	for _, l := range r.located(at, texts) {
		all = append(all, l.text)
	}
	return all
}

// located is expand, and says where each text stands.
func (r *reader) located(at string, texts []string) (all []listed) {
	for i, text := range texts {
		place := fmt.Sprintf("%s[%d]", at, i)
		name, isReference := strings.CutPrefix(text, "@")
		literal := strings.HasPrefix(name, "@")
		list := r.lists[name]
		switch {
		case literal || !isReference:
			all = append(all, listed{text: name, at: r.Name() + ":" + r.At(place)})
		case list == nil: // its name stands in its place, so that nothing else is said to be wrong
			all = append(all, listed{text: name, at: r.Name() + ":" + r.At(place)})
			r.bad(place, "no list has the name %q%s (a text that begins with @ is written with @@)",
				name, yamlfile.Meant(name, slices.Collect(maps.Keys(r.lists))))
		default:
			all = append(all, list...)
		}
	}
	return all
}

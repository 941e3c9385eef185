package policy

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

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

// readLists reads the named lists of the policy and of the files that it includes.
func (r *reader) readLists(all []part) {
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
			list := p.form.Lists[name]
			switch {
			case r.lists[name] != nil:
				r.bad(at, "there is another list %q in this policy", name)
			case len(list) == 0:
				r.bad(at, "the list is empty, so what refers to it would find nothing")
			case slices.ContainsFunc(list, func(text string) bool { return text == "" || text[0] == '@' }):
				r.bad(at, "a list has texts that are not empty, and refers to no other list")
			}
			r.lists[name] = list
		}
	}
}

// expand puts the texts of lists in the place of references to them: @name. A text that begins with @ is
// written with @@.
func (r *reader) expand(at string, texts []string) []string {
	refers := func(text string) bool { return strings.HasPrefix(text, "@") }
	if !slices.ContainsFunc(texts, refers) {
		return texts
	}
	var all []string
	for i, text := range texts {
		name, isReference := strings.CutPrefix(text, "@")
		literal := strings.HasPrefix(name, "@")
		list := r.lists[name]
		switch {
		case literal:
			all = append(all, name)
		case !isReference:
			all = append(all, text)
		case list == nil:
			all = append(all, name) // in place of the list, so that nothing else is said to be wrong
			r.bad(fmt.Sprintf("%s[%d]", at, i), "no list has the name %q%s (a text that begins with @ is written with @@)",
				name, yamlfile.Meant(name, slices.Collect(maps.Keys(r.lists))))
		default:
			all = append(all, list...)
		}
	}
	return all
}

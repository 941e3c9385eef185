package lockfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Mismatch says how the configuration and the lockfile do not fit together.
type Mismatch struct {
	Key  string // of the plugin's configuration that it is about: sha256, files or "" for the plugin
	Text string
}

func (m *Mismatch) Error() string { return m.Text }

// Apply returns the digests that a plugin must have: those of the lockfile, or without a lockfile those that the
// configuration gives. given has "" for files without a digest. pinned says whether the program has a digest. An error
// is a *Mismatch.
func (f *File) Apply(plugin string, given Pins) (_ Pins, pinned bool, err error) {
	command := Command(f.config, plugin)
	bad := func(key, format string, args ...any) (Pins, bool, error) {
		return Pins{}, false, &Mismatch{Key: key, Text: fmt.Sprintf(format, args...)}
	}
	files := maps.Clone(given.Files)

	// Without a lockfile, either all files have a digest or the program has none.
	if !f.exists {
		for name, sum := range files {
			if sum == "" && given.SHA256 != "" {
				return bad("files", "plugin %s is pinned, and the file %s is not: give it a digest (%s: DIGEST), "+
					"or pin both with: %s", plugin, name, name, command)
			}
		}
		maps.DeleteFunc(files, func(_, sum string) bool { return sum == "" })
		return Pins{SHA256: given.SHA256, Files: files}, given.SHA256 != "", nil
	}

	// With one, it has the plugin, its program and its files, and no others.
	kept, ok := f.Plugins[plugin]
	if !ok {
		return bad("", "plugin %s is not in %s; if it is meant to run, pin it with: %s", plugin, f.name, command)
	}
	if given.SHA256 != "" && !strings.EqualFold(given.SHA256, kept.SHA256) {
		return bad("sha256", "plugin %s: sha256 is %s here and %s in %s; take this one out, or change it and run: %s",
			plugin, given.SHA256, kept.SHA256, f.name, command)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		here, there := files[name], kept.Files[name]
		switch {
		case there == "" && here == "":
			return bad("files", "the file %s of plugin %s is not in %s; if it is part of the plugin, pin it with: %s",
				name, plugin, f.name, command)
		case there != "" && here != "" && !strings.EqualFold(here, there):
			return bad("files", "the digest of %s of plugin %s is %s here and %s in %s; take this one out, or change it "+
				"and run: %s", name, plugin, here, there, f.name, command)
		case here == "":
			files[name] = there
		}
	}
	for _, name := range slices.Sorted(maps.Keys(kept.Files)) {
		if _, ok := files[name]; !ok {
			return bad("", "%s has the file %s for plugin %s, and the configuration has not; if that is right: %s",
				f.name, name, plugin, command)
		}
	}
	return Pins{SHA256: kept.SHA256, Files: files}, true, nil
}

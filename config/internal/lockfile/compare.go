package lockfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Lock is the lockfile of a configuration as it should be: the digests of the plugins that are processes, computed
// from the disk, and how the file that is there differs.
type Lock struct {
	Name    string // of the lockfile
	Exists  bool   // it is there by now
	Plugins []Plugin
	// Warnings name files that are probably part of a plugin, and are not pinned.
	Warnings []string

	now *File
}

// A Plugin is what becomes of a plugin in a lockfile.
type Plugin struct {
	Name    string   `json:"name"`
	State   string   `json:"state"`           // same, new, changed or gone
	SHA256  string   `json:"sha256,omitzero"` // of the program; "" of one that is gone
	Files   int      `json:"files"`           // how many others are pinned
	Changes []string `json:"changes,omitzero"`
}

// Compare returns the lockfile with these plugins as they are now on the disk. Without others, plugins that now does
// not have are left out; with others, they stay as they were.
func (f *File) Compare(now map[string]Pins, others bool) *Lock {
	next := &File{Version: version, Plugins: map[string]Pins{}, name: f.name, config: f.config}
	if others {
		maps.Copy(next.Plugins, f.Plugins)
	}
	maps.Copy(next.Plugins, now)

	lock := &Lock{Name: f.name, Exists: f.exists, now: next}
	all := maps.Clone(f.Plugins)
	maps.Copy(all, next.Plugins)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		was, had := f.Plugins[name]
		is, has := next.Plugins[name]
		p := Plugin{Name: name, State: "same", SHA256: is.SHA256, Files: len(is.Files)}
		switch {
		case !has:
			p.State = "gone"
		case !had:
			p.State = "new"
		default:
			p.Changes = Differences(was, is)
			if len(p.Changes) > 0 {
				p.State = "changed"
			}
		}
		lock.Plugins = append(lock.Plugins, p)
	}
	return lock
}

// Changed reports whether the lockfile on the disk differs, or does not exist.
func (l *Lock) Changed() bool {
	return !l.Exists || slices.ContainsFunc(l.Plugins, func(p Plugin) bool { return p.State != "same" })
}

// Empty reports whether no plugin has a command, so that there is nothing to pin.
func (l *Lock) Empty() bool { return len(l.now.Plugins) == 0 }

// Write writes the lockfile: all of it or nothing.
func (l *Lock) Write() error { return l.now.write() }

// Differences says how the digests that there are now differ from those that were, "" being none.
func Differences(was, now Pins) []string {
	var list []string
	differ := func(what, was, now string) {
		switch {
		case strings.EqualFold(was, now):
		case was == "":
			list = append(list, fmt.Sprintf("%s is %s and was not pinned", what, now))
		case now == "":
			list = append(list, fmt.Sprintf("%s is pinned as %s and is no part of the plugin any more", what, was))
		default:
			list = append(list, fmt.Sprintf("the SHA-256 of %s is %s, and %s is pinned", what, now, was))
		}
	}
	differ("the program", was.SHA256, now.SHA256)
	files := map[string]string{}
	maps.Copy(files, was.Files)
	maps.Copy(files, now.Files)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		differ(name, was.Files[name], now.Files[name])
	}
	return list
}

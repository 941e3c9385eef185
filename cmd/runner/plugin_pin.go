package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/plughook/plughook/plugin/remote"
	"github.com/plughook/plughook/yamlfile"
)

// pin returns the configuration of the plugin at an index with the digests of the lockfile. Without a
// lockfile, pinned says whether the configuration has them.
func (c *config) pin(i int, r remote.Config, l *lockfile) (_ remote.Config, pinned bool, err error) {
	path, mine := pluginPath(i), lockedOf(r)
	bad := func(path, format string, args ...any) (remote.Config, bool, error) {
		return r, false, exitUsage.as(c.source.Errorf(path, format, args...))
	}
	if !l.there {
		for name, sum := range mine.Files {
			if sum == "" && r.SHA256 != "" {
				return bad(path+".files", "plugin %s is pinned, and the file %s is not: give it a digest (%s: DIGEST), or pin both with: %s", r.Name, name, name, c.lockCommand(r.Name))
			}
			if sum == "" {
				delete(mine.Files, name)
			}
		}
		r.Files = mine.Files
		return r, r.SHA256 != "", nil
	}
	theirs, ok := l.Plugins[r.Name]
	if !ok {
		return bad(path, "plugin %s is not in %s; if it is meant to run: %s", r.Name, l.name, c.lockCommand(r.Name))
	}
	if r.SHA256 != "" && !strings.EqualFold(r.SHA256, theirs.SHA256) {
		return bad(path+".sha256", "plugin %s: sha256 is %s here and %s in %s; take this one out, or change it and say: %s", r.Name, r.SHA256, theirs.SHA256, l.name, c.lockCommand(r.Name))
	}
	for _, name := range slices.Sorted(maps.Keys(mine.Files)) {
		given, kept := mine.Files[name], theirs.Files[name]
		switch {
		case kept == "" && given == "":
			return bad(path+".files", "the file %s of plugin %s is not in %s; if it is meant to be part of the plugin: %s", name, r.Name, l.name, c.lockCommand(r.Name))
		case kept != "" && given != "" && !strings.EqualFold(given, kept):
			return bad(path+".files", "the digest of %s of plugin %s is %s here and %s in %s; take this one out, or change it and say: %s", name, r.Name, given, kept, l.name, c.lockCommand(r.Name))
		case given == "":
			mine.Files[name] = kept
		}
	}
	for _, name := range slices.Sorted(maps.Keys(theirs.Files)) {
		if _, ok := mine.Files[name]; !ok {
			return bad(path, "%s has the file %s for plugin %s, and the configuration has not; if that is meant: %s", l.name, name, r.Name, c.lockCommand(r.Name))
		}
	}
	r.SHA256, r.Files = theirs.SHA256, mine.Files
	return r, true, nil
}

func lockedOf(r remote.Config) locked { return locked{r.SHA256, maps.Clone(r.Files)} }

// differences says how what there is now differs from what was, "" being none.
func differences(was, now locked) []string {
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
	files := maps.Clone(was.Files)
	if files == nil {
		files = map[string]string{}
	}
	maps.Copy(files, now.Files)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		differ(name, was.Files[name], now.Files[name])
	}
	return list
}

// pinned returns a lockfile with the named plugins as they are on the disk, all of them if none is named,
// and the others as they were.
func (c *config) pinned(names []string, old *lockfile) (*lockfile, error) {
	now := &lockfile{Version: lockVersion, Plugins: map[string]locked{}, name: old.name}
	if len(names) > 0 {
		maps.Copy(now.Plugins, old.Plugins)
	}
	var all []string
	var errs []error
	for i := range c.Plugins {
		if !c.Plugins[i].process() || c.Plugins[i].attached() {
			continue
		}
		name := c.Plugins[i].Name
		if all = append(all, name); len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		r, err := c.process(i, nil)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		disk, err := remote.Pin(r)
		if err != nil {
			errs = append(errs, exitUsage.as(c.placed(i, err)))
			continue
		}
		for _, d := range contradictions(r, disk) {
			errs = append(errs, exitUsage.as(c.source.Errorf(pluginPath(i), "plugin %s: %s in the configuration; take the digest out there, or change it", name, d)))
		}
		now.Plugins[name] = lockedOf(disk)
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			errs = append(errs, exitUsage.errorf("no plugin with a command is named %q%s", name, yamlfile.Guess(name, all)))
		}
	}
	return now, errors.Join(errs...)
}

// contradictions says which digests of the configuration are not those on the disk.
func contradictions(r, disk remote.Config) []string {
	now := lockedOf(disk)
	if r.SHA256 == "" {
		now.SHA256 = ""
	}
	maps.DeleteFunc(now.Files, func(name, _ string) bool { return r.Files[name] == "" })
	return differences(lockedOf(r), now)
}

// looseFiles returns the arguments of a plugin's command that are files and not among its files: a script
// whose interpreter is pinned, and nothing else, say.
func (c *config) looseFiles(p *pluginConfig) []string {
	var list []string
	for i, arg := range p.Command {
		info, err := os.Stat(c.path(arg))
		if i > 0 && err == nil && info.Mode().IsRegular() && !slices.ContainsFunc(p.Files, func(f pluginFile) bool { return c.path(f.path) == c.path(arg) }) {
			list = append(list, arg)
		}
	}
	return list
}

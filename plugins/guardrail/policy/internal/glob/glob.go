// Package glob matches names, such as those of users, branches and tools, with patterns.
//
// A new sign in patterns belongs into Match, and nowhere else.
package glob

import (
	"path"
	"slices"
	"strings"
)

// A List is patterns of names. The zero List matches every name.
type List struct {
	include []string // a name matches one of these, if there are any
	exclude []string // and none of these
}

// Add adds a pattern: * stands for any text, ? for any character, [a-z] for one of these. One that
// begins with ! excludes. It reports whether the pattern is one.
func (l *List) Add(pattern string) bool {
	name, excludes := strings.CutPrefix(pattern, "!")
	if excludes {
		l.exclude = append(l.exclude, name)
	} else {
		l.include = append(l.include, name)
	}
	return name != "" && Valid(name)
}

// Empty reports whether the list has no patterns.
func (l List) Empty() bool { return len(l.include)+len(l.exclude) == 0 }

// Match reports whether a name matches the list.
func (l List) Match(name string) bool {
	for _, pattern := range l.exclude {
		if Match(pattern, name) {
			return false
		}
	}
	for _, pattern := range l.include {
		if Match(pattern, name) {
			return true
		}
	}
	return len(l.include) == 0
}

// Patterns returns the patterns without their !.
func (l List) Patterns() []string { return slices.Concat(l.include, l.exclude) }

// Included returns the patterns that do not exclude.
func (l List) Included() []string { return slices.Clone(l.include) }

// String returns the patterns as they are written, with commas between them.
func (l List) String() string {
	list := slices.Clone(l.include)
	for _, name := range l.exclude {
		list = append(list, "!"+name)
	}
	return strings.Join(list, ", ")
}

// Valid reports whether a pattern is well formed.
func Valid(pattern string) bool {
	_, err := path.Match(pattern, "")
	return err == nil
}

// Match is path.Match, but * matches slashes too, which ids of users and branches have.
func Match(pattern, name string) bool {
	if pattern == "*" || pattern == name {
		return true
	}
	slashless := strings.ReplaceAll(pattern, "/", "\x00")
	// a bad pattern was refused when it was read
	matches, _ := path.Match(slashless, strings.ReplaceAll(name, "/", "\x00"))
	return matches
}

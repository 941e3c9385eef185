package shell

import (
	"errors"
	"path"
	"strings"
)

// A Path is a pattern of files that a command line may read, or may write:
//
//	secrets/**    secrets and what is below it, in any directory
//	/etc/**       the same of one directory
//	*.pem         files whose name ends so
//	~/.ssh        .ssh in the home directory, or any other, and what is below it
//
// A star is any text, with slashes too. A path that does not begin with a slash may stand in any
// directory, since nobody knows where a command runs. What is below a path is of the pattern, too.
type Path struct {
	source   string
	writes   bool
	patterns []Pattern
	folded   []Pattern // the patterns in small letters
	fixed    string    // the pattern up to its first star
	anywhere bool      // it may stand in any directory
}

// CompilePath reads a pattern of files that are read, or written. It returns an error if the pattern is
// empty or holds a control character.
func CompilePath(source string, writes bool) (Path, error) {
	text := strings.TrimSpace(source)
	switch {
	case strings.Trim(text, "./*") == "":
		return Path{}, errors.New("the path has no name in it: write a directory or a file, as in reads(secrets/**)")
	case strings.ContainsAny(text, unknowns):
		return Path{}, errors.New("the path holds a control character: remove it")
	}
	p := Path{source: text, writes: writes, anywhere: !strings.HasPrefix(text, "/")}
	text = strings.TrimPrefix(text, "~/")
	for strings.HasPrefix(text, "./") || strings.HasPrefix(text, "**/") {
		_, text, _ = strings.Cut(text, "/")
	}
	text = strings.TrimRight(text, "/*") + strings.Repeat("*", endStars(text))
	p.fixed, _, _ = strings.Cut(text, "*")
	if strings.HasSuffix(p.fixed, "/") || p.fixed == text {
		p.fixed = strings.TrimSuffix(p.fixed, "/")
	} else {
		p.fixed = path.Dir(p.fixed)
	}
	for strings.Contains(text, "**") {
		text = strings.ReplaceAll(text, "**", "*")
	}
	heads := []string{""}
	if p.anywhere {
		heads = append(heads, "*/")
	}
	for _, head := range heads {
		for _, tail := range []string{"", "/*"} {
			words := strings.ReplaceAll(head+text+tail, "*", anything)
			p.patterns = append(p.patterns, ofWords(words))
			p.folded = append(p.folded, ofWords(strings.ToLower(words)))
		}
	}
	return p, nil
}

// ofWords returns the pattern of a text with anything for each star.
func ofWords(words string) Pattern {
	return Pattern{words: words, pieces: strings.Split(words, anything)}
}

// endStars is 1 if a pattern ends with a star that belongs to a name, as in key*, and not to a directory,
// as in secrets/*, else 0.
func endStars(text string) int {
	name := text[strings.LastIndex(text, "/")+1:]
	if strings.HasSuffix(name, "*") && strings.Trim(name, "*") != "" {
		return 1
	}
	return 0
}

// String returns the pattern as it was written, in brackets behind what it is about.
func (p Path) String() string {
	if p.writes {
		return "writes(" + p.source + ")"
	}
	return "reads(" + p.source + ")"
}

// match says whether a use of a file is of the pattern.
func (p Path) match(u use) certainty {
	surest := u.reads
	if p.writes {
		surest = u.writes
	}
	most := no
	if surest == no {
		return no
	}
	lower := strings.ToLower(u.path)
	for i, pattern := range p.patterns {
		// Some file systems do not tell small letters from capitals.
		most = max(most, pattern.compare(u.path), min(perhaps, p.folded[i].compare(lower)))
	}
	if most == no && u.deep && p.isBelow(u.path) {
		most = perhaps
	}
	if most == no && !p.anywhere && strings.HasPrefix(u.path, "../") { // it may lead up to the root
		up := u
		up.path = "/" + strings.TrimLeft(u.path, "./")
		most = min(perhaps, p.match(up))
	}
	return min(surest, most)
}

// isBelow says whether a file of the pattern may be below a directory.
func (p Path) isBelow(dir string) bool {
	if p.fixed == "" || p.fixed == "." || dir == "/" {
		return true
	}
	if p.anywhere && strings.Trim(dir, "./~"+unknowns) == "" {
		return true
	}
	for above := p.fixed; above != "." && above != "/"; above = path.Dir(above) {
		if dir == above || p.anywhere && strings.HasSuffix(dir, "/"+above) {
			return true
		}
	}
	return false
}

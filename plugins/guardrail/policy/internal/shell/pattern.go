package shell

import (
	"errors"
	"path"
	"slices"
	"strings"
)

// A Pattern matches commands, by the command and its arguments with one space between any two:
//
//	rm *          rm, however called, with any arguments or none
//	git push*     git push, git push origin, git push-x; options of git itself, such as -C dir, do not count
//	rm -rf /      exactly that
//	* /etc/*      anything with an argument, or rest of one, that begins with /etc/
//	> *.env       writing a file whose name ends in .env
//	/opt/t/run *  the program at that path
//
// A star is any text, also an empty one and with spaces; a star after a space, at the end, stands
// also for no argument at all; \* is a star. There is no other special character. A pattern without
// a slash in its first word is about the command's name: it matches /bin/rm as well as rm, and
// perhaps a command of that name in another directory, or in other letters (RM). Words are compared
// as the command gets them, without their quotes. Flags come in any order and combination, so name
// commands rather than flags in what you deny.
type Pattern struct {
	source string
	words  string   // with anything for a star
	pieces []string // between the stars
	path   bool     // the first word has a slash
}

// Compile reads a pattern. It returns an error if the pattern is empty or holds a control
// character.
func Compile(source string) (Pattern, error) {
	text := strings.TrimSpace(source)
	if text == "" {
		return Pattern{}, errors.New("the pattern is empty: write a command, as in rm *")
	}
	if strings.ContainsAny(text, unknowns) {
		return Pattern{}, errors.New("the pattern holds a control character: remove it")
	}
	words := strings.NewReplacer(`\*`, "*", `\\`, `\`, "*", anything).Replace(text)
	first, _, _ := strings.Cut(words, " ")
	return Pattern{
		source: text,
		words:  words,
		pieces: strings.Split(words, anything),
		path:   strings.Contains(first, "/"),
	}, nil
}

// String returns the pattern as it was written.
func (p Pattern) String() string { return p.source }

// A certainty says whether a pattern matches, or a file is used.
type certainty int

const (
	no      certainty = iota
	perhaps           // it depends on what is not known before the command runs
	yes
)

// systemDirs are where commands are expected.
var systemDirs = map[string]bool{
	"/bin/":              true,
	"/sbin/":             true,
	"/usr/bin/":          true,
	"/usr/sbin/":         true,
	"/usr/local/bin/":    true,
	"/usr/local/sbin/":   true,
	"/opt/homebrew/bin/": true,
}

// A spelling is a way to write a command, its words with a space between any two.
type spelling struct {
	text   string
	isPath bool      // the command is as it is written, for patterns that begin with a path; else it is without its directory
	surest certainty // what a match says at most
}

// spellingsOf returns the ways to write a command: its arguments as they are, with short paths, without
// git's own options.
func spellingsOf(c command) (all []spelling) {
	dir, name := path.Split(c.words[0])
	surest := yes
	if dir != "" && !systemDirs[dir] {
		surest = perhaps
	}
	lower := strings.ToLower(name)
	add := func(args []string) {
		behind := ""
		if len(args) > 0 {
			behind = " " + strings.Join(args, " ")
		}
		all = append(all,
			spelling{text: c.words[0] + behind, isPath: true, surest: yes},
			spelling{text: name + behind, surest: surest})
		if lower != name {
			all = append(all, spelling{text: lower + behind, surest: perhaps})
		}
	}

	args := c.words[1:]
	add(args)
	short := slices.Clone(args)
	for i, a := range args {
		if strings.Contains(a, "/") && !strings.HasPrefix(a, "-") && !strings.Contains(a, "://") {
			short[i] = clean(a)
		}
	}
	if !slices.Equal(short, args) {
		add(short)
	}
	if c.name == "git" {
		git := lookup("git")
		_, rest, problem := git.scan(args)
		if problem == "" && len(rest) < len(args) {
			add(rest)
		}
	}
	return all
}

// match says whether a spelling of a command is of the pattern.
func (p Pattern) match(s spelling) certainty {
	if s.isPath != p.path {
		return no
	}
	return min(s.surest, p.compare(s.text))
}

// compare says whether a text, with unknowns, is of the pattern.
func (p Pattern) compare(text string) certainty {
	if every(p.pieces, text) {
		return yes
	}
	last := len(p.pieces) - 1
	if last > 0 && p.pieces[last] == "" && strings.HasSuffix(p.pieces[last-1], " ") &&
		every(p.pieces[:last], text+" ") {
		return yes // the last star stands for no argument at all
	}
	if !strings.ContainsAny(text, unknowns) || !begins(p.words, text) {
		return no
	}
	if len(p.words)*len(text) > maxCompared || overlap(p.words, text) {
		return perhaps
	}
	return no
}

// maxCompared bounds the work on a pattern and a text with unknowns: beyond, it may match for all
// that is known.
const maxCompared = 1 << 17

// every says whether every reading of a text is of the pattern that has these pieces between its
// stars: unknowns are matched by its stars only.
func every(pieces []string, text string) bool {
	last := len(pieces) - 1
	if last == 0 {
		return pieces[0] == text
	}
	rest, ok := strings.CutPrefix(text, pieces[0])
	if !ok {
		return false
	}
	for _, piece := range pieces[1:last] {
		_, rest, ok = strings.Cut(rest, piece)
		if !ok {
			return false
		}
	}
	return strings.HasSuffix(rest, pieces[last])
}

// begins says whether the beginning of a text, as far as it is known, is the beginning of a
// pattern.
func begins(pattern, text string) bool {
	for i := 0; i < len(pattern) && i < len(text); i++ {
		if pattern[i] == anything[0] || text[i] < byte(len(unknowns)) {
			return true
		}
		if pattern[i] != text[i] {
			return false
		}
	}
	return true
}

// overlap says whether the pattern and the text have a reading in common. The work is in proportion
// to the product of their lengths.
func overlap(pattern, text string) bool {
	// Here row[j] says whether the pattern from i+1 on and the text from j on have one, and next[j]
	// from i on.
	row := make([]bool, len(text)+2)
	next := make([]bool, len(text)+2)
	for i := len(pattern); i >= 0; i-- {
		for j := len(text); j >= 0; j-- {
			next[j] = common(pattern, text, i, j, row, next)
		}
		row, next = next, row
	}
	return row[0]
}

func common(pattern, text string, i, j int, row, next []bool) bool {
	patternEnds := i == len(pattern)
	textEnds := j == len(text)
	switch {
	case patternEnds && textEnds:
		return true
	case !patternEnds && pattern[i] == anything[0]:
		return row[j] || !textEnds && next[j+1]
	case textEnds:
		return false
	}
	switch text[j : j+1] {
	case anything, oneWord:
		return next[j+1] || !patternEnds && row[j]
	case segment:
		return next[j+1] || !patternEnds && pattern[i] != '/' && !hidden(pattern, text, i, j) && row[j]
	case single:
		return !patternEnds && pattern[i] != '/' && row[j+1]
	}
	return !patternEnds && pattern[i] == text[j] && row[j+1]
}

// hidden says whether a star of the text would stand for the dot of a hidden file, which no shell
// lets it.
func hidden(pattern, text string, i, j int) bool {
	return pattern[i] == '.' && beginsName(pattern, i) && beginsName(text, j)
}

// beginsName says whether the name of a file begins at i.
func beginsName(s string, i int) bool {
	return i == 0 || s[i-1] == ' ' || s[i-1] == '/'
}

package shell

import (
	"errors"
	"path"
	"strings"
)

// An Answer says whether a pattern matches.
type Answer int

// The answers.
const (
	No      Answer = iota
	Perhaps        // it depends on what is not known before the command runs
	Yes
)

// A Pattern matches calls, by the command and its arguments with one space between any two:
//
//	rm *          rm, however called, with any arguments or none
//	git push*     git push, git push origin, git push-x; options of git itself, such as -C dir, do not count
//	rm -rf /      exactly that
//	* /etc/*      anything with an argument, or rest of one, that begins with /etc/
//	> *.env       writing a file whose name ends in .env
//	/opt/t/run *  the program at that path
//
// A star is any text, also an empty one and with spaces; a star after a space, at the end, stands also for no argument
// at all; \* is a star. There is no other special character. A pattern without a slash in its first word is about the
// command's name: it matches /bin/rm as well as rm, and perhaps what has that name in a place of its own, or in other
// letters (RM). Words are compared as the command gets them, without their quotes. Flags come in any order and
// combination, so name commands rather than flags in what you deny.
type Pattern struct {
	source string
	words  string // with anything for a star
	path   bool
}

// Compile reads a pattern.
func Compile(source string) (Pattern, error) {
	text := strings.TrimSpace(source)
	if text == "" {
		return Pattern{}, errors.New("the pattern is empty: write a command, as in rm *")
	}
	if strings.ContainsAny(text, unknowns) {
		return Pattern{}, errors.New("the pattern holds a control character: remove it")
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && (text[i+1] == '*' || text[i+1] == '\\'):
			i++
			b.WriteByte(text[i])
		case text[i] == '*':
			b.WriteString(anything)
		default:
			b.WriteByte(text[i])
		}
	}
	words := b.String()
	first, _, _ := strings.Cut(words, " ")
	return Pattern{source: text, words: words, path: strings.Contains(first, "/")}, nil
}

func (p Pattern) String() string { return p.source }

// systemDirs are where commands are expected.
var systemDirs = map[string]bool{"/bin/": true, "/sbin/": true, "/usr/bin/": true, "/usr/sbin/": true, "/usr/local/bin/": true, "/usr/local/sbin/": true, "/opt/homebrew/bin/": true}

// Match says whether a call is of the pattern.
func (p Pattern) Match(c Call) Answer {
	name := c.path
	sure := Yes
	if !p.path {
		dir, base := path.Split(c.path)
		name = base
		if dir != "" && !systemDirs[dir] {
			sure = Perhaps
		}
	}
	best := No
	for _, words := range variants(name, c) {
		best = max(best, min(sure, p.match(strings.Join(words, " "))))
		if lower := strings.ToLower(words[0]); lower != words[0] && !p.path {
			best = max(best, min(Perhaps, p.match(strings.Join(append([]string{lower}, words[1:]...), " "))))
		}
	}
	return best
}

// variants are the ways to write a call: as it is, paths in short, without git's own options.
func variants(name string, c Call) [][]string {
	words := append([]string{name}, c.words[1:]...)
	all := [][]string{words}
	short := append([]string{name}, c.words[1:]...)
	differs := false
	for i, w := range short[1:] {
		if strings.Contains(w, "/") && !strings.HasPrefix(w, "-") && !strings.Contains(w, "://") && clean(w) != w {
			short[i+1], differs = clean(w), true
		}
	}
	if differs {
		all = append(all, short)
	}
	if c.Name == "git" {
		rest := gitCommand(words[1:])
		if len(rest) < len(words)-1 {
			all = append(all, append([]string{name}, rest...))
		}
	}
	return all
}

func (p Pattern) match(text string) Answer {
	if bare, ok := strings.CutSuffix(p.words, " "+anything); ok {
		if a := match(bare, text); a == Yes {
			return a
		}
	}
	return match(p.words, text)
}

// match says whether a pattern, in which anything is any text, matches a text with unknowns.
func match(pattern, text string) Answer {
	if every(pattern, text) {
		return Yes
	}
	if !strings.ContainsAny(text, unknowns) || !begins(pattern, text) {
		return No
	}
	if len(pattern)*len(text) > maxCompared || overlap(pattern, text) {
		return Perhaps
	}
	return No
}

// maxCompared bounds the work on a pattern and a text with unknowns: beyond, it may match for all that is known.
const maxCompared = 1 << 17

// every says whether every reading of a text is one of the pattern's: unknowns are matched by its stars only.
func every(pattern, text string) bool {
	pieces := strings.Split(pattern, anything)
	last := len(pieces) - 1
	if last == 0 {
		return pattern == text
	}
	rest, ok := strings.CutPrefix(text, pieces[0])
	for _, piece := range pieces[1:last] {
		_, after, found := strings.Cut(rest, piece)
		rest, ok = after, ok && found
	}
	return ok && strings.HasSuffix(rest, pieces[last])
}

// begins says whether what is known at the beginning of a text is not against a pattern.
func begins(pattern, text string) bool {
	for i := 0; i < len(pattern) && i < len(text); i++ {
		if strings.IndexByte(unknowns, pattern[i]) >= 0 || strings.IndexByte(unknowns, text[i]) >= 0 {
			return true
		}
		if pattern[i] != text[i] {
			return false
		}
	}
	return true
}

// overlap says whether the pattern and the text have a reading in common.
func overlap(pattern, text string) bool {
	row := make([]bool, len(text)+1) // row[j]: the pattern from i on, and the text from j on
	next := make([]bool, len(text)+1)
	for i := len(pattern); i >= 0; i-- {
		for j := len(text); j >= 0; j-- {
			next[j] = common(pattern, text, i, j, row, next)
		}
		row, next = next, row
	}
	return row[0]
}

func common(pattern, text string, i, j int, row, next []bool) bool {
	pEnd, tEnd := i == len(pattern), j == len(text)
	if pEnd && tEnd {
		return true
	}
	if !pEnd && pattern[i] == anything[0] {
		return row[j] || !tEnd && next[j+1]
	}
	if tEnd {
		return false
	}
	wild := text[j] == anything[0] || text[j] == oneWord[0] || text[j] == steadily[0] || text[j] == segment[0]
	switch {
	case wild:
		return next[j+1] || !pEnd && !(text[j] == segment[0] && pattern[i] == '/') && !(text[j] == segment[0] && hidden(pattern, text, i, j)) && row[j]
	case pEnd:
		return false
	case text[j] == single[0]:
		return pattern[i] != '/' && row[j+1]
	}
	return pattern[i] == text[j] && row[j+1]
}

// hidden says whether a star of the text would stand for the dot of a hidden file, which no shell lets it.
func hidden(pattern, text string, i, j int) bool {
	return pattern[i] == '.' && (i == 0 || pattern[i-1] == ' ' || pattern[i-1] == '/') && (j == 0 || text[j-1] == ' ' || text[j-1] == '/')
}

package shell

import (
	"path"
	"strings"

	"github.com/plughook/plughook/internal/lazyregexp"
)

// A use is a file that a command may read or write.
type use struct {
	path          string // as it is written, with unknowns
	reads, writes certainty
	deep          bool // what is below it is used, too
	isProse       bool // a word with blanks: perhaps a program, or commands, that name files
	dirs          int  // how many of the line's directories it may be in
}

// use adds a file that a command may use, in any directory that the line may be in by now.
func (l *reading) use(u use) {
	u.dirs = len(l.dirs)
	l.uses = append(l.uses, u)
}

// enter notes that the line goes to a directory.
func (l *reading) enter(dir string) {
	if len(l.dirs) > maxDirs {
		return // it is asked about
	}
	for _, from := range l.dirs {
		l.dirs = append(l.dirs, path.Join(from, dir))
	}
}

// files returns the uses of a line, each with one path in its shortest form. What a word is for is mostly
// not known, so each part of it counts that may name a file. It reports false if they are too many.
func (l *reading) files() (all []use, ok bool) {
	for _, u := range l.uses {
		paths := named(u.path)
		parts := len(paths)
		if u.isProse {
			isSign := func(r rune) bool { return strings.ContainsRune(" \t\n'\"`()[]{};,", r) }
			paths = append(paths, strings.FieldsFunc(u.path, isSign)...)
		}
		for i, file := range paths {
			one := u
			if i >= parts {
				one.reads = perhaps
				one.writes = perhaps
			}
			for _, dir := range l.dirs[:u.dirs] {
				one.path = clean(file)
				if dir != "" {
					if strings.HasPrefix(file, "/") || strings.HasPrefix(file, "~") {
						continue
					}
					one.path = path.Join(dir, file)
				}
				all = append(all, one)
			}
		}
		if len(all) > maxUses || len(l.dirs) > maxDirs {
			return all, false
		}
	}
	return all, true
}

// named returns the parts of a word that may name a file: the word, what stands in it behind an option's
// letter, = or @, as in if=FILE and name@FILE, and what stands between these and : , ; as in REVISION:FILE.
func named(word string) []string {
	if address := fileAddress.FindStringIndex(word); address != nil {
		return []string{word[address[1]:]}
	}
	if strings.Contains(word, "://") {
		return nil
	}
	parts := []string{word}
	if strings.HasPrefix(word, "-") && word != "-" {
		parts = attachedValues(word)
	}
	for _, sign := range []string{"=", "@"} {
		if _, value, ok := strings.Cut(word, sign); ok {
			parts = append(parts, value)
		}
	}
	if !strings.HasPrefix(word, "-") || len(parts) > 0 {
		isSign := func(r rune) bool { return strings.ContainsRune("=@:,;<", r) }
		parts = append(parts, strings.FieldsFunc(word, isSign)...)
	}
	files := parts[:0]
	for _, part := range parts {
		part = strings.TrimLeft(part, "@<")
		if part != "" && (len(files) == 0 || files[len(files)-1] != part) {
			files = append(files, part)
		}
	}
	return files
}

// fileAddress matches what stands before the path of a file in an address.
var fileAddress = lazyregexp.New(`(?i)fileb?://`)

// attachedValues returns what may be the value of an option that stands in the same word, behind one letter
// or behind a few of which only the last has a value, as in -cfFILE.
func attachedValues(word string) (values []string) {
	const most = 4 // letters
	for i := 2; i < len(word) && i <= 1+most && isLetter(word[i-1]); i++ {
		values = append(values, word[i:])
	}
	return values
}

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

// backslash is one that may stand between directories, and not before a sign that it takes the meaning of.
var backslash = lazyregexp.New(`\\+([A-Za-z0-9._])`)

// onWindows returns the files that a line may use if its backslashes stand between directories, as programs
// for Windows read them.
func onWindows(source string) (all []use) {
	slashed := backslash.ReplaceAllString(source, "/$1")
	if slashed == source {
		return nil
	}
	isSign := func(r rune) bool { return strings.ContainsRune(" \t\n'\"`()[]{};,", r) }
	for _, word := range strings.FieldsFunc(slashed, isSign) {
		for _, file := range named(word) {
			all = append(all, use{path: clean(file), reads: perhaps, writes: perhaps})
		}
	}
	return all
}

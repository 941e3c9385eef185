package shell

import (
	"errors"
	"path"
	"slices"
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
	fixed    string // the pattern up to its first star
	anywhere bool   // it may stand in any directory
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
			p.patterns = append(p.patterns, Pattern{words: words, pieces: strings.Split(words, anything)})
		}
	}
	return p, nil
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
func (p Path) match(u use) answer {
	surest := u.reads
	if p.writes {
		surest = u.writes
	}
	most := no
	if surest == no {
		return no
	}
	for _, pattern := range p.patterns {
		most = max(most, pattern.compare(u.path))
	}
	if most == no && u.deep && p.isBelow(u.path) {
		most = perhaps
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
	for above := path.Dir(p.fixed); above != "." && above != "/"; above = path.Dir(above) {
		if dir == above || p.anywhere && strings.HasSuffix(dir, "/"+above) {
			return true
		}
	}
	return false
}

// A use is a file that a command may read or write.
type use struct {
	path          string // in its shortest form, with unknowns
	reads, writes answer
	deep          bool // what is below it is used, too
}

// uses returns the files that the commands of a line may read or write. What a word is for is mostly not
// known, so each word, and each part of it that may name a file, counts: what stands behind = or @, as in
// if=FILE and -d @FILE, between colons, as in REVISION:FILE, and behind the letter of an option. It says
// false if they are too many.
func (l *line) uses() (all []use, ok bool) {
	dirs := []string{""} // where the line may be
	for _, c := range l.calls {
		if c.name == "<" || c.name == ">" {
			u := use{reads: yes, writes: no}
			if c.name == ">" {
				u = use{reads: no, writes: yes}
			}
			all = appendUses(all, u, dirs, c.words[1])
			continue
		}
		kind := kindOf(c)
		words := pathWords(c, kind)
		for i, w := range words {
			u := use{reads: yes, writes: perhaps, deep: kind.deep}
			switch {
			case kind.readsOnly:
				u.writes = no
			case kind.writesOnly:
				u.reads = no
				u.writes = yes
			case kind.copies && i == len(words)-1 && len(words) > 1:
				u.reads = no
				u.writes = yes
			case kind.copies:
				u.writes = no
			}
			all = appendUses(all, u, dirs, w)
		}
		if kind.deep && (len(words) == 0 || c.name == "git") { // it goes through where it is
			all = append(all, use{path: ".", reads: yes, writes: no, deep: true})
		}

		// What the line is told to do elsewhere.
		for _, dir := range directories(c) {
			for _, from := range slices.Clone(dirs) {
				dirs = append(dirs, path.Join(from, dir))
			}
			if len(dirs) > maxDirs {
				return all, false
			}
		}
		if len(all) > maxUses {
			return all, false
		}
	}
	return all, true
}

// The most directories that a line may be in, and the most uses of files. A line with more is asked about.
const (
	maxDirs = 16
	maxUses = 2000
)

// appendUses appends the uses of a word, in each directory that the line may be in.
func appendUses(all []use, u use, dirs []string, word string) []use {
	for _, file := range named(word) {
		for _, dir := range dirs {
			one := u
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
	return all
}

// named returns the parts of a word that may name a file.
func named(word string) []string {
	if address, ok := strings.CutPrefix(word, "file://"); ok {
		return []string{address}
	}
	if strings.Contains(word, "://") {
		return nil
	}
	parts := []string{word}
	if strings.HasPrefix(word, "-") {
		parts = nil
		if len(word) > 2 && word[1] != '-' {
			parts = append(parts, word[2:])
		}
	}
	_, value, assigned := strings.Cut(word, "=")
	if assigned {
		parts = append(parts, value)
	}
	for _, part := range parts {
		if strings.Contains(part, ":") {
			parts = append(parts, strings.Split(part, ":")...)
		}
	}
	var files []string
	for _, part := range parts {
		part = strings.TrimLeft(part, "@<")
		if part != "" && !slices.Contains(files, part) {
			files = append(files, part)
		}
	}
	return files
}

// directories returns the directories that a call goes to, or runs something in.
func directories(c call) (dirs []string) {
	switch c.name {
	case "cd", "pushd":
		for _, w := range c.words[1:] {
			if !strings.HasPrefix(w, "-") {
				dirs = append(dirs, w)
			}
		}
	default:
		for i, w := range c.words {
			name, value, ok := strings.Cut(w, "=")
			switch {
			case ok && (name == "--directory" || name == "--chdir"):
				dirs = append(dirs, value)
			case (w == "-C" || w == "--directory" || w == "--chdir") && i+1 < len(c.words):
				dirs = append(dirs, c.words[i+1])
			case strings.HasPrefix(w, "-C") && len(w) > 2:
				dirs = append(dirs, w[2:])
			}
		}
	}
	return dirs
}

// kind is what is known of how a command uses files.
type kind struct {
	noFiles    bool // no word of it names a file
	readsOnly  bool
	writesOnly bool
	copies     bool // the last operand is written, and the others are read
	deep       bool // it uses what is below directories
	program    bool // the first operand is a pattern, or a program
	texts      []string
}

var (
	noFiles    = words(`echo printf true false : exit return sleep seq date kill export unset set shift hash type which`)
	readsOnly  = words(`cat head tail less more nl tac rev grep egrep fgrep zgrep rg ag ack find tree ls dir stat file wc diff cmp comm uniq cut od xxd hexdump strings base64 base32 md5sum sha1sum sha256sum sha512sum cksum jq du cd pushd pwd test [ source .`)
	writesOnly = words(`rm rmdir touch mkdir mkfifo chmod chown chgrp truncate shred unlink tee`)
	copies     = words(`cp install rsync scp`)
	deep       = words(`rg ag ack find tree tar zip 7z du rsync`)
	program    = words(`grep egrep fgrep zgrep rg ag ack sed awk gawk mawk jq`)
	readsInGit = words(`status diff log show blame grep ls-files ls-tree cat-file rev-parse shortlog describe branch archive`)
	deepInGit  = words(`grep archive`)

	// recursive are the letters of options, by command, with which it uses what is below a directory.
	recursive = map[string]string{
		"grep": "rR", "egrep": "rR", "fgrep": "rR", "zgrep": "rR", "cp": "rRa", "scp": "r", "ls": "R",
		"diff": "r", "chmod": "R", "chown": "R", "chgrp": "R", "rm": "rR",
	}

	// texts are options, by command, behind which a text stands that names no file.
	texts = map[string][]string{
		"git":  {"-m", "--message", "--grep", "--author", "--format", "--pretty", "-S", "-G"},
		"gh":   {"-b", "--body", "-t", "--title"},
		"grep": {"-e", "--regexp", "--include", "--exclude", "--exclude-dir"},
		"rg":   {"-e", "--regexp", "-g", "--glob"},
		"sed":  {"-e", "--expression"},
		"curl": {"-H", "--header", "-A", "--user-agent", "-X", "--request", "--data-raw", "-w"},
		"find": {"-name", "-iname", "-type", "-size", "-mtime", "-printf"},
	}
)

func words(text string) map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		all[word] = true
	}
	return all
}

// kindOf returns what is known of how a call uses files.
func kindOf(c call) kind {
	name := strings.ToLower(c.name)
	k := kind{
		noFiles:    noFiles[name],
		readsOnly:  readsOnly[name],
		writesOnly: writesOnly[name],
		copies:     copies[name],
		deep:       deep[name],
		program:    program[name],
		texts:      texts[name],
	}
	if name == "git" {
		_, rest, _, err := table()["git"].scan("git", c.words[1:])
		if err == nil && len(rest) > 0 {
			k.readsOnly = readsInGit[rest[0]]
			k.deep = deepInGit[rest[0]]
		}
	}
	for _, w := range c.words[1:] {
		short := strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--")
		if w == "--recursive" || w == "--archive" || short && strings.ContainsAny(w, recursive[name]) {
			k.deep = true
		}
	}
	return k
}

// pathWords returns the words of a call that may name files.
func pathWords(c call, k kind) []string {
	if k.noFiles {
		return nil
	}
	var files []string
	program := k.program
	args := c.words[1:]
	for i := 0; i < len(args); i++ {
		w := args[i]
		name, _, attached := strings.Cut(w, "=")
		switch {
		case slices.Contains(k.texts, name):
			program = program && name != "-e" && name != "--regexp" && name != "--expression"
			if !attached {
				i++
			}
		case slices.ContainsFunc(k.texts, func(o string) bool {
			return len(o) == 2 && len(w) > 2 && strings.HasPrefix(w, o)
		}): // -mTEXT
		case program && !strings.HasPrefix(w, "-"):
			program = false
		default:
			files = append(files, w)
		}
	}
	return files
}

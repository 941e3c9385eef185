package shell

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/plughook/plughook/internal/lazyregexp"
)

// run adds a command with its arguments, and what the table says about them: the commands that it runs
// in turn, and the files that it uses. Of a command that is not in the table each word may be a file.
func (l *reading) run(words []string) {
	if len(words) == 0 || words[0] == "" || len(l.commands) > maxCommands {
		return
	}
	l.words += len(words)
	if l.words > maxWords || l.depth == maxDepth {
		l.unresolved("the commands have too many words, or run one another too often, to be checked")
		return
	}
	if l.depth > 0 {
		words = slices.Clone(words)
		for i, w := range words { // where xargs and find put a word
			words[i] = strings.ReplaceAll(w, "{}", oneWord)
		}
	}
	name := path.Base(words[0])
	dir := strings.TrimSuffix(words[0], name)
	l.commands = append(l.commands, command{name: shown(name), words: words})
	if known(name) != name || name[0] == '-' || strings.ContainsAny(name, " \t\n") ||
		strings.Contains(dir, anything) {
		l.unresolved("the command %s is not known before it runs", shown(words[0]))
	}
	if dir != "" {
		l.executed = append(l.executed, clean(words[0]))
		l.use(use{path: words[0], reads: yes})
	}
	l.depth++
	l.arguments(lookup(name), words[1:])
	l.depth--
}

// arguments reads the arguments of a command as the table says.
func (l *reading) arguments(p program, args []string) {
	joined := strings.Join(args, "\n") + "\n"
	only := p.conditions["only"] != nil && (known(joined) != joined || !p.holds("only", joined))
	if only || p.holds("holds", joined) {
		l.unresolved("an argument of %s may run a command, or change what it does", p.name)
	}

	// What the options do.
	uses := len(l.uses)
	dirs := len(l.dirs)
	found, operands, problem := p.scan(args)
	hasRun := problem != ""
	if hasRun {
		l.unresolved("%s", problem)
	}
	into := ""
	edits := false
	for _, o := range found {
		edits = edits || p.holds("edits", o.name)
		if p.holds("instead", o.name) && len(p.operands) == 2 {
			p.operands = p.operands[1:]
		}
		switch o.does {
		case prints:
			if !slices.Contains(p.operands, script) || len(args) == 1 {
				return
			}
		case runs:
			if slices.ContainsFunc(o.words, unsure) { // it may be the ; that ends the command
				l.unresolved("where the command that %s runs ends is not known", p.name)
			}
			l.run(o.words)
		case line:
			l.nested(p.name, o.value)
			hasRun = true
		case target:
			into = o.value
			l.word(p, changes, o.value)
		default:
			l.word(p, o.does, o.value)
		}
	}

	// What the operands are.
	if p.traits["subcommands"] && len(operands) > 0 {
		l.subcommand(p, operands, args)
		return
	}
	var files []string
	for i, word := range operands {
		does := p.role(i)
		switch {
		case edits && does == reads:
			does = writes
		case p.last != "" && into == "" && i > 0 && i == len(operands)-1:
			does = p.last
			into = word
		}
		if does == runs || does == line {
			hasRun = true
			if does == line {
				l.nested(p.name, strings.Join(operands[i:], " "))
			} else if words := l.assignments(operands[i:]); p.traits["appends"] {
				l.run(append(words[:len(words):len(words)], anything))
			} else {
				l.run(words)
			}
			break
		}
		if does == script && !hasRun {
			l.script(p.name, word)
			hasRun = true
		}
		if does != text && does != asks && does != remote {
			files = append(files, word)
		}
		l.word(p, does, word)
	}
	if !hasRun && (slices.Contains(p.operands, script) || slices.Contains(p.operands, line)) {
		l.unresolved("what %s runs is its input", p.name)
	}

	// What it uses beside the files that it names: what is below a directory, and what it makes in one.
	isDeep := p.holds("deep", joined)
	for i := uses; i < len(l.uses) && isDeep; i++ {
		l.uses[i].deep = true
	}
	if isDeep && len(files) == 0 {
		l.use(use{path: ".", reads: yes, deep: true})
	}
	for _, f := range files {
		if into != "" && f != into {
			l.use(use{path: path.Join(into, path.Base(f)), writes: perhaps})
		}
		if p.traits["makes"] {
			l.made[clean(f)] = true
			l.made[path.Join(files[len(files)-1], path.Base(f))] = true
		}
	}
	if !p.holds("unpacks", joined) {
		return
	}
	below := l.dirs[dirs:]
	if p.traits["elsewhere"] {
		below = append(slices.Clone(l.dirs[1:]), p.name) // a file here of any name
		for _, f := range files {
			below = append(below, path.Base(f)) // what an address ends with, as curl -O names it
		}
	} else if len(below) == 0 {
		below = l.dirs[:dirs]
	}
	for _, dir := range below {
		l.uses = append(l.uses, use{path: cmp.Or(dir, "."), reads: perhaps, writes: perhaps, deep: true, dirs: 1})
	}
}

// subcommand reads the arguments of a subcommand.
func (l *reading) subcommand(p program, operands, args []string) {
	name := p.name + " " + operands[0]
	switch {
	case known(name) != name:
		l.unresolved("the subcommand of %s is not known before it runs", p.name)
	case table()[name] != nil:
		l.arguments(lookup(name), operands[1:])
	case p.role(0) == subcommand:
		if !p.holds("also", operands[0]) {
			l.unresolved("%s may run a command: it may be an alias, or a program", name)
		}
		l.arguments(lookup(name), operands[1:])
	default:
		p.traits = maps.Clone(p.traits)
		p.traits["subcommands"] = false
		l.arguments(p, args)
	}
}

// script notes that a file is run.
func (l *reading) script(name, path string) {
	if strings.HasPrefix(path, anything) || strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/proc/") ||
		path == "-" || known(path) != path && !strings.Contains(path, "/") {
		l.unresolved("the file that %s runs is not known before it runs", name)
		return
	}
	l.executed = append(l.executed, clean(path))
}

// word notes what a command does with a word.
func (l *reading) word(p program, does role, word string) {
	switch does {
	case text, flags, maybe:
		if strings.Contains(word, "/") && strings.ContainsAny(word, segment+single) {
			l.use(use{path: word, reads: yes}) // the shell reads the directory
		}
	case asks:
		if word == "" || known(word) != word || !p.holds("fine", word) {
			l.unresolved("%s of %s may run a command", shown(word), p.name)
		}
	case variable:
		if !indexed.MatchString(word) {
			l.unresolved("which variable is set is not known: an index may run a command")
		}
		l.assign(word, oneWord, false)
	case writes:
		l.writes(word)
		l.use(use{path: word, reads: perhaps}) // programs that change a file read it
	case into:
		l.writes(word + "/" + oneWord)
	case directory:
		l.use(use{path: word, reads: yes})
		l.enter(word)
	case data:
		if sign := strings.IndexAny(word, "@<"); sign >= 0 {
			l.use(use{path: word[sign+1:], reads: yes})
		}
	case remote:
		if localPath.MatchString(word) {
			l.use(use{path: word, reads: yes, writes: perhaps})
		}
	case reads:
		l.use(use{path: word, reads: yes})
	case changes:
		l.use(use{path: word, writes: yes})
	case both:
		l.use(use{path: word, reads: yes, writes: yes, deep: true})
	case perhapsFile:
		l.use(use{path: word, reads: perhaps, writes: perhaps})
	default:
		l.use(use{path: word, reads: yes, writes: perhaps, isProse: strings.ContainsAny(word, " \t\n")})
	}
}

// localPath matches what names a file here although the like of it names something elsewhere.
var localPath = lazyregexp.New(`^(~|/|\.\.?(/|$))|=@|(?i)fileb?://`)

// writes adds a file that is written as a redirection writes it: as the command > with the file.
func (l *reading) writes(file string) {
	switch file {
	case "", "-", "/dev/null", "/dev/stdout", "/dev/stderr":
		return
	}
	l.made[clean(file)] = true
	l.commands = append(l.commands, command{name: ">", words: []string{">", file}})
	l.use(use{path: file, writes: yes})
}

package shell

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
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
	name := path.Base(words[0])
	dir := strings.TrimSuffix(words[0], name)
	l.commands = append(l.commands, command{name: shown(name), words: words})
	if known(name) != name || name[0] == '-' || strings.ContainsAny(name, " \t\n") || strings.Contains(dir, anything) {
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

// lookup returns what the table says about a program. Python3.11 is python.
func lookup(name string) *program {
	name = strings.ToLower(name)
	if m := versioned.FindStringSubmatch(name); m != nil {
		name = m[1]
	}
	if strings.HasPrefix(name, "ld-") && strings.Contains(name, ".so") {
		name = "ld.so"
	}
	row := table()[name]
	if row == nil {
		row = table()["*"]
	}
	named := *row
	named.name = name
	return &named
}

var versioned = regexp.MustCompile(`^(python|pypy|perl|ruby|php|lua|node|tclsh)[0-9][0-9.]*$`)

// arguments reads the arguments of a command as the table says.
func (l *reading) arguments(p *program, args []string) {
	first := state{uses: len(l.uses), dirs: len(l.dirs)}

	// What any argument may do.
	joined := strings.Join(args, "\n") + "\n"
	only := p.conditions["only"]
	if p.holds("holds", joined) || only != nil && (known(joined) != joined || !only.MatchString(joined)) {
		l.unresolved("an argument of %s may run a command, or change what it does", p.name)
	}
	for _, a := range args {
		if p.lists["words "+a] {
			l.unresolved("%s %s runs or removes what it is given", p.name, a)
			break
		}
	}

	// What the options do.
	found, operands, problem := p.scan(args)
	if problem != "" {
		l.unresolved("%s", problem)
	}
	roles := p.operands
	into := ""
	hasRun := problem != ""
	edits := false
	for _, o := range found {
		edits = edits || p.lists["edits "+o.name]
		if p.lists["instead "+o.name] && len(roles) > 1 {
			roles = p.operands[1:]
		}
		switch o.does {
		case prints:
			if !slices.Contains(roles, script) || len(args) == 1 {
				return
			}
		case asks:
			if o.value == "" || !p.holds("fine", o.value) {
				l.unresolved("%s of %s may run what it names", o.name, p.name)
			}
		case runs:
			if slices.ContainsFunc(o.words, unsure) { // it may be the ; that ends the command
				l.unresolved("where the command that %s runs ends is not known", p.name)
			}
			l.run(p.appended(o.words))
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
	if p.subcommands && len(operands) > 0 {
		l.subcommand(p, operands, args)
		return
	}
	var files []string
	for i, word := range operands {
		does := file
		if len(roles) > 0 {
			does = roles[min(i, len(roles)-1)]
		}
		if edits && does == reads {
			does = writes
		}
		if p.last != "" && into == "" && i > 0 && i == len(operands)-1 {
			does = p.last
			into = word
		}
		switch does {
		case runs:
			l.run(p.appended(l.assignments(operands[i:])))
			hasRun = true
		case line:
			l.nested(p.name, strings.Join(operands[i:], " "))
			hasRun = true
		case script:
			if !hasRun {
				l.script(p.name, word)
				hasRun = true
			}
			does = file
		}
		if does == runs || does == line {
			break
		}
		if does != text && does != asks && does != remote {
			files = append(files, word)
		}
		l.word(p, does, word)
	}
	if !hasRun && (slices.Contains(roles, script) || slices.Contains(roles, line)) {
		l.unresolved("what %s runs is its input", p.name)
	}
	l.directories(p, joined, files, into, first)
}

// A state is how much of a reading there is.
type state struct {
	uses int
	dirs int
}

// directories adds what a command uses beside the files that it names: what is below a directory, and what
// it makes in one. Its uses begin at first.
func (l *reading) directories(p *program, joined string, files []string, into string, first state) {
	isDeep := p.holds("deep", joined)
	for i := first.uses; i < len(l.uses) && isDeep; i++ {
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
	dirs := l.dirs[first.dirs:]
	if len(dirs) == 0 && !p.traits["elsewhere"] {
		dirs = l.dirs[:first.dirs]
	}
	if p.traits["elsewhere"] {
		dirs = append(slices.Clone(l.dirs[1:]), p.name) // a file here of any name
		for _, f := range files {
			dirs = append(dirs, path.Base(f)) // what an address ends with, as curl -O names it
		}
	}
	for _, dir := range dirs {
		l.uses = append(l.uses, use{path: cmp.Or(dir, "."), reads: perhaps, writes: perhaps, deep: true, dirs: 1})
	}
}

// holds reports whether a condition of a program is there, and a text meets it.
func (p *program) holds(condition, text string) bool {
	pattern := p.conditions[condition]
	return pattern != nil && pattern.MatchString(text)
}

// appended returns the words of a command to which the program that runs it adds arguments: in the place
// of {}, or behind them.
func (p *program) appended(words []string) []string {
	words = slices.Clone(words)
	for i, w := range words {
		words[i] = strings.ReplaceAll(w, "{}", oneWord)
	}
	if p.traits["appends"] && len(words) > 0 {
		words = append(words, anything)
	}
	return words
}

// subcommand reads the arguments of a subcommand.
func (l *reading) subcommand(p *program, operands, args []string) {
	name := p.name + " " + operands[0]
	row := table()[name]
	switch {
	case known(name) != name:
		l.unresolved("the subcommand of %s is not known before it runs", p.name)
	case row != nil:
		named := *row
		named.name = name
		l.arguments(&named, operands[1:])
	case p.role(0) == subcommand:
		if !p.lists["also "+operands[0]] {
			l.unresolved("%s may run a command: it may be an alias, or a program", name)
		}
		l.arguments(lookup(name), operands[1:])
	default:
		whole := *p
		whole.subcommands = false
		l.arguments(&whole, args)
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
func (l *reading) word(p *program, does role, word string) {
	switch does {
	case text, flags, maybe:
		if strings.Contains(word, "/") && strings.ContainsAny(word, segment+single) {
			l.use(use{path: word, reads: yes}) // the shell reads the directory
		}
	case asks:
		if known(word) != word || !p.holds("fine", word) {
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
var localPath = regexp.MustCompile(`^(~|/|\.\.?(/|$))|=@|(?i)fileb?://`)

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

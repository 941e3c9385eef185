package shell

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// A use is a file that a command may read or write.
type use struct {
	path          string // in its shortest form, with unknowns
	reads, writes answer
	deep          bool // what is below it is used, too
}

// The most directories that a line may be in, and the most uses of files. A line with more is asked about.
const (
	maxDirs = 16
	maxUses = 2000
)

// uses returns the files that the commands of a line may read or write. What a word is for is mostly not
// known, so each word counts, and each part of it that may name a file; see named. It says false if they
// are too many.
func (l *line) uses() (all []use, ok bool) {
	dirs := []string{""} // where the line may be
	for _, file := range l.tested {
		all = appendUses(all, use{path: file, reads: yes}, dirs)
	}
	for _, c := range l.calls {
		switch c.name {
		case "<":
			all = appendUses(all, use{path: c.words[1], reads: yes}, dirs)
			continue
		case ">":
			all = appendUses(all, use{path: c.words[1], writes: yes}, dirs)
			continue
		}
		for _, u := range usesOf(c) {
			all = appendUses(all, u, dirs)
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
		if c.name == "git" && gitChangers[subcommandOf("git", c.words[1:])] {
			for _, dir := range dirs[1:] {
				all = append(all, use{path: dir, writes: perhaps, deep: true})
			}
		}
		if len(all) > maxUses {
			return all, false
		}
	}
	return all, true
}

// appendUses appends the uses of a word, in each directory that the line may be in.
func appendUses(all []use, u use, dirs []string) []use {
	for _, file := range named(u.path) {
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

// named returns the parts of a word that may name a file: the word, what stands in it behind an option's
// letter, = or @, as in if=FILE and name@FILE, and what stands between these and : , ; as in REVISION:FILE.
func named(word string) []string {
	if at := fileAddress.FindStringIndex(word); at != nil {
		return []string{word[at[1]:]}
	}
	if strings.Contains(word, "://") {
		return nil
	}
	parts := []string{word}
	if strings.HasPrefix(word, "-") && word != "-" {
		parts = attachedValues(word)
	}
	for _, sign := range []string{"=", "@"} {
		_, value, ok := strings.Cut(word, sign)
		if ok {
			parts = append(parts, value)
		}
	}
	if !strings.HasPrefix(word, "-") || len(parts) > 0 {
		between := strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune("=@:,;<", r) })
		parts = append(parts, between...)
	}
	var files []string
	seen := map[string]bool{"": true}
	for _, part := range parts {
		part = strings.TrimLeft(part, "@<")
		if !seen[part] {
			seen[part] = true
			files = append(files, part)
		}
	}
	return files
}

// attachedValues returns what may be the value of an option that stands in the same word, behind one letter
// or behind a few of which only the last has a value, as in -cfFILE.
func attachedValues(word string) (values []string) {
	const most = 4 // letters
	for i := 2; i < len(word) && i <= 1+most && word[i-1] != '-' && isLetter(word[i-1]); i++ {
		values = append(values, word[i:])
	}
	return values
}

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

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

// usesOf returns the words with which a call names files that it uses, and what it uses where it is.
func usesOf(c call) (all []use) {
	name := strings.ToLower(c.name)
	if name == "bsdtar" || name == "gtar" {
		name = "tar"
	}
	args := c.words[1:]
	if noFiles[name] || compares(name, args) {
		// The shell reads directories to replace stars by the names of files.
		for _, w := range args {
			if strings.Contains(w, "/") && strings.ContainsAny(w, segment+single) {
				all = append(all, use{path: w, reads: yes})
			}
		}
		return all
	}
	sub := ""
	if name == "git" {
		sub = subcommandOf(name, args)
	}

	// Say what each operand is for.
	operands, files := fileWords(name, args)
	each := use{reads: yes, writes: perhaps}
	plain := true // a word with blanks is one name
	switch {
	case readers[name], gitReaders[sub], filters[name] && slices.ContainsFunc(args, toOutput):
		each.writes = no
	case writers[name]:
		each = use{writes: yes}
	case name == "mv", name == "install" && slices.Contains(args, "-d"):
		each.writes = yes
	case copiers[name], archivers[name]:
		each.writes = no
	case name != "git":
		plain = false
	}
	each.deep = goesDeep(name, args) || gitSearchers[sub] || sub == "clone"
	isChanger := gitChangers[sub]
	if name == "ln" {
		each.writes = perhaps // by the other name
	}
	into := "" // the directory that the others are perhaps copied into
	for i, f := range files {
		u := each
		u.path = f.word
		last := copiers[name] && i == len(files)-1 && operands > 1
		first := name == "zip" && operands > 1 && i == slices.IndexFunc(files, fileWord.isOperand)
		switch {
		case f.target || first || last && !slices.ContainsFunc(files, fileWord.isTarget):
			u.reads = no
			u.writes = yes
			into = f.word
		case strings.HasPrefix(f.word, "--") && (copiers[name] || archivers[name]):
			u.writes = max(u.writes, perhaps) // such as --backup-dir=DIRECTORY
			u.deep = u.deep || movers[name]
		case movers[name], isChanger:
			u.deep = true
		}
		all = append(all, u)
		if plain || !strings.ContainsAny(f.word, " \t\n") {
			continue
		}

		// It may be a program, or commands, of a language that nobody here reads.
		isSign := func(r rune) bool { return strings.ContainsRune(" \t\n'\"`()[]{};,", r) }
		for _, part := range strings.FieldsFunc(f.word, isSign) {
			all = append(all, use{path: part, reads: perhaps, writes: perhaps})
		}
	}

	if copiers[name] && into != "" && !each.deep {
		for _, f := range files {
			all = append(all, use{path: path.Join(into, path.Base(f.word)), writes: perhaps})
		}
	}

	// Say what it uses where it is.
	switch {
	case gitUnpackers[sub], unpackers[name], name == "tar" && tarDoes(args, "x", "--extract", "--get"):
		places := directories(c)
		if len(places) == 0 && !slices.Contains(args, "-d") {
			places = []string{"."}
		}
		for _, dir := range places {
			all = append(all, use{path: dir, writes: perhaps, deep: true})
		}
	case each.deep && operands == 0, collectors[name], gitSearchers[sub], listed(name, args), serves(name, args):
		all = append(all, use{path: ".", reads: yes, deep: true})
	case name == "wget", name == "curl" && slices.ContainsFunc(args, isRemoteName), sub == "clone":
		for _, a := range args {
			if strings.Contains(a, "://") {
				all = append(all, use{path: downloaded(a), writes: yes})
			}
		}
	}
	return all
}

// A fileWord is a word of a call that may name a file.
type fileWord struct {
	word    string
	operand bool // no option, and no option's value
	target  bool // what the others are copied to, or packed into
}

func (f fileWord) isTarget() bool { return f.target }

func (f fileWord) isOperand() bool { return f.operand }

// fileWords returns the words of a call that may name files, and how many of them are operands.
func fileWords(name string, args []string) (operands int, files []fileWord) {
	own := name
	if alike[name] != "" {
		own = alike[name]
	}
	sub := subcommandOf(own, args)
	isRemote := remote[own][sub]
	text := func(option string) bool { return texts[own][option] || texts[own+" "+sub][option] }
	program := programs[name]
	for i := 0; i < len(args); i++ {
		w := args[i]
		option, value, attached := optionOf(w)
		next := ""
		if i+1 < len(args) {
			next = args[i+1]
		}
		long := strings.HasPrefix(w, "--")
		program = program && !givesProgram(option, w)
		isOption := strings.HasPrefix(w, "-") && w != "-"
		switch {
		case sent[own][option]:
			if !attached {
				value = next
				i++
			}
			at := strings.IndexAny(value, "@<")
			if at >= 0 || own == "gh" && !strings.Contains(value, "=") {
				files = append(files, fileWord{word: value[at+1:]})
			}
		case attached && attachedTexts[option]:
		case textOptions[option], text(option):
			if !attached && (!strings.HasPrefix(next, "-") || strings.ContainsAny(next, " \n")) {
				i++
			}
		case text("-m") && isOption && !long && messageLetters.MatchString(w):
			if strings.HasSuffix(w, "m") {
				i++
			}
		case targets[name] && (isLong(option, "--target-directory") || isOption && !long && strings.Contains(w, "t")):
			if !long {
				_, value, _ = strings.Cut(w, "t")
			}
			if value == "" {
				value = next
				i++
			}
			files = append(files, fileWord{word: value, target: true})
		case name == "tar" && (isLong(option, "--file") || hasTarLetter(w, i == 0, "f")):
			// An archive is written to pack and read to unpack. If neither is said, it may be either.
			if isOption && !long {
				value = w[strings.IndexByte(w, 'f')+1:]
				attached = value != ""
			}
			if !attached {
				value = next
				i++
			}
			packs := tarDoes(args, "cruA", "--create", "--append", "--update", "--concatenate", "--catenate")
			unpacks := tarDoes(args, "xtd", "--extract", "--get", "--list", "--diff", "--compare")
			if packs || !unpacks {
				files = append(files, fileWord{word: value, target: true})
			}
			if unpacks || !packs {
				files = append(files, fileWord{word: value})
			}
		case (programs[name] || isRemote) && isOption && !long && strings.HasSuffix(w, "f"):
			program = false
			files = append(files, fileWord{word: next})
			i++
		case isOption:
			full, _, _ := strings.Cut(w, "=")
			takesFile := fileOption.MatchString(option) || fileOption.MatchString(full)
			if !attached && (isRemote && takesFile || programs[name] && programOptions[option]) {
				files = append(files, fileWord{word: next})
				i++
			}
			if !isRemote || takesFile || strings.Contains(w, "@") {
				files = append(files, fileWord{word: w})
			}
		case program:
			program = false
		case isRemote && isElsewhere(own, w):
		case own == "git" && otherHost.MatchString(w):
		case name == "man" && !strings.Contains(w, "/") && !slices.Contains(args, "-l"):
		default:
			operands++
			files = append(files, fileWord{word: w, operand: true})
		}
	}
	return operands, files
}

// messageLetters matches short options of git in one word, of which the last one is followed by a message.
var messageLetters = regexp.MustCompile(`^-[aenopqsv]+m`)

// isLong says whether a word is a long option, or the beginning of it, which programs understand, too.
func isLong(word, option string) bool {
	return len(word) > len("--") && strings.HasPrefix(option, word)
}

// givesProgram says whether an option gives the program, so that no operand does: alone, or behind letters
// of other options as in -nep.
func givesProgram(option, word string) bool {
	if programOptions[option] {
		return true
	}
	if !strings.HasPrefix(word, "--") {
		return len(word) > 3 && word[0] == '-' && strings.ContainsAny(word[2:len(word)-1], "ef")
	}
	return isLong(option, "--regexp") || isLong(option, "--expression") || isLong(option, "--file")
}

// isElsewhere says whether an operand of a subcommand that is about what is elsewhere names no file here.
func isElsewhere(name, word string) bool {
	if name == "git" || name == "npm" || name == "go" || name == "cargo" || name == "pip" || name == "apt-get" {
		return !localPath.MatchString(word)
	}
	return !fileAddress.MatchString(word) && (name == "gh" || !strings.Contains(word, "@"))
}

// toOutput says whether an option has a filter write to standard output: -c, also among other letters.
func toOutput(w string) bool {
	if strings.HasPrefix(w, "--") {
		return w == "--stdout" || w == "--to-stdout"
	}
	return strings.HasPrefix(w, "-") && strings.Contains(w, "c")
}

// subcommandOf returns the first operand of a call, behind options that are known to have a value.
func subcommandOf(name string, args []string) string {
	if name == "git" {
		_, rest, _, err := table()["git"].scan("git", args)
		if err != nil || len(rest) == 0 {
			return ""
		}
		return rest[0]
	}
	valued := words(`-n --namespace --context --region --profile --project`)
	for i := 0; i < len(args); i++ {
		switch {
		case valued[args[i]]:
			i++
		case !strings.HasPrefix(args[i], "-"):
			return args[i]
		}
	}
	return ""
}

// optionOf returns the option that a word is, and the value that stands in the word. A letter that is
// followed by others counts as an option with a value.
func optionOf(word string) (name, value string, attached bool) {
	switch {
	case !strings.HasPrefix(word, "-"):
		return "", "", false
	case strings.HasPrefix(word, "--"), len(word) <= 2:
		return strings.Cut(word, "=")
	case textOptions[word]:
		return word, "", false
	}
	for _, known := range texts {
		if known[word] { // -name of find
			return word, "", false
		}
	}
	return word[:2], word[2:], true
}

// goesDeep says whether a call uses what is below the directories that it names.
func goesDeep(name string, args []string) bool {
	deep := searchers[name]
	for i, w := range args {
		short := strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--")
		full, value, _ := strings.Cut(w, "=")
		if isLong(full, "--directories") && name != "tar" && name != "ls" || w == "-d" && strings.HasSuffix(name, "grep") {
			deep = deep || value == "recurse" || i+1 < len(args) && args[i+1] == "recurse"
		}
		if isLong(w, "--recursive") || isLong(w, "--archive") || short && strings.ContainsAny(w, recursive[name]) {
			deep = true
		}
		if w == "-maxdepth" && i+1 < len(args) && (args[i+1] == "0" || args[i+1] == "1") {
			return false
		}
	}
	return deep
}

// compares says whether a call of test compares texts, which name no files.
func compares(name string, args []string) bool {
	if name == "[" && len(args) > 0 {
		args = args[:len(args)-1]
	} else if name != "test" {
		return false
	}
	if len(args) > 0 && args[0] == "!" {
		args = args[1:]
	}
	switch len(args) {
	case 2:
		return args[0] == "-n" || args[0] == "-z"
	case 3:
		return slices.Contains([]string{"=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"}, args[1])
	}
	return false
}

// listed says whether a call reads a list of the files that it uses.
func listed(name string, args []string) bool {
	return slices.ContainsFunc(args, func(w string) bool {
		long, _, _ := strings.Cut(w, "=")
		return isLong(long, "--files-from") && long != "--file" || isLong(long, "--files0-from") ||
			name == "tar" && strings.HasPrefix(w, "-T") || name == "zip" && w == "-@"
	})
}

// serves says whether a call of Python runs a module that gives away files of the directory where it is.
func serves(name string, args []string) bool {
	if !strings.HasPrefix(name, "py") {
		return false
	}
	modules := words(`http.server SimpleHTTPServer zipfile tarfile`)
	return slices.ContainsFunc(args, func(w string) bool { return modules[strings.TrimPrefix(w, "-m")] })
}

// tarDoes says whether a call of tar has one of some options: letters, or one of the long ones.
func tarDoes(args []string, letters string, long ...string) bool {
	for i, w := range args {
		if hasTarLetter(w, i == 0, letters) || slices.Contains(long, w) {
			return true
		}
	}
	return false
}

// hasTarLetter says whether a word of a call of tar has one of some letters of options. They stand behind
// a dash, and in the first word also without one. Behind a dash, what follows a letter that takes a value
// is the value.
func hasTarLetter(word string, first bool, letters string) bool {
	own, dash := strings.CutPrefix(word, "-")
	switch {
	case strings.HasPrefix(own, "-"), !dash && !first:
		return false
	case dash:
		valued := strings.IndexAny(own, "bCfFgHIKLNTVX")
		if valued >= 0 {
			own = own[:valued+1]
		}
	}
	return strings.ContainsAny(own, letters)
}

// isRemoteName says whether an option of curl makes files that are called as in the address.
func isRemoteName(w string) bool {
	return strings.HasPrefix(w, "--remote-name") ||
		strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.Contains(w, "O")
}

// downloaded is the name that a file or a repository of an address is given.
func downloaded(address string) string {
	address, _, _ = strings.Cut(address, "?")
	return strings.TrimSuffix(path.Base(address), ".git")
}

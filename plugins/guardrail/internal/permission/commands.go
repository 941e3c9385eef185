package permission

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Names of arguments, in small letters and without _ and -, by what stands under them.
var (
	commandNames = set("command cmd commandline cmdline commands cmds script scripts input stdin code " +
		"line lines run exec execute shell bash sh program executable binary")
	wordsNames = set("args arguments argv params parameters")
	asideNames = set("description explanation reason why comment title name label id callid sessionid " +
		"path timeout timeoutms timeoutseconds")
	placeNames = set("cwd dir directory workdir workingdirectory workingdir")
	envNames   = set("env environment envvars environmentvariables")
)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		m[word] = true
	}
	return m
}

// The most lines that are judged of a call; a call with more is asked about.
const (
	maxLines     = 100
	maxLineBytes = 256 << 10 // of all of them
)

// commandsOf returns every text in a call's arguments that may be a command line. A tool runs one
// of them, and ignores the others that a model has put beside it, so all of them count. A directory
// to run in becomes a "cd" line. clear reports whether every command is among the lines, and
// nothing else is.
func commandsOf(args map[string]any) (lines []string, clear bool) {
	c := texts{clear: true}
	c.object(args)

	// No argument has a name for commands: take the lists of words, or else every text.
	switch {
	case len(c.commands) > 0:
	case len(c.words) > 0:
		c.commands = c.words
		c.words = nil
	default:
		c.commands = slices.Concat(c.others, c.asides, c.places)
		c.others = nil
		c.places = nil
		c.clear = c.clear && len(c.commands) == 1
	}

	// Make lines of them, with the variables before and the words behind, until there are too many.
	size := 0
	add := func(line string) bool {
		size += len(line)
		if len(lines) == maxLines || size > maxLineBytes {
			c.clear = false
			return false
		}
		lines = append(lines, line)
		return true
	}
	withWords := func(command string) bool {
		// A command with a space in it may be a whole line already.
		whole := len(c.words) == 0 || strings.ContainsAny(command, " \t\n")
		if whole && !add(c.env+command) {
			return false
		}
		return !slices.ContainsFunc(c.words,
			func(words string) bool { return !add(c.env + command + " " + words) })
	}
	for _, command := range c.commands {
		if !withWords(command) {
			break
		}
	}
	for _, place := range c.places {
		c.clear = c.clear && !strings.ContainsAny(place, placeMarks) && add("cd "+quote(place))
	}

	// What has another name may be a command all the same, and nobody knows which.
	clear = c.clear && len(c.others) == 0 && len(lines) > 0
	for _, other := range c.others {
		if !add(other) {
			break
		}
	}
	return lines, clear
}

// placeMarks are characters that no directory has in its name, unless somebody hopes that a tool
// puts it into a line.
const placeMarks = "`$;|&<>(){}*?[\n\"'!#"

// texts are the texts in a call's arguments, by what their names say that they are.
type texts struct {
	commands []string
	words    []string // the arguments of commands
	places   []string // directories to run in
	asides   []string // descriptions, titles and the like
	others   []string
	env      string // assignments before every command
	clear    bool   // nothing was seen that may be a command and is not in the lists
}

func (c *texts) object(args map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(args)) {
		c.value(strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name)), args[name])
	}
}

// value adds what stands under a name.
func (c *texts) value(name string, value any) {
	switch v := value.(type) {
	case string:
		c.text(name, v)
	case map[string]any:
		if envNames[name] {
			c.environment(v)
			return
		}
		c.clear = c.clear && !commandNames[name]
		c.object(v)
	case []any:
		c.list(name, v)
	case nil, bool, float64, int, int64:
		c.clear = c.clear && !commandNames[name] // a number is no command
	default:
		c.clear = false
	}
}

func (c *texts) text(name, text string) {
	switch {
	case strings.TrimSpace(text) == "":
	case commandNames[name]:
		c.commands = append(c.commands, text)
	case wordsNames[name]:
		c.words = append(c.words, text)
	case placeNames[name]:
		if text != "." {
			c.places = append(c.places, text)
		}
	case asideNames[name]:
		c.asides = append(c.asides, text)
	default:
		c.others = append(c.others, text)
	}
}

// list adds a list: words of one command, or several lines.
func (c *texts) list(name string, list []any) {
	if line, ok := quoted(list); ok {
		c.text(name, line)
		// Under a name such as commands each item may be a line of its own.
		if !wordsNames[name] && (len(list) == 1 || strings.HasSuffix(name, "s")) {
			for _, item := range list {
				c.text(name, item.(string))
			}
		}
		return
	}
	for _, item := range list {
		c.value(name, item)
	}
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// environment adds variables: some change what a command does.
func (c *texts) environment(vars map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		value, ok := vars[name].(string)
		if !ok || !envName.MatchString(name) {
			c.clear = false
			continue
		}
		c.env += name + "=" + quote(value) + " "
	}
}

// quoted is a line of a list of words, each of which is one whatever is in it.
func quoted(list []any) (string, bool) {
	var words []string
	for _, item := range list {
		word, ok := item.(string)
		if !ok {
			return "", false
		}
		words = append(words, quote(word))
	}
	return strings.Join(words, " "), len(words) > 0
}

func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

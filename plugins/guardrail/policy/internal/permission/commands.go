package permission

import (
	"maps"
	"slices"
	"strings"

	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/plugins/guardrail/policy/internal/glob"
)

// A CommandTool says where in its arguments a tool is given what it runs. Each name may have dots, for
// an argument within another one.
type CommandTool struct {
	Tool string // a glob of tools' names
	// Line is the argument with the command line: a text, or a list of lines, which all count.
	Line string
	// Words is the argument with the words behind the line, or, without Line, of the whole command: a
	// list, or a text.
	Words string
	// Dir is the argument with the directory that the command runs in.
	Dir string
	// Env is the argument with environment variables, an object.
	Env string
}

// The most lines that are judged of a call; a call with more is asked about.
const (
	maxLines     = 100
	maxLineBytes = 256 << 10 // of all of them
)

// commandTool returns the first of the tools that a tool's name matches.
func commandTool(tools []CommandTool, name string) (CommandTool, bool) {
	i := slices.IndexFunc(tools, func(t CommandTool) bool { return glob.Match(t.Tool, name) })
	if i < 0 {
		return CommandTool{}, false
	}
	return tools[i], true
}

// linesOf returns the command lines that a call is given to run. A directory to run in is a "cd" line
// before them. clear reports whether these lines are all that would run.
func (t *CommandTool) linesOf(args map[string]any) (lines []string, clear bool) {
	// Take the lines, and the words behind them.
	clear = true
	heads, ok := textsOf(argument(args, t.Line))
	clear = clear && ok
	words, ok := argument(args, t.Words).(string)
	if !ok {
		list, isList := argument(args, t.Words).([]any)
		quotedWords, areTexts := quoted(list)
		clear = clear && (areTexts || len(list) == 0 && (isList || argument(args, t.Words) == nil))
		words = quotedWords
	}

	// What stands before every line: variables, and the directory.
	env, ok := environment(argument(args, t.Env))
	clear = clear && ok
	before := ""
	switch dir := argument(args, t.Dir).(type) {
	case nil:
	case string:
		if dir != "" && dir != "." {
			before = "cd " + quote(dir) + "\n"
		}
	default:
		clear = false
	}

	if t.Line == "" && strings.TrimSpace(words) != "" {
		heads = []string{""}
	}
	size := 0
	for _, head := range heads {
		line := strings.TrimSpace(head + " " + words)
		if line == "" {
			continue
		}
		line = before + env + line
		size += len(line)
		if len(lines) == maxLines || size > maxLineBytes {
			return lines, false
		}
		lines = append(lines, line)
	}
	return lines, clear && len(lines) > 0
}

// argument returns the argument of a name, which may have dots; nil if there is none.
func argument(args map[string]any, name string) any {
	if name == "" {
		return nil
	}
	if value, ok := args[name]; ok {
		return value
	}
	first, rest, within := strings.Cut(name, ".")
	if !within {
		return nil
	}
	inner, _ := args[first].(map[string]any)
	return argument(inner, rest)
}

// textsOf returns a text, or the texts of a list; ok is false if there is anything else.
func textsOf(value any) (texts []string, ok bool) {
	switch v := value.(type) {
	case nil:
		return nil, true
	case string:
		return []string{v}, true
	case []any:
		for _, item := range v {
			text, isText := item.(string)
			if !isText {
				return texts, false
			}
			texts = append(texts, text)
		}
		return texts, true
	}
	return nil, false
}

var envName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// environment returns assignments that stand before a command; ok is false if there is something else
// than variables with texts.
func environment(value any) (assignments string, ok bool) {
	vars, ok := value.(map[string]any)
	if !ok {
		return "", value == nil
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		text, isText := vars[name].(string)
		if !isText || !envName.MatchString(name) {
			ok = false
			continue
		}
		assignments += name + "=" + quote(text) + " "
	}
	return assignments, ok
}

// quoted returns a command line in which each text of a list is one word, with its blanks and signs.
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

package shell

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// What is read of a line at most. Beyond, it is asked about.
const (
	maxBytes    = 64 << 10
	maxRead     = 4 * maxBytes // bytes of a line and those within
	maxDepth    = 16           // lines within lines, and commands that run commands
	maxWords    = 1 << 15      // of all commands
	maxCommands = 500
	maxBrackets = 1 << 12 // the parser takes time by the square of their depth
	maxDirs     = 16      // directories that a line may be in
	maxUses     = 2000    // files
)

// A command is one that a line could run, or a file that it writes (a command >) or reads (a command <).
type command struct {
	name  string   // without its directory
	words []string // the command as it is written, and its arguments; with unknowns, see word.go
}

// A reading is what is found in a line: what it could run and use, and why something in it is unresolved.
type reading struct {
	commands []command
	uses     []use
	dirs     []string // the directories that the line may be in
	reasons  []string

	source   string // the line that is read
	depth    int
	bytes    int
	words    int
	made     map[string]bool // files that the line makes or changes
	executed []string        // files that it runs
}

// read returns what a command line could do. An error says that nothing is known about it.
func read(source string) (*reading, error) {
	l := &reading{dirs: []string{""}, made: map[string]bool{}}
	if err := l.read(source); err != nil {
		return nil, err
	}
	for _, file := range l.executed {
		if l.made[file] {
			l.unresolved("%s is run, which the same line makes", shown(file))
		}
	}
	return l, nil
}

func (l *reading) unresolved(format string, args ...any) {
	l.reasons = append(l.reasons, fmt.Sprintf(format, args...))
}

// nested reads a line that stands in a line.
func (l *reading) nested(by, source string) {
	l.bytes += len(source)
	if known(source) != source || l.depth == maxDepth || l.bytes > maxRead {
		l.unresolved("what %s runs is not known before it runs", by)
		return
	}
	outer := l.source
	l.depth++
	if err := l.read(source); err != nil {
		l.unresolved("what %s runs: %v", by, err)
	}
	l.depth--
	l.source = outer
}

func (l *reading) read(source string) error {
	// Hold the line to the limits before the parser works on it.
	if len(source) > maxBytes {
		return fmt.Errorf("the command has %d bytes, at most %d can be checked: split it", len(source), maxBytes)
	}
	brackets := strings.Count(source, "(") + strings.Count(source, "[") + strings.Count(source, "{")
	if brackets > maxBrackets {
		return fmt.Errorf("the command has %d brackets, at most %d can be checked: split it", brackets, maxBrackets)
	}
	tree, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(source), "")
	if err != nil {
		return fmt.Errorf("the command cannot be parsed as bash: %w", err)
	}

	// Go through everything in it.
	l.source = source
	for node := range syntax.Preorder(tree) {
		switch x := node.(type) {
		case *syntax.Stmt:
			l.statement(x)
		case *syntax.CoprocClause:
			if x.Name != nil { // or is it the command, and no name?
				l.run([]string{textOf(x.Name, false), anything})
			}
		default:
			l.variables(node)
		}
		if len(l.commands) > maxCommands {
			return fmt.Errorf("the command runs more than %d commands: split it", maxCommands)
		}
	}
	return nil
}

// statement adds the files of a statement's redirections, and its command.
func (l *reading) statement(stmt *syntax.Stmt) {
	for _, r := range stmt.Redirs {
		l.redirection(r)
	}
	simple, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok {
		return
	}
	for _, a := range simple.Assigns {
		if len(simple.Args) > 0 && a.Name != nil {
			l.assign(a.Name.Value, l.value(a), true)
		}
	}
	var words []string
	for _, w := range simple.Args {
		words = append(words, textOf(w, false))
	}
	l.run(words)
}

// redirection adds the file of a redirection.
func (l *reading) redirection(r *syntax.Redirect) {
	file := textOf(r.Word, false)
	isNumber := strings.Trim(file, "0123456789-") == ""
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return // a text, and no file
	case syntax.DplIn, syntax.DplOut:
		if isNumber { // 2>&1
			return
		}
	}
	if r.Op == syntax.RdrIn || r.Op == syntax.DplIn || r.Op == syntax.RdrInOut {
		l.commands = append(l.commands, command{name: "<", words: []string{"<", file}})
		l.use(use{path: file, reads: yes})
	}
	if r.Op != syntax.RdrIn && r.Op != syntax.DplIn {
		l.writes(file)
	}
}

// Package shell tells which commands a command line could run, and holds them to patterns, so that a policy such as
// "never rm, ask before git push" is about commands and not about how they are spelled.
//
// The line is parsed as bash parses it. Every command in it counts, wherever it stands: in pipes, lists, loops, functions, tests,
// command and process substitutions, here-documents; and behind what runs other commands: sh -c, eval, env, sudo, xargs,
// find -exec, timeout, trap, ssh and so on. Quotes, escapes and braces are undone. Files that a line writes to
// or reads from by redirection are the commands > and <.
//
// What cannot be known without running it is not guessed but said to be unresolved, so that a policy can ask: a command
// that stands in a variable, eval of one, what is piped into a shell, code given to other interpreters (python -c), a file
// that the same line writes and then runs, an option with which a program runs another (rg --pre), or an argument that may be
// one, an option not known of a command that runs others, a variable in arithmetic that is not known to be a number, a
// variable that a command is given and that may name a program (X=./y make).
// A file that an option writes (sort -o), or tee or dd, is the command >, too.
//
// The limits: paths are compared as they are written, wherever a cd or a link leads. A program does what it does: what
// ./script.sh, make or a renamed copy of rm from an earlier line runs is not seen. A sandbox is the wall; this is the sign on the door.
package shell

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const (
	maxBytes    = 64 << 10
	maxDepth    = 8            // lines within lines
	maxChain    = 16           // commands that run commands
	maxWords    = 1 << 15      // of its commands
	maxCalls    = 500          // of a line
	maxBrackets = 1 << 12      // of a line: the parser takes time by the square of their depth
	maxRead     = 4 * maxBytes // of a line and those within
)

// A Call is a command that a line could run, or a file that it writes (named >) or reads (named <) by redirection.
type Call struct {
	// Name is the command without its directory.
	Name string
	// Args are its arguments, unquoted. What is not known of them stands as …
	Args []string

	path  string   // as written
	words []string // with unknowns, see word.go
}

// String is the call as patterns see it.
func (c Call) String() string {
	return strings.Join(append([]string{c.Name}, c.Args...), " ")
}

// A Line is what a command line could do.
type Line struct {
	Calls []Call
	// Unresolved says what could not be known, one reason each; none if everything is.
	Unresolved []string
}

// Parse returns what a command line could do. An error says that it is no bash, longer than 64 KB, or holds too many
// commands or brackets: nothing is known about it then.
func Parse(command string) (Line, error) {
	p := parse{written: map[string]bool{}, assigned: map[string]bool{}, numbers: map[string]bool{}, texts: map[string]bool{}, relied: map[string]bool{}}
	if err := p.line(command); err != nil {
		return Line{}, err
	}
	for _, file := range p.executed {
		if p.written[file] {
			p.unresolved("%s is run, which the same line makes", shown(file))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.relied)) {
		if p.texts[name] {
			p.unresolved("%s is not known to be a number", name)
		}
	}
	return p.Line, nil
}

// parse is the parsing of one line and the lines in it.
type parse struct {
	Line
	depth    int // of lines
	chain    int // of commands that run commands
	read     int // bytes
	words    int
	braced   int             // braces that were expanded
	written  map[string]bool // files that this line makes or changes
	executed []string        // files that it runs
	assigned map[string]bool // variables that it sets
	numbers  map[string]bool // those that it sets to numbers
	texts    map[string]bool // those that it may set to something else
	relied   map[string]bool // those that are taken for numbers
}

func (p *parse) unresolved(format string, args ...any) {
	p.Unresolved = append(p.Unresolved, fmt.Sprintf(format, args...))
}

// line parses a line: the whole, or one that is an argument.
func (p *parse) line(command string) error {
	if len(command) > maxBytes {
		return fmt.Errorf("the command has %d bytes, at most %d can be checked: split it", len(command), maxBytes)
	}
	if brackets := strings.Count(command, "(") + strings.Count(command, "[") + strings.Count(command, "{"); brackets > maxBrackets {
		return fmt.Errorf("the command has %d brackets, at most %d can be checked: split it", brackets, maxBrackets)
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		return fmt.Errorf("the command cannot be parsed as bash: %w", err)
	}
	stdin := map[*syntax.Stmt]*input{}
	calls := 0
	for node := range syntax.Preorder(file) {
		if _, ok := node.(*syntax.Stmt); ok {
			calls++
		}
	}
	if calls > maxCalls*3 {
		return fmt.Errorf("the command runs more than %d commands: split it", maxCalls)
	}
	p.sets(file)
	for node := range syntax.Preorder(file) {
		p.reassigned(node)
		switch x := node.(type) {
		case *syntax.BinaryCmd:
			if x.Op == syntax.Pipe || x.Op == syntax.PipeAll {
				from := p.output(x.X)
				for inner := range syntax.Preorder(x.Y) {
					if stmt, ok := inner.(*syntax.Stmt); ok {
						stdin[stmt] = from
					}
				}
			}
		case *syntax.Stmt:
			in := p.redirects(x, stdin[x])
			if call, ok := x.Cmd.(*syntax.CallExpr); ok {
				for _, a := range call.Assigns {
					if len(call.Args) > 0 && a.Name != nil {
						p.exported(a.Name.Value, p.value(a))
					}
				}
				p.call(p.fields(call.Args), in)
			}
		case *syntax.CoprocClause:
			if x.Name != nil { // or is it the command, and no name?
				p.call([]string{p.word(x.Name, false), anything}, &input{})
			}
		case *syntax.Assign:
			p.assign(x)
			p.index(x.Index)
		case *syntax.ArrayElem:
			p.index(x.Index)
		case *syntax.ParamExp:
			p.expansion(x)
		case *syntax.ArithmExp:
			p.arithmetic(x.X)
		case *syntax.ArithmCmd:
			p.arithmetic(x.X)
		case *syntax.CStyleLoop:
			p.arithmetic(x.Init)
			p.arithmetic(x.Cond)
			p.arithmetic(x.Post)
		case *syntax.LetClause:
			for _, e := range x.Exprs {
				p.arithmetic(e)
			}
		case *syntax.DeclClause:
			p.declared(x)
		case *syntax.UnaryTest, *syntax.BinaryTest:
			p.tested(node)
		}
		if len(p.Calls) > maxCalls {
			return fmt.Errorf("the command runs more than %d commands: split it", maxCalls)
		}
	}
	return nil
}

// nested parses a line that stands in a line. What cannot be parsed is unresolved.
func (p *parse) nested(by, command string) {
	p.read += len(command)
	if known(command) != command || p.depth == maxDepth || p.read > maxRead {
		p.unresolved("what %s runs is not known before it runs", by)
		return
	}
	p.depth++
	defer func() { p.depth-- }()
	if err := p.line(command); err != nil {
		p.unresolved("what %s runs: %v", by, err)
	}
}

// input is what a command reads: a text, or what is not known.
type input struct {
	text  string
	known bool
}

// output is what a statement writes, known only of echo and printf of one plain text.
func (p *parse) output(stmt *syntax.Stmt) *input {
	if call, ok := stmt.Cmd.(*syntax.CallExpr); ok && len(stmt.Redirs) == 0 {
		words := p.fields(call.Args)
		text := ""
		if len(words) > 1 && (words[0] == "echo" || words[0] == "printf" && len(words) == 2) {
			text = strings.Join(words[1:], " ")
		}
		if text != "" && known(text) == text && !strings.ContainsAny(text, "\\%") && text[0] != '-' {
			return &input{text, true}
		}
	}
	return &input{}
}

// redirects adds a statement's files, and returns what it reads.
func (p *parse) redirects(stmt *syntax.Stmt, in *input) *input {
	for _, r := range stmt.Redirs {
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			in = &input{}
			if r.Hdoc != nil {
				text := p.word(r.Hdoc, true)
				in = &input{text, known(text) == text}
			}
			continue
		case syntax.WordHdoc:
			text := p.word(r.Word, true)
			in = &input{text, known(text) == text}
			continue
		case syntax.DplIn, syntax.DplOut:
			if fd := p.word(r.Word, false); strings.Trim(fd, "0123456789-") == "" {
				continue
			}
		}
		file := p.word(r.Word, false)
		name := ">"
		if r.Op == syntax.RdrIn || r.Op == syntax.DplIn {
			name = "<"
			in = &input{}
		}
		if file == "/dev/null" {
			continue
		}
		if name == ">" {
			p.written[clean(file)] = true
		}
		p.add(name, name, []string{name, file})
	}
	return in
}

func (p *parse) add(name, path string, words []string) {
	c := Call{Name: name, path: path, words: words}
	for _, w := range words[1:] {
		c.Args = append(c.Args, shown(w))
	}
	p.Calls = append(p.Calls, c)
}

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
	maxDepth    = 8            // lines within lines
	maxChain    = 16           // commands that run commands
	maxWords    = 1 << 15      // of all commands
	maxCalls    = 500
	maxBrackets = 1 << 12 // the parser takes time by the square of their depth
)

// A call is a command that a line could run, or a file that it writes (a call of >) or reads (a
// call of <).
type call struct {
	name  string   // without its directory
	words []string // the command as it is written, and its arguments; with unknowns, see word.go
}

// A line is what a command line could do.
type line struct {
	calls   []call
	tested  []string // files that [[ asks about
	reasons []string // why something in it is unresolved
}

// parse returns what a command line could do. An error says that nothing is known about it.
func parse(command string) (line, error) {
	p := parser{written: map[string]bool{}}
	if err := p.parse(command); err != nil {
		return line{}, err
	}
	for _, file := range p.executed {
		if p.written[file] {
			p.unresolved("%s is run, which the same line makes", shown(file))
		}
	}
	return p.line, nil
}

// parser collects what a line, and the lines within it, could do.
type parser struct {
	line
	source   string // the line that is read
	depth    int    // of lines in lines
	chain    int    // of commands that run commands
	read     int    // bytes
	words    int
	braced   int             // braces that were expanded
	written  map[string]bool // files that the line makes or changes
	executed []string        // files that it runs
}

func (p *parser) unresolved(format string, args ...any) {
	p.reasons = append(p.reasons, fmt.Sprintf(format, args...))
}

// add adds a call.
func (p *parser) add(name string, words []string) {
	p.calls = append(p.calls, call{name: name, words: words})
}

// nested parses a line that stands in a line. If it cannot be parsed, it is unresolved.
func (p *parser) nested(by, command string) {
	p.read += len(command)
	if known(command) != command || p.depth == maxDepth || p.read > maxRead {
		p.unresolved("what %s runs is not known before it runs", by)
		return
	}
	outer := p.source
	p.depth++
	if err := p.parse(command); err != nil {
		p.unresolved("what %s runs: %v", by, err)
	}
	p.depth--
	p.source = outer
}

func (p *parser) parse(command string) error {
	// Hold the line to the limits before the parser works on it.
	if len(command) > maxBytes {
		return fmt.Errorf("the command has %d bytes, at most %d can be checked: split it", len(command),
			maxBytes)
	}
	brackets := strings.Count(command, "(") + strings.Count(command, "[") + strings.Count(command, "{")
	if brackets > maxBrackets {
		return fmt.Errorf("the command has %d brackets, at most %d can be checked: split it", brackets,
			maxBrackets)
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		return fmt.Errorf("the command cannot be parsed as bash: %w", err)
	}
	tooMany := fmt.Errorf("the command runs more than %d commands: split it", maxCalls)
	statements := 0
	for node := range syntax.Preorder(file) {
		if _, ok := node.(*syntax.Stmt); ok {
			statements++
		}
	}
	if statements > 3*maxCalls {
		return tooMany
	}

	// Go through everything in it. What a pipe feeds into a statement is known before the walk
	// comes to the statement.
	p.source = command
	stdin := map[*syntax.Stmt]*input{}
	for node := range syntax.Preorder(file) {
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
			p.statement(x, stdin[x])
		case *syntax.CoprocClause:
			if x.Name != nil { // or is it the command, and no name?
				p.call([]string{p.word(x.Name, false), anything}, &input{})
			}
		default:
			p.variables(node)
		}
		if len(p.calls) > maxCalls {
			return tooMany
		}
	}
	return nil
}

// statement adds the files of a statement's redirections, and its command.
func (p *parser) statement(stmt *syntax.Stmt, in *input) {
	for _, r := range stmt.Redirs {
		in = p.redirect(r, in)
	}
	simple, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok {
		return
	}
	for _, a := range simple.Assigns {
		if len(simple.Args) > 0 && a.Name != nil {
			p.assign(a.Name.Value, p.value(a), true)
		}
	}
	p.call(p.fields(simple.Args), in)
}

// An input is what a command reads: a text, if it is known.
type input struct {
	text  string
	known bool
}

// output is what a statement writes. It is known of echo and printf with a plain text.
func (p *parser) output(stmt *syntax.Stmt) *input {
	simple, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(stmt.Redirs) > 0 {
		return &input{}
	}
	words := p.fields(simple.Args)
	if len(words) < 2 || words[0] != "echo" && (words[0] != "printf" || len(words) > 2) {
		return &input{}
	}
	text := strings.Join(words[1:], " ")
	if text == "" || known(text) != text || strings.ContainsAny(text, "\\%") || text[0] == '-' {
		return &input{}
	}
	return &input{text: text, known: true}
}

// redirect adds the file of a redirection, and returns what the statement reads.
func (p *parser) redirect(r *syntax.Redirect, in *input) *input {
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if r.Hdoc == nil {
			return &input{}
		}
		text := p.word(r.Hdoc, true)
		return &input{text: text, known: known(text) == text}
	case syntax.WordHdoc:
		text := p.word(r.Word, true)
		return &input{text: text, known: known(text) == text}
	}
	file := p.word(r.Word, false)
	name := ">"
	switch r.Op {
	case syntax.DplIn, syntax.DplOut:
		if strings.Trim(file, "0123456789-") == "" { // 2>&1
			return in
		}
	}
	if r.Op == syntax.RdrIn || r.Op == syntax.DplIn {
		name = "<"
		in = &input{}
	}
	if file != "/dev/null" {
		if name == ">" {
			p.written[clean(file)] = true
		}
		p.add(name, []string{name, file})
	}
	if r.Op == syntax.RdrInOut {
		p.add("<", []string{"<", file})
		in = &input{}
	}
	return in
}

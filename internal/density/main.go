// Command density measures how much the lines of Go code carry, by a few figures that can be compared
// over time and with other projects. It prints a table and fails nothing:
//
//	go run ./internal/density [DIR …]
//
// Tests and generated files are left out. A figure is a hint where to look, and no goal.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// A count is a share: so many of all.
type count struct{ some, all int }

func (c *count) add(is bool) {
	c.all++
	if is {
		c.some++
	}
}

// figures are what is measured of a folder.
type figures struct {
	parallel   count // assignments of several values at once, of assignments
	hidden     count // assignments before a condition ("if x = f(); x > 0") of no error and no ok, of if statements
	positional count // struct literals without field names, of those with three fields or more
	wide       count // lines of more than 100 characters
	commented  count // lines of comment within functions, of their lines
	long       count // functions of more than 60 lines
}

func main() {
	dirs := os.Args[1:]
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\tparallel\thidden\tpositional\twide\tcommented\tlong\t")
	for _, dir := range dirs {
		f, err := measured(dir)
		if err != nil {
			fmt.Fprintln(os.Stderr, "density:", err)
			continue
		}
		fmt.Fprintf(table, "%s\t", dir)
		for _, c := range []count{f.parallel, f.hidden, f.positional, f.wide, f.commented, f.long} {
			fmt.Fprintf(table, "%.1f %%\t", 100*float64(c.some)/float64(max(c.all, 1)))
		}
		fmt.Fprintln(table)
	}
	table.Flush()
}

// measured measures every Go file below a folder.
func measured(dir string) (*figures, error) {
	f := &figures{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && path != dir && (name == "testdata" || strings.HasPrefix(name, ".")) {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		return f.file(path)
	})
	return f, err
}

// file adds the figures of one file.
func (f *figures) file(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, path, text, parser.ParseComments)
	if err != nil || ast.IsGenerated(parsed) {
		return err
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for lines.Scan() {
		f.wide.add(utf8.RuneCount(lines.Bytes()) > 100)
	}
	line := func(at token.Pos) int { return files.Position(at).Line }
	for _, decl := range parsed.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		f.function(fn, line)
		f.commented.all += line(fn.Body.End()) - line(fn.Body.Pos())
		for _, group := range parsed.Comments {
			if fn.Body.Pos() < group.Pos() && group.End() < fn.Body.End() {
				f.commented.some += line(group.End()) - line(group.Pos()) + 1
			}
		}
	}
	elided := map[*ast.CompositeLit]bool{} // literals whose type stands further out, and is no struct
	ast.Inspect(parsed, func(n ast.Node) bool {
		if lit, ok := n.(*ast.CompositeLit); ok {
			f.literal(lit, elided)
		}
		return true
	})
	return nil
}

// function adds the figures of a function's statements.
func (f *figures) function(fn *ast.FuncDecl, line func(token.Pos) int) {
	f.long.add(line(fn.End())-line(fn.Pos()) > 60)
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if assign, ok := n.(*ast.AssignStmt); ok {
			f.parallel.add(len(assign.Lhs) > 1 && len(assign.Lhs) == len(assign.Rhs))
		}
		if cond, ok := n.(*ast.IfStmt); ok {
			f.hidden.add(cond.Init != nil && hides(cond.Init))
		}
		return true
	})
}

// hides reports whether a statement before a condition assigns to a variable that was there before, and
// that is no error and no ok.
func hides(s ast.Stmt) bool {
	assign, ok := s.(*ast.AssignStmt)
	if !ok || assign.Tok == token.DEFINE {
		return false
	}
	for _, left := range assign.Lhs {
		if name, is := left.(*ast.Ident); is && (strings.HasSuffix(strings.ToLower(name.Name), "err") || name.Name == "ok") {
			return false
		}
	}
	return true
}

// literal adds a composite literal, if it is one of a struct with three fields or more. Whether it is,
// is guessed from how it is written: types are not looked up.
func (f *figures) literal(lit *ast.CompositeLit, elided map[*ast.CompositeLit]bool) {
	structs := lit.Type == nil && !elided[lit]
	switch t := lit.Type.(type) {
	case *ast.Ident, *ast.SelectorExpr, *ast.StructType, *ast.IndexExpr:
		structs = true
	case *ast.ArrayType:
		mark(lit, t.Elt, elided)
	case *ast.MapType:
		mark(lit, t.Value, elided)
	}
	if !structs || len(lit.Elts) < 3 {
		return
	}
	_, keyed := lit.Elts[0].(*ast.KeyValueExpr)
	f.positional.add(!keyed)
}

// mark notes the literals inside of another one that are of an array or a map.
func mark(lit *ast.CompositeLit, element ast.Expr, elided map[*ast.CompositeLit]bool) {
	switch element.(type) {
	case *ast.ArrayType, *ast.MapType:
	default:
		return
	}
	for _, e := range lit.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			e = pair.Value
		}
		if inner, ok := e.(*ast.CompositeLit); ok {
			elided[inner] = true
		}
	}
}

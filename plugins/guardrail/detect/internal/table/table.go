// Package table reads data files: plain text with one row a line, which people can read and edit.
//
//	# A file begins with a comment that explains its columns.
//
//	first cell	second cell	last cell, which may
//		go on in lines that begin with a tab
//
// One or more tabs stand between cells. Lines that begin with # are comments, and empty lines count
// for nothing. A cell without anything in it is written as a single hyphen.
//
// The files are parts of a program, so whatever is wrong in one panics with its name and line; a
// test that reads them all shows it. A new kind of cell, such as [Row.Ranges], is a method of Row.
package table

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Row is one row of a file.
type Row struct {
	// Cells are the row's cells, without the spaces around them. An empty cell is "".
	Cells []string

	file string
	line int
}

// Fail panics with the row's file and line, and what is wrong there.
func (r Row) Fail(format string, args ...any) {
	panic(fmt.Sprintf("%s:%d: %s", r.file, r.line, fmt.Sprintf(format, args...)))
}

// Int reads a cell as a number.
func (r Row) Int(cell int) int { return r.number(r.Cells[cell]) }

func (r Row) number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		r.Fail("%q is not a whole number", text)
	}
	return n
}

// Ranges reads a cell of numbers and ranges of numbers, and returns the first and the last of each:
// 45, 10-19.
func (r Row) Ranges(cell int) (ranges [][2]int) {
	for _, text := range List(r.Cells[cell]) {
		low, high, two := strings.Cut(text, "-")
		if !two {
			high = low
		}
		ranges = append(ranges, [2]int{r.number(low), r.number(high)})
	}
	return ranges
}

// Read returns the rows of a file. Each must have as many cells as the columns that are named.
func Read(files fs.FS, name string, columns ...string) []Row {
	raw, err := fs.ReadFile(files, name)
	if err != nil {
		panic(err)
	}
	text := string(raw)
	here := Row{file: name, line: 1}
	if !strings.HasPrefix(text, "#") || !utf8.ValidString(text) {
		here.Fail("the file is not UTF-8 that begins with a comment, which explains its columns")
	}

	// All cells are in one slice, so that reading a file costs little.
	rows := make([]Row, 0, strings.Count(text, "\n"))
	cells := make([]string, 0, cap(rows)*len(columns))
	here.line = 0
	for line := range strings.Lines(text) {
		here.line++
		line = strings.TrimRight(line, " \r\n")
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '\t':
			// The line goes on with the last cell of the row above.
			if len(rows) == 0 {
				here.Fail("the line begins with a tab, but there is no row above that it goes on with")
			}
			above := rows[len(rows)-1].Cells
			above[len(above)-1] += " " + strings.TrimSpace(line)
		default:
			first := len(cells)
			cells = split(cells, line)
			here.Cells = cells[first:len(cells):len(cells)]
			if len(here.Cells) != len(columns) {
				here.Fail("the row has %d cells in place of %d (%s), with tabs between",
					len(here.Cells), len(columns), strings.Join(columns, ", "))
			}
			rows = append(rows, here)
		}
	}
	return rows
}

// split appends the cells of a line.
func split(cells []string, line string) []string {
	for line != "" {
		cell, rest, _ := strings.Cut(line, "\t")
		line = rest
		cell = strings.TrimSpace(cell)
		switch cell {
		case "": // several tabs in a row
		case "-":
			cells = append(cells, "")
		default:
			cells = append(cells, cell)
		}
	}
	return cells
}

// List parts a cell at its commas. Words in double quotes keep the spaces at their ends.
func List(cell string) []string {
	return ListBy(cell, ",")
}

// ListBy parts a cell at another sign than a comma.
func ListBy(cell, sign string) []string {
	if cell == "" {
		return nil
	}
	list := make([]string, 0, strings.Count(cell, sign)+1)
	for word := range strings.SplitSeq(cell, sign) {
		word = strings.TrimSpace(word)
		if sign == "," && len(word) > 1 && word[0] == '"' && word[len(word)-1] == '"' {
			word = word[1 : len(word)-1]
		}
		list = append(list, word)
	}
	return list
}

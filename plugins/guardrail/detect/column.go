package detect

import "strings"

// How far above a row of a table its header may be, and how long a row may be before the numeral,
// in bytes.
const (
	headerBytes = 600
	rowBytes    = 200
)

// header returns where the name of the numeral's column stands, if it is in a table with commas,
// semicolons, tabs or | between the columns. The first line after an empty one has their names.
func (v *numeral) header() (start, end int) {
	// Where the row begins. The text's first line is no row.
	first := max(0, v.pre-rowBytes-2)
	row := v.lineBegin(first)
	if row <= first {
		return 0, 0
	}

	// Which column it is.
	separator := byte(0)
	column := 0
	for i := v.pre; i > row; i-- {
		c := v.text[i-1]
		if separator == 0 && isColumnEnd(c) {
			separator = c
		}
		if c == separator && separator != 0 {
			column++
		}
	}
	if separator == 0 {
		return 0, 0
	}

	// The line with the names, behind an empty line. That of a row before is known.
	head := row - 1
	for head > 0 && head != v.headRow && (v.text[head-1] != '\n' || head > 1 && v.text[head-2] != '\n') {
		head--
		if row-head > headerBytes+1 { // too far above
			break
		}
	}
	if head == v.headRow && head > 0 {
		head = v.head
	}
	v.headRow = row - 1
	v.head = head
	if row-head > headerBytes {
		return 0, 0
	}
	for ; column > 0; column-- {
		next := strings.IndexByte(v.text[head:row], separator)
		if next < 0 {
			return 0, 0
		}
		head += next + 1
	}
	end = head
	for end < row && v.text[end] != separator && v.text[end] != '\n' {
		if isDigit(v.text[end]) {
			return 0, 0
		}
		end++
	}
	return head, end
}

// lineBegin returns where the numeral's line begins, or a place up to first if that is before it.
// It looks only at what is new since the numeral before.
func (v *numeral) lineBegin(first int) int {
	from := v.lined
	if from < first || from > v.pre {
		from = first
		v.line = 0
	}
	last := strings.LastIndexByte(v.text[from:v.pre], '\n')
	if last >= 0 {
		v.line = from + last + 1
	}
	v.lined = v.pre
	return v.line
}

// isColumnEnd tells whether a byte parts the columns of a table.
func isColumnEnd(c byte) bool { return c == ',' || c == ';' || c == '\t' || c == '|' }

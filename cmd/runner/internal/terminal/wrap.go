package terminal

import (
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"
)

// Columns returns how wide the terminal is that w writes to, and 0 if it is none.
func Columns(w any) int {
	if b, ok := w.(besideWaiting); ok {
		w = b.to
	}
	if !Is(w) {
		return 0
	}
	columns, _, err := term.GetSize(int(w.(interface{ Fd() uintptr }).Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// A Wrapper breaks text between words where a line of a terminal ends. The text may come in pieces. A line break in
// the text stays, and a word that is longer than a line is left to the terminal.
type Wrapper struct {
	Columns int // 0 leaves the text as it is
	Indent  int // blanks before a line that goes on with the one before it

	column int // where the next character is written
	spaces string
	word   strings.Builder
	width  int  // columns that the word takes
	inside bool // the beginning of the word, which is longer than a line, is written
}

// Add returns what of the text can be written now: all but its last word, which may go on.
func (w *Wrapper) Add(text string) string {
	if w.Columns <= 0 {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '\n':
			w.flush(&out)
			out.WriteRune(r)
			w.column = 0
		case r == ' ' || r == '\t':
			w.flush(&out)
			w.spaces += string(r)
		default:
			// Languages that write wide characters have no blanks: a line may end before each of them.
			wide := runewidth.RuneWidth(r) > 1 && unicode.IsLetter(r)
			if wide {
				w.flush(&out)
			}
			w.word.WriteRune(r)
			w.width += runewidth.RuneWidth(r)
			if wide {
				w.flush(&out)
			} else if w.width > w.Columns {
				w.flush(&out)
				w.inside = true
			}
		}
	}
	return out.String()
}

// Skip says that a text was written without the Wrapper.
func (w *Wrapper) Skip(text string) { w.column += runewidth.StringWidth(text) }

// End returns the last word. What comes next begins a line.
func (w *Wrapper) End() string {
	var out strings.Builder
	w.flush(&out)
	w.column = 0
	w.spaces = ""
	return out.String()
}

// flush writes the word, and the blanks before it or a line break in their place.
func (w *Wrapper) flush(out *strings.Builder) {
	inside := w.inside
	w.inside = false
	if w.word.Len() == 0 {
		return
	}
	blanks := runewidth.StringWidth(w.spaces) + strings.Count(w.spaces, "\t")*8
	if !inside && w.column > w.Indent && w.column+blanks+w.width > w.Columns {
		out.WriteString("\n" + strings.Repeat(" ", w.Indent))
		w.column = w.Indent
	} else {
		out.WriteString(w.spaces)
		w.column += blanks
	}
	out.WriteString(w.word.String())
	w.column += w.width
	w.spaces = ""
	w.word.Reset()
	w.width = 0
}

// Wrap returns text with lines that are no longer than so many columns, 0 being any number. A line that is broken goes on below its text:
// below what stands behind the first gap of two blanks, as in a list of flags.
func Wrap(text string, columns int) string {
	if columns <= 0 {
		return text
	}
	const least = 24 // columns of text beside a list's names
	var out strings.Builder
	for _, line := range paragraphs(text, columns) {
		w := Wrapper{Columns: columns, Indent: textColumn(strings.TrimRight(line, "\n"))}
		if own := len(line) - len(strings.TrimLeft(line, " ")); w.Indent > own && columns-w.Indent < least {
			w.Indent = own + 2
		}
		out.WriteString(w.Add(line))
		out.WriteString(w.End())
	}
	return out.String()
}

// paragraphs returns the lines of a text. Those of a paragraph are one if a line of it is too long: lines that follow each
// other, and are not indented.
func paragraphs(text string, columns int) (list []string) {
	var open []string
	tooLong := false
	end := func() {
		if tooLong {
			text := strings.Join(open, "")
			ended := strings.TrimSuffix(text, "\n")
			open = []string{strings.ReplaceAll(ended, "\n", " ") + text[len(ended):]}
		}
		list = append(list, open...)
		open = nil
		tooLong = false
	}
	for line := range strings.Lines(text) {
		if line == "\n" || strings.HasPrefix(line, " ") {
			end()
			list = append(list, line)
			continue
		}
		open = append(open, line)
		tooLong = tooLong || runewidth.StringWidth(line) > columns
	}
	end()
	return list
}

// textColumn returns the column where a line's text begins: that behind a gap, if there is one.
func textColumn(line string) int {
	begin := len(line) - len(strings.TrimLeft(line, " "))
	if gap := strings.Index(line[begin:], "  "); gap >= 0 {
		rest := line[begin+gap:]
		begin = runewidth.StringWidth(line) - runewidth.StringWidth(strings.TrimLeft(rest, " "))
	}
	return begin
}

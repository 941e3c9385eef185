package policy

import (
	"regexp"
	"slices"
	"strings"

	"github.com/plughook/plughook/plugins/guardrail/detect"
)

// lines finds what a regular expression matches in each line of a text, as if the line stood alone.
// A line longer than maxLine is matched in pieces of that size, and each piece begins with the last
// maxMatch bytes of the one before it, so that a match of at most that size is found wherever it
// stands. Of a stream only the last line, or piece, is held back.
type lines struct {
	kind string
	re   *regexp.Regexp

	filtered bool // a match has one of its literals in it, which the policy's automaton finds
}

const (
	maxLine  = 4096
	maxMatch = 1024
)

// Find implements detect.Detector.
func (l lines) Find(found []detect.Finding, text string) []detect.Finding {
	for at := 0; at < len(text); {
		matches, next := l.piece(text, at)
		for _, m := range matches {
			found = l.appendMatch(found, at, m)
		}
		at = next
	}
	return found
}

// findAt is Find in a text of which the places of the expression's literals are known, in order.
func (l lines) findAt(found []detect.Finding, text string, at []byteRange) []detect.Finding {
	next := 0 // nothing before this byte is looked at again
	for len(at) > 0 {
		if at[0].start < next {
			at = at[1:]
			continue
		}

		// The line, or the piece of one, that the literal stands in.
		line := next + strings.LastIndexByte(text[next:at[0].start], '\n') + 1
		end := lineEnd(text, line)
		for end < at[0].end && text[end-1] != '\n' {
			line = end - maxMatch
			end = lineEnd(text, line)
		}

		matches, after := l.piece(text, line)
		for _, m := range matches {
			found = l.appendMatch(found, line, m)
		}
		next = after
	}
	return found
}

// Reader implements detect.Detector.
func (l lines) Reader() detect.Reader { return &linesReader{lines: l} }

// piece returns what is matched in the piece that begins at a byte, from there on, and where the
// next begins.
func (l lines) piece(text string, at int) (matches [][]int, next int) {
	end := lineEnd(text, at)
	matches = l.re.FindAllStringIndex(strings.TrimSuffix(text[at:end], "\n"), -1)
	if end-at < maxLine || text[end-1] == '\n' {
		return matches, end
	}
	next = end - maxMatch
	i := slices.IndexFunc(matches, func(m []int) bool {
		return at+m[0] > next || at+m[0] == next && at+m[1] == end
	})
	if i >= 0 { // the next piece has these matches whole
		matches = matches[:i]
	}
	if len(matches) > 0 {
		next = max(next, at+matches[len(matches)-1][1])
	}
	return matches, next
}

// lineEnd returns the end of the line, or the piece of one, that begins at a byte: after its line
// feed.
func lineEnd(text string, at int) int {
	rest := text[at:min(len(text), at+maxLine)]
	i := strings.IndexByte(rest, '\n')
	if i >= 0 {
		return at + i + 1
	}
	return at + len(rest)
}

// A linesReader is where lines are in a text that grows.
type linesReader struct {
	lines
	from     int         // where the last line, or piece, begins
	literals []byteRange // behind from, if the expression is filtered
}

// Wait implements detect.Reader. The last line is matched once it ends.
func (r *linesReader) Wait() int { return 0 }

// Clone implements detect.Reader.
func (r *linesReader) Clone() detect.Reader {
	clone := *r
	return &clone
}

// Read implements detect.Reader.
func (r *linesReader) Read(found []detect.Finding, text string) ([]detect.Finding, int) {
	for r.from < len(text) {
		at := r.from
		end := lineEnd(text, at)
		whole := end-at == maxLine || text[end-1] == '\n'
		if !whole {
			break
		}
		inside := func(p byteRange) bool { return p.start >= at && p.end <= end }
		if r.filtered && !slices.ContainsFunc(r.literals, inside) {
			r.from = end
			if text[end-1] != '\n' {
				r.from = end - maxMatch
			}
			continue
		}
		matches, next := r.piece(text, at)
		for _, m := range matches {
			found = r.appendMatch(found, at, m)
		}
		r.from = next
	}
	return found, r.from
}

// appendMatch appends a match in a piece that begins at a byte, unless it is empty.
func (l lines) appendMatch(found []detect.Finding, at int, m []int) []detect.Finding {
	if m[0] == m[1] {
		return found
	}
	return append(found, detect.Finding{
		Type:  l.kind,
		Rule:  "regexp",
		Start: at + m[0],
		End:   at + m[1],
		Score: 1,
	})
}

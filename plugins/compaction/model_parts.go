package compaction

import (
	"fmt"
	"sort"
	"strings"
)

// smallestPart is how many tokens of a request have to be left for the conversation.
const smallestPart = 64

// parts returns the transcript of a request's events in parts, each of which fits into one request with all that
// stands around it. Every event that says something is in one of them.
func (m *Model) parts(r *Request) ([]string, error) {
	left, err := m.left(r)
	if err != nil {
		return nil, err
	}
	var lines []line
	for _, e := range r.Events {
		if l, ok := lineOf(e); ok {
			lines = append(lines, m.shortened(l, left, r.Count))
		}
	}
	if len(lines) == 0 && r.Prior == "" {
		return nil, fmt.Errorf("there is nothing to summarize in %d events", len(r.Events))
	}
	var parts []string
	for len(lines) > 0 {
		n := fitting(lines, left, r.Count)
		parts = append(parts, transcript(lines[:n]))
		lines = lines[n:]
	}
	return parts, nil
}

// left returns how many tokens of a request are left for the conversation.
func (m *Model) left(r *Request) (int, error) {
	// What stands around it is as large as it can be: many parts, and a summary before that has all its tokens.
	frame := r.Count(m.prompt()) + r.Count(asking("-", "", r.Instructions, 1e6, 1e6, r.Budget)) + max(r.Count(r.Prior), r.Budget)
	if left := m.maxInput() - frame; left >= smallestPart {
		return left, nil
	}
	return 0, fmt.Errorf("compaction: max_input %d has no room for the conversation beside prompt, instructions and summary, which have up to %d tokens; give it %d at least", m.maxInput(), frame, frame+smallestPart)
}

// shortened returns a line that fits a part alone.
func (m *Model) shortened(l line, left int, count func(string) int) line {
	fits := func(l line) bool { return count(transcript([]line{l})) <= left }
	if fits(l) {
		return l
	}
	// The most bytes that fit; more than 16 for a token are not tried.
	n := sort.Search(min(len(l.text), 16*left), func(most int) bool { return !fits(l.cut(most)) })
	return l.cut(max(0, n-1))
}

// fitting returns how many of the lines fit a part: one at least.
func fitting(lines []line, left int, count func(string) int) int {
	size := 1
	for size < len(lines) && count(transcript(lines[:size])) <= left {
		size *= 2
	}
	size = min(size, len(lines))
	return max(1, sort.Search(size, func(i int) bool { return count(transcript(lines[:i+1])) > left }))
}

// transcript returns lines as text.
func transcript(lines []line) string {
	var b strings.Builder
	day := ""
	for _, l := range lines {
		l.write(&b, day)
		day = l.day
	}
	return b.String()
}

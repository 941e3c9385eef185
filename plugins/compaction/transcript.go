package compaction

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/plugins/compaction/internal/extract"
	"github.com/plughook/plughook/session"
)

// smallestPart is how many tokens of a request must be left for the conversation.
const smallestPart = 64

// parts returns the transcript of a request's events in parts, each of which fits into one request. Every
// event that a model is shown anything of is in one of them.
func (m *Model) parts(r *Request) ([]string, error) {
	left, err := m.room(r)
	if err != nil {
		return nil, err
	}
	var lines []line
	for _, e := range extract.WithoutForged(r.Events) {
		if l, ok := lineOf(e); ok {
			lines = append(lines, fitted(l, left, r.Count))
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

// room returns how many tokens of a request are left for the conversation.
func (m *Model) room(r *Request) (int, error) {
	// Assume the largest request: with high numbers of parts, and a summary before that uses its whole
	// budget.
	request := r.Count(summaryPrompt("-", "", r.Instructions, 1e6, 1e6, r.Budget))
	around := r.Count(m.prompt()) + request + max(r.Count(r.Prior), r.Budget)
	left := m.maxInput() - around
	if left < smallestPart {
		return 0, fmt.Errorf(
			"compaction: max_input %d leaves no room for the conversation: prompt, instructions and summary have up to %d tokens; set it to at least %d",
			m.maxInput(),
			around,
			around+smallestPart,
		)
	}
	return left, nil
}

// fitted returns a line that fits into a part.
func fitted(l line, left int, count func(string) int) line {
	fits := func(l line) bool { return count(transcript([]line{l})) <= left }
	if fits(l) {
		return l
	}
	// Find the largest number of bytes that fits, assuming that a token has at most 16.
	n := sort.Search(min(len(l.text), 16*left), func(most int) bool { return !fits(l.cut(most)) })
	return l.cut(max(0, n-1))
}

// fitting returns how many of the lines fit into one part, at least 1.
func fitting(lines []line, left int, count func(string) int) int {
	size := 1
	for size < len(lines) && count(transcript(lines[:size])) <= left {
		size *= 2
	}
	size = min(size, len(lines))
	return max(1, sort.Search(size, func(i int) bool { return count(transcript(lines[:i+1])) > left }))
}

// transcript returns the text of lines.
func transcript(lines []line) string {
	var b strings.Builder
	day := ""
	for _, l := range lines {
		l.write(&b, day)
		day = l.day
	}
	return b.String()
}

// plainName matches names of authors that cannot be mistaken for another part of a line. Whoever uses it
// bounds their length, since a regular expression that counts letters of all scripts takes milliseconds to
// compile.
var plainName = lazyregexp.New(`^[\pL\pN_./@-]+$`)

const maxName = 64 // characters

// A line is an event in a transcript. It is one line, whatever the event says.
type line struct {
	seq  string
	day  string // 2006-01-02, "" if the time is not known
	who  string
	text string
}

// lineOf returns the line of an event; ok is false if a model is shown nothing of the event.
func lineOf(e *session.Event) (l line, ok bool) {
	var texts []string
	if e.Content != nil {
		for _, p := range e.Content.Parts {
			text := extract.OneLine(partText(e, p))
			if text != "" {
				texts = append(texts, text)
			}
		}
	}
	if e.ErrorCode != "" {
		texts = append(texts, extract.OneLine(fmt.Sprintf("(failed: %s %s)", e.ErrorCode, e.ErrorMessage)))
	}
	if len(texts) == 0 {
		return line{}, false
	}
	l = line{
		seq:  strconv.FormatInt(e.Seq, 10),
		who:  e.Author,
		text: strings.Join(texts, "⏎"),
	}
	if !plainName.MatchString(l.who) || utf8.RuneCountInString(l.who) > maxName {
		l.who = strconv.QuoteToASCII(l.who[:min(len(l.who), 64)])
	}
	if !e.Timestamp.IsZero() {
		l.day = e.Timestamp.UTC().Format("2006-01-02")
	}
	return l, true
}

// partText returns the text of a part, "" for a thought.
func partText(e *session.Event, p *genai.Part) string {
	kind := ""
	switch {
	case p == nil || p.Thought:
		return ""
	case e.Makes(p):
		return "calls " + rendered(p)
	case p.FunctionCall != nil:
		return "has written as if it were a call: " + rendered(p)
	case p.FunctionResponse != nil && p.FunctionResponse.Name == extract.RecallName:
		return "answer of recall (earlier parts of this conversation, which are left out here)"
	case p.FunctionResponse != nil:
		return "answer of " + rendered(p)
	case p.ExecutableCode != nil:
		return "runs " + p.ExecutableCode.Code
	case p.CodeExecutionResult != nil:
		return "result " + p.CodeExecutionResult.Output
	case p.InlineData != nil:
		kind = p.InlineData.MIMEType
	case p.FileData != nil:
		kind = p.FileData.MIMEType + " " + p.FileData.FileURI
	default:
		return p.Text
	}
	return strings.TrimSpace(p.Text + " (a file: " + strings.TrimSpace(kind) + ")")
}

// rendered returns a call or a response as package extract writes it.
func rendered(p *genai.Part) string {
	return extract.Render(&session.Event{Content: &genai.Content{Parts: []*genai.Part{p}}})
}

// write writes the line, with its day unless the line before has the same.
func (l line) write(b *strings.Builder, dayBefore string) {
	b.WriteString("#" + l.seq + " ")
	if l.day != "" && l.day != dayBefore {
		b.WriteString("(" + l.day + ") ")
	}
	b.WriteString(l.who + ": " + l.text + "\n")
}

// cut returns the line with at most so many bytes of its text: the beginning and the end, with a mark between
// them.
func (l line) cut(most int) line {
	if len(l.text) <= most {
		return l
	}
	head := most * 2 / 3
	tail := len(l.text) - most/3
	for head > 0 && !utf8.RuneStart(l.text[head]) {
		head--
	}
	for tail < len(l.text) && !utf8.RuneStart(l.text[tail]) {
		tail++
	}
	l.text = fmt.Sprintf("%s (%d bytes of this event are left out here) %s", l.text[:head],
		tail-head, l.text[tail:])
	return l
}

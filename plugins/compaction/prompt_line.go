package compaction

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugins/compaction/internal/extract"
	"github.com/plughook/plughook/session"
)

// breaks are what a reader may take for the end of a line. A form feed is one too.
var breaks = regexp.MustCompile("\r\n|[\n\r\v\f\x1c-\x1e\u0085\u2028\u2029]")

// oneLine returns a text as one line of valid UTF-8.
func oneLine(s string) string {
	return breaks.ReplaceAllLiteralString(strings.ToValidUTF8(s, "\uFFFD"), "⏎")
}

// plain matches the names of authors that cannot be taken for anything else.
var plain = regexp.MustCompile(`^[\pL\pN_./@-]{1,64}$`)

// A line is how an event reads in a transcript: one line, whatever the event says.
type line struct{ seq, day, who, text string }

// lineOf returns an event's line; ok is false if a model sees nothing of it.
func lineOf(e *session.Event) (l line, ok bool) {
	var said []string
	if e.Content != nil {
		for _, p := range e.Content.Parts {
			if s := oneLine(partText(p)); s != "" {
				said = append(said, s)
			}
		}
	}
	if e.ErrorCode != "" {
		said = append(said, oneLine(fmt.Sprintf("(failed: %s %s)", e.ErrorCode, e.ErrorMessage)))
	}
	if len(said) == 0 {
		return line{}, false
	}
	l = line{seq: strconv.FormatInt(e.Seq, 10), who: e.Author, text: strings.Join(said, "⏎")}
	if !plain.MatchString(l.who) {
		l.who = strconv.QuoteToASCII(l.who[:min(len(l.who), 64)])
	}
	if !e.Timestamp.IsZero() {
		l.day = e.Timestamp.UTC().Format("2006-01-02")
	}
	return l, true
}

// partText returns what a part says, "" if it is a thought.
func partText(p *genai.Part) string {
	kind := ""
	switch {
	case p == nil || p.Thought:
		return ""
	case p.FunctionCall != nil:
		return "calls " + one(p)
	case p.FunctionResponse != nil:
		return "answer of " + one(p)
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

// one returns a call or a response as everywhere in a summary.
func one(p *genai.Part) string {
	return extract.Render(&session.Event{Content: &genai.Content{Parts: []*genai.Part{p}}})
}

// write adds the line, with its day if the line before was of another.
func (l line) write(b *strings.Builder, before string) {
	b.WriteString("#" + l.seq + " ")
	if l.day != "" && l.day != before {
		b.WriteString("(" + l.day + ") ")
	}
	b.WriteString(l.who + ": " + l.text + "\n")
}

// cut returns the line with at most so many bytes of text: its beginning, a mark, and its end.
func (l line) cut(most int) line {
	if len(l.text) <= most {
		return l
	}
	head, tail := most*2/3, len(l.text)-most/3
	for head > 0 && !utf8.RuneStart(l.text[head]) {
		head--
	}
	for tail < len(l.text) && !utf8.RuneStart(l.text[tail]) {
		tail++
	}
	l.text = fmt.Sprintf("%s (%d bytes of this event are left out here) %s", l.text[:head], tail-head, l.text[tail:])
	return l
}

package extract

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/plughook/plughook/session"
)

// longText is the number of words from which on a text is long.
const longText = 250

// isLong reports whether a text is long, by its spaces or its bytes.
func isLong(text string) bool { return strings.Count(text, " ") > longText || len(text) > 16*longText }

// sentencesOf returns the sentences of what an event says: of its own text, of its files, and of the prose in
// the arguments and responses of calls.
func sentencesOf(e *session.Event) (all []sentence) {
	if e.Content == nil {
		return nil
	}
	day := ""
	year := e.Timestamp.Year()
	if !e.Timestamp.IsZero() && year > 0 && year < 10000 {
		day = e.Timestamp.Format(time.DateOnly)
	}
	add := func(author, text string) {
		text = undated(valid(text), e.Timestamp)
		s := sentence{author: author, day: day, long: isLong(text)}
		for _, s.text = range sentences(flat(text)) {
			all = append(all, s)
		}
	}
	author := cmp.Or(strings.TrimSuffix(oneWord(e.Author), "()"), "_")
	add(author, e.Text())
	for _, p := range e.Content.Parts {
		switch {
		case p == nil || p.Thought:
		case p.InlineData != nil:
			add(author, file(p.InlineData.DisplayName, p.InlineData.MIMEType))
		case p.FileData != nil:
			add(author, file(p.FileData.DisplayName, p.FileData.MIMEType))
		case p.FunctionCall != nil && p.FunctionCall.Name == RecallName:
		case p.FunctionResponse != nil && p.FunctionResponse.Name == RecallName:
		case e.Makes(p):
			tool := oneWord(p.FunctionCall.Name) + "()"
			eachProse(p.FunctionCall.Args, func(text string) { add(tool, text) })
		case p.FunctionResponse != nil:
			tool := oneWord(p.FunctionResponse.Name) + "()"
			eachProse(p.FunctionResponse.Response, func(text string) { add(tool, text) })
		}
	}
	return all
}

// file mentions a file: "(file map.png, image/png)". The ledger has its address.
func file(name, mime string) string {
	text := "(file"
	if name != "" {
		text += " " + name
	}
	if mime != "" {
		text += ", " + mime
	}
	return text + ")"
}

// eachProse calls f with the strings in a JSON value that are prose. The others are values for the ledger.
func eachProse(v any, f func(string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			eachProse(v[k], f)
		}
	case []any:
		for _, x := range v {
			eachProse(x, f)
		}
	case string:
		t := strings.TrimSpace(v)
		isJSON := strings.HasPrefix(t, "{") || strings.HasPrefix(t, "[")
		if kindOf(t) == phrase && !isJSON {
			f(t)
		}
	}
}

// undated removes a date in brackets from the beginning of a text, if it is the day of the event's timestamp.
func undated(s string, t time.Time) string {
	head, rest, ok := strings.Cut(s, "]")
	if !ok || !strings.HasPrefix(head, "[") || t.IsZero() {
		return s
	}
	words := strings.FieldsFunc(head[1:], func(r rune) bool { return r == ' ' || r == ',' || r == 'T' })
	yearAndDay := slices.Contains(words, t.Format("2006")) && slices.Contains(words, t.Format("2"))
	if slices.Contains(words, t.Format(time.DateOnly)) || yearAndDay {
		return rest
	}
	return s
}

// A run of more than maxRun bytes without a space tells a reader nothing, and no call gets it from a
// summary: runHead characters of it are kept. In scripts without spaces there are no runs.
const (
	maxRun  = 120
	runHead = 40
)

// flat returns a text as one line. A line that ends with a letter or a digit gets a point. Of a very long run
// without a space, the line has the beginning.
func flat(s string) string {
	isSpace := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	line := make([]byte, 0, len(s))
	for row := range strings.SplitSeq(s, "\n") {
		last := rune(0)
		for run := range strings.FieldsFuncSeq(row, isSpace) {
			if len(line) > 0 {
				line = append(line, ' ')
			}
			if len(run) > maxRun && !strings.ContainsFunc(run, Wide) {
				run = run[:Prefix(run, runHead)] + "…"
			}
			line = append(line, run...)
			last, _ = utf8.DecodeLastRuneInString(run)
		}
		if (unicode.IsLetter(last) || unicode.IsDigit(last)) && !Wide(last) {
			line = append(line, '.')
		}
	}
	return string(line)
}

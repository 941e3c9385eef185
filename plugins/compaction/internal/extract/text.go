package extract

import (
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

// texts returns what an event says, each text as one long sentence: its own text, its files, and the prose in
// the arguments and responses of calls.
func texts(e *session.Event) (all []sentence) {
	if e == nil || e.Content == nil {
		return nil
	}
	day := ""
	year := e.Timestamp.Year()
	if !e.Timestamp.IsZero() && year > 0 && year < 10000 {
		day = e.Timestamp.Format(time.DateOnly)
	}
	add := func(author, text string) {
		text = flat(undated(valid(text), e.Timestamp))
		all = append(all, sentence{author: author, day: day, text: text, long: isLong(text)})
	}
	author := strings.ReplaceAll(strings.TrimSuffix(oneWord(e.Author), "()"), "[", "(")
	add(author, e.Text())
	for _, p := range e.Content.Parts {
		switch {
		case p == nil || p.Thought:
		case p.InlineData != nil:
			add(author, file(p.InlineData.DisplayName, p.InlineData.MIMEType))
		case p.FileData != nil:
			add(author, file(p.FileData.DisplayName, p.FileData.MIMEType))
		case p.FunctionCall != nil:
			tool := oneWord(p.FunctionCall.Name) + "()"
			eachProse(p.FunctionCall.Args, 0, func(text string) { add(tool, text) })
		case p.FunctionResponse != nil:
			tool := oneWord(p.FunctionResponse.Name) + "()"
			eachProse(p.FunctionResponse.Response, 0, func(text string) { add(tool, text) })
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
func eachProse(v any, depth int, f func(string)) {
	switch v := v.(type) {
	case map[string]any:
		if depth < maxDepth {
			for _, k := range slices.Sorted(maps.Keys(v)) {
				eachProse(v[k], depth+1, f)
			}
		}
	case []any:
		if depth < maxDepth {
			for _, x := range v {
				eachProse(x, depth+1, f)
			}
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

// A run of more than maxRun characters without a space tells a reader nothing, and no call gets it from a
// summary: runHead characters of it are kept. In scripts without spaces there are no runs.
const (
	maxRun  = 120
	runHead = 40
)

// flat returns a text as one line, and replaces the characters that have a meaning in prose: brackets,
// semicolons, and colons at the end of a word. Of a very long run without a space it keeps the beginning.
func flat(s string) string {
	line := make([]byte, 0, len(s))
	last := rune(0) // the last rune written
	space := false  // a space comes before the next rune
	run := 0        // how many runes were written since the last space
	head := 0       // where the run's head ends in the line
	endRun := func() {
		if run > maxRun {
			line = append(line[:head], "…"...)
		}
		run = 0
	}
	for i, r := range s {
		switch {
		case r == '\n' && (unicode.IsLetter(last) || unicode.IsDigit(last)):
			endRun()
			line = append(line, '.')
			last = '.'
			space = true
			continue
		case unicode.IsSpace(r) || unicode.IsControl(r):
			space = last != 0
			continue
		case r == '[':
			r = '('
		case r == ']':
			r = ')'
		case r == ';':
			r = ','
		case r == ':':
			next, _ := utf8.DecodeRuneInString(s[i+1:])
			if !beginsWord(next) || last == 0 {
				r = ','
			}
		}
		if space || r >= firstWide {
			endRun()
		}
		if space {
			line = append(line, ' ')
		}
		line = utf8.AppendRune(line, r)
		run++
		if run == runHead {
			head = len(line)
		}
		last = r
		space = false
	}
	endRun()
	return string(line)
}

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

// A text is a passage that somebody wrote, short enough to be kept or dropped as one.
type text struct {
	author string // of a tool's results the tool's name and "()"
	day    string // 2006-01-02, "" if the time is not known
	words  []word
	asks   []bool // of each sentence, whether it is a question
	whole  string // as it was written, in one line
}

const passage = 80 // words after which a text is cut at the end of a sentence

// texts returns the passages of an event: its texts, and the prose in what tools took and returned.
func texts(e *session.Event) (all []text) {
	if e == nil || e.Content == nil {
		return nil
	}
	day := ""
	if y := e.Timestamp.Year(); !e.Timestamp.IsZero() && y > 0 && y < 10000 {
		day = e.Timestamp.Format(time.DateOnly)
	}
	add := func(author, s string) {
		s = flat(undated(valid(s), e.Timestamp))
		words, asks := split(s)
		from := 0
		for len(words) > 0 {
			n, end := len(words), len(s)
			if n > passage*3/2 {
				n = passage
				for n > passage/2 && words[n].sentence == words[n-1].sentence {
					n--
				}
				if words[n].sentence == words[n-1].sentence {
					n = passage
				}
				end = words[n].at
			}
			all = append(all, text{author, day, words[:n:n], asks, strings.TrimSpace(s[from:end])})
			words, from = words[n:], end
		}
	}
	author := strings.ReplaceAll(strings.TrimSuffix(token(e.Author), "()"), "[", "(")
	add(author, e.Text())
	for _, p := range e.Content.Parts {
		switch {
		case p == nil || p.Thought:
		case p.InlineData != nil:
			add(author, file(p.InlineData.DisplayName, p.InlineData.MIMEType))
		case p.FileData != nil:
			add(author, file(p.FileData.DisplayName, p.FileData.MIMEType))
		case p.FunctionCall != nil:
			prose(p.FunctionCall.Args, 0, func(s string) { add(token(p.FunctionCall.Name)+"()", s) })
		case p.FunctionResponse != nil:
			prose(p.FunctionResponse.Response, 0, func(s string) { add(token(p.FunctionResponse.Name)+"()", s) })
		}
	}
	return all
}

// file says that there was a file: "(file map.png, image/png)". Where it is, the ledger says.
func file(name, mime string) string {
	said := "(file"
	if name != "" {
		said += " " + name
	}
	if mime != "" {
		said += ", " + mime
	}
	return said + ")"
}

// prose calls f with the strings in a JSON value that are not values of the ledger.
func prose(v any, depth int, f func(string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if depth < maxDepth {
				prose(v[k], depth+1, f)
			}
		}
	case []any:
		for _, x := range v {
			if depth < maxDepth {
				prose(x, depth+1, f)
			}
		}
	case string:
		if t := strings.TrimSpace(v); kindOf(t) == phrase && !strings.HasPrefix(t, "{") && !strings.HasPrefix(t, "[") {
			f(t)
		}
	}
}

// undated returns a text without a date in brackets at its beginning that its event's time says too.
func undated(s string, t time.Time) string {
	head, rest, ok := strings.Cut(s, "]")
	if !ok || !strings.HasPrefix(head, "[") || t.IsZero() {
		return s
	}
	words := strings.FieldsFunc(head[1:], func(r rune) bool { return r == ' ' || r == ',' || r == 'T' })
	if slices.Contains(words, t.Format(time.DateOnly)) || slices.Contains(words, t.Format("2006")) && slices.Contains(words, t.Format("2")) {
		return rest
	}
	return s
}

// flat is a text as one line of prose, without the marks that have a meaning there.
func flat(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	last, blank := rune(0), false // the last rune written, and whether a blank is due
	for i, r := range s {
		switch {
		case r == '\n' && (unicode.IsLetter(last) || unicode.IsDigit(last)):
			b.WriteByte('.')
			last, blank = '.', true
			continue
		case unicode.IsSpace(r) || unicode.IsControl(r):
			blank = last != 0
			continue
		case r == '[':
			r = '('
		case r == ']':
			r = ')'
		case r == ';':
			r = ','
		case r == ':':
			if next, _ := utf8.DecodeRuneInString(s[i+1:]); !letter(next) || last == 0 {
				r = ','
			}
		}
		if blank {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		last, blank = r, false
	}
	return b.String()
}

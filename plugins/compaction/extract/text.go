package extract

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/plughook/plughook/session"
)

// A text is a passage that somebody wrote, short enough to be kept or dropped as one.
type text struct {
	author string // of a tool's results the tool's name and "()"
	day    string // 2006-01-02, "" if the time is not known
	words  []word
	asks   []bool // of each sentence, whether it is a question
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
		words, asks := split(undated(valid(s), e.Timestamp))
		for len(words) > 0 {
			n := len(words)
			if n > passage*3/2 {
				n = passage
				for n > passage/2 && words[n].sentence == words[n-1].sentence {
					n--
				}
				if words[n].sentence == words[n-1].sentence {
					n = passage
				}
			}
			all = append(all, text{author, day, words[:n:n], asks})
			words = words[n:]
		}
	}
	add(strings.ReplaceAll(strings.TrimSuffix(token(e.Author), "()"), "[", "("), e.Text())
	for _, p := range e.Content.Parts {
		switch {
		case p == nil || p.Thought:
		case p.FunctionCall != nil:
			prose(p.FunctionCall.Args, 0, func(s string) { add(token(p.FunctionCall.Name)+"()", s) })
		case p.FunctionResponse != nil:
			prose(p.FunctionResponse.Response, 0, func(s string) { add(token(p.FunctionResponse.Name)+"()", s) })
		}
	}
	return all
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

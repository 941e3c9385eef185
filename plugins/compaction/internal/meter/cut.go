package meter

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/told"
	"github.com/plughook/plughook/plugins/compaction/internal/extract"
	"github.com/plughook/plughook/session"
)

// How many characters of a shortened part are shown.
const (
	line       = 160 // of a part that is cleared
	leastShown = 8
)

// A cut makes what a prompt has in place of a part of an event: its beginning, and how to read on. Of the result
// or the arguments of a call, the longest text in them is cut at the end of a line, if it is most of them, so
// that a model reads it as it reads the whole. Otherwise their JSON is cut.
type cut struct {
	part  *genai.Part
	event *session.Event
	index int
	saved bool   // the whole is an artifact, too
	text  string // what is cut
	path  []any  // the keys and indexes that lead to text in the values of a call or response, nil if it is their JSON
}

// newCut returns the cut of a part.
func newCut(e *session.Event, index int, saved bool) *cut {
	c := &cut{part: e.Content.Parts[index], event: e, index: index, saved: saved, text: e.Content.Parts[index].Text}
	f, ok := functionOf(c.part)
	if !ok {
		return c
	}
	whole := told.JSON(f.values)
	c.path, c.text = longest(f.values)
	if len(c.text) < len(whole)/2 {
		c.path = nil
		c.text = whole
	}
	return c
}

// short returns what a prompt has in place of a part that is shortened.
func (c Cleared) short(e *session.Event, index int) *genai.Part {
	part := Part{Seq: e.Seq, Index: index}
	_, saved := c.Saved[part]
	return newCut(e, index, saved).showing(c.Parts[part])
}

// showing returns the part with at most so many characters of its beginning.
func (c *cut) showing(characters int) *genai.Part {
	f, isFunction := functionOf(c.part)
	switch {
	case !isFunction && c.part.Text == "":
		return &genai.Part{Text: "(a file, for which there is no room here: " + fileType(c.part) + ")"}
	case !isFunction:
		begin := head(c.text, characters)
		return &genai.Part{Text: begin + c.rest(begin, utf8.RuneCountInString(begin))}
	case characters <= line || c.path == nil:
		text := told.JSON(f.values)
		begin := head(text, characters)
		how := "reads them"
		if start := c.start(); start > 0 {
			how = fmt.Sprintf("and skip %d reads them", start)
		}
		rest := fmt.Sprintf("… (%d characters in all; %s)", utf8.RuneCountInString(text), c.reads(how))
		if characters > line {
			rest = c.rest(begin, utf8.RuneCountInString(f.name+" "+begin))
		}
		return f.with(map[string]any{"cleared": begin + rest})
	}

	// The tool recall reads the JSON: find out where in that the text is cut.
	begin := head(c.text, characters)
	until := told.JSON(replaced(f.values, c.path, begin+"\x00"))
	skip := utf8.RuneCountInString(f.name + " " + until[:strings.Index(until, `\u0000`)])
	values, _ := replaced(f.values, c.path, begin+c.rest(begin, skip)).(map[string]any)
	return f.with(values)
}

// rest says what is left out behind the beginning of the text, and how to read on. skip is where in the part's
// own text that is.
func (c *cut) rest(begin string, skip int) string {
	return fmt.Sprintf("… (%d of %d characters; %s)", utf8.RuneCountInString(begin),
		utf8.RuneCountInString(c.text), c.reads(fmt.Sprintf("and skip %d reads on", c.start()+skip)))
}

// start returns where in the event's text, as the tool recall reads it, the part begins.
func (c *cut) start() int {
	before := c.event.Content.Parts[:c.index]
	text := extract.Render(&session.Event{Content: &genai.Content{Parts: before}})
	if text == "" {
		return 0
	}
	_, isFunction := functionOf(c.part)
	_, afterFunction := functionOf(before[c.index-1])
	if isFunction || afterFunction {
		text += "\n"
	}
	return utf8.RuneCountInString(text)
}

// reads says what reads the event.
func (c *cut) reads(how string) string {
	text := fmt.Sprintf("%s with from %d and to %d %s", RecallName, c.event.Seq, c.event.Seq, how)
	if c.saved {
		text += "; they are also the artifact " + Part{Seq: c.event.Seq, Index: c.index}.ArtifactName()
	}
	return text
}

// with returns a part with the call or response, and other values.
func (f functionPart) with(values map[string]any) *genai.Part {
	s := *f.part
	if f.part.FunctionCall != nil {
		call := *f.part.FunctionCall
		call.Args = values
		s.FunctionCall = &call
	} else {
		response := *f.part.FunctionResponse
		response.Response = values
		s.FunctionResponse = &response
	}
	return &s
}

// head returns the beginning of a text, of at most so many characters: to the end of a line, or else of a word,
// if that is not much shorter.
func head(text string, characters int) string {
	begin := text[:extract.Prefix(text, characters)]
	if len(begin) == len(text) {
		return begin
	}
	for _, end := range []string{"\n", " ", ","} {
		i := strings.LastIndex(begin, end)
		if i >= len(begin)/2 {
			return begin[:i+len(end)]
		}
	}
	return begin
}

// longest returns the longest text in a JSON value, and the keys and indexes that lead to it.
func longest(v any) (path []any, text string) {
	take := func(key, v any) {
		below, found := longest(v)
		if len(found) > len(text) {
			path = append([]any{key}, below...)
			text = found
		}
	}
	switch v := v.(type) {
	case string:
		return nil, v
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			take(key, v[key])
		}
	case []any:
		for i := range v {
			take(i, v[i])
		}
	}
	return path, text
}

// replaced returns a copy of a JSON value with another text at the end of a path.
func replaced(v any, path []any, text string) any {
	if len(path) == 0 {
		return text
	}
	switch v := v.(type) {
	case map[string]any:
		v = maps.Clone(v)
		key, _ := path[0].(string)
		v[key] = replaced(v[key], path[1:], text)
		return v
	case []any:
		v = slices.Clone(v)
		i, _ := path[0].(int)
		v[i] = replaced(v[i], path[1:], text)
		return v
	}
	return v
}

// fileType returns the MIME type of a file.
func fileType(p *genai.Part) string {
	switch {
	case p.InlineData != nil:
		return p.InlineData.MIMEType
	case p.FileData != nil:
		return p.FileData.MIMEType
	}
	return ""
}

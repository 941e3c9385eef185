package guardrail

import (
	"slices"
	"strconv"
	"strings"

	"google.golang.org/genai"
)

// call goes through a call. A name that a model has made up is a text of its own; that of a tool that it was offered
// is the application's.
func (w *walker) call(c *genai.FunctionCall) {
	w.in(&item{stage: ToolArgs, call: c, tool: c.Name, args: c.Args}, func(edit func(jsonLeaf) (string, bool)) {
		w.values(&c.Args, edit)
		if w.made != nil && w.made(c) {
			if by, changed := edit(jsonLeaf{text: c.Name, key: true}); changed && w.write {
				c.Name = strings.Trim(by, "[]") // models refuse names with brackets
			}
		}
		if w.piecemeal(c.PartialArgs, edit) && w.write {
			c.PartialArgs = nil
		}
	})
}

// piecemeal goes through arguments as they come in a stream, pieces of one path as one text, and reports whether something
// of them is to be hidden. The whole call has them in its arguments.
func (w *walker) piecemeal(pieces []*genai.PartialArg, edit func(jsonLeaf) (string, bool)) (hidden bool) {
	args := map[string]any{}
	for _, a := range pieces {
		if a == nil {
			continue
		}
		said, _ := args[a.JsonPath].(string)
		said += a.StringValue + a.NULLValue
		if a.NumberValue != nil {
			said += strconv.FormatFloat(*a.NumberValue, 'f', -1, 64)
		}
		args[a.JsonPath] = said
	}
	_, hidden = eachString(args, "", edit)
	return hidden
}

// response goes through a tool's answer and the files that it has. A file with a link that was edited goes.
func (w *walker) response(r *genai.FunctionResponse) {
	it := &item{stage: ToolResult, response: r, tool: r.Name}
	if w.answered != nil {
		it.args = w.answered(r)
	}
	named := w.unasked != nil && w.unasked(r)
	if len(r.Response)+len(r.Parts)+len(r.Scheduling) == 0 && !named {
		return
	}
	w.in(it, func(edit func(jsonLeaf) (string, bool)) {
		w.values(&r.Response, edit)
		if named {
			if by, changed := edit(jsonLeaf{text: r.Name, key: true}); changed && w.write {
				r.Name = strings.Trim(by, "[]")
			}
		}
		text := func(l jsonLeaf, text *string) {
			if l.text = *text; l.text == "" {
				return
			}
			if by, changed := edit(l); changed && w.write {
				*text = by
			}
		}
		label := func(word *string) {
			if !usualLabel.MatchString(*word) {
				text(jsonLeaf{}, word)
			}
		}
		label((*string)(&r.Scheduling))
		parts := slices.DeleteFunc(r.Parts, func(p *genai.FunctionResponsePart) bool {
			if p == nil {
				return false
			}
			label((*string)(&p.MediaProcessing))
			if b := p.InlineData; b != nil {
				text(jsonLeaf{}, &b.DisplayName)
				kind := b.MIMEType
				label(&b.MIMEType)
				if content, l, ok := textOf(kind, b.Data); ok {
					was := content
					if text(l, &content); content != was {
						b.MIMEType, b.Data = inUTF8(b.MIMEType), []byte(content)
					}
				}
			}
			f := p.FileData
			if f == nil {
				return false
			}
			was := f.FileURI
			text(jsonLeaf{}, &f.DisplayName)
			label(&f.MIMEType)
			text(jsonLeaf{}, &f.FileURI)
			return f.FileURI != was
		})
		if w.write {
			r.Parts = parts
		}
	})
}

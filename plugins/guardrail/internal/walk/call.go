package walk

import (
	"slices"
	"strconv"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugins/guardrail/internal/jsonvalue"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/plugins/guardrail/policy/file"
)

// Call goes through a call. A function's name that the model has made up is a text, too; the name
// of a tool that it was offered is the application's.
func (w *Walker) Call(c *genai.FunctionCall) {
	w.item(&Item{Stage: policy.ToolArgs, Call: c, Tool: c.Name, Args: c.Args}, func(edit editFunc) {
		w.object(&c.Args, edit)
		if w.MadeUp != nil && w.MadeUp(c) {
			name, changed := edit(jsonvalue.Leaf{Text: c.Name, Key: true})
			if changed && w.Write {
				c.Name = strings.Trim(name, "[]") // models refuse names with brackets
			}
		}
		if partialArgs(c.PartialArgs, edit) && w.Write {
			c.PartialArgs = nil
		}
	})
}

// partialArgs goes through arguments as they come in a stream, the pieces for one path as one text.
// It reports whether an edit would change them. The whole call has them in its arguments, too.
func partialArgs(pieces []*genai.PartialArg, edit editFunc) (hidden bool) {
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
	_, hidden = jsonvalue.Each(args, "", edit)
	return hidden
}

// response goes through a tool's answer and its files. A file whose link an edit has changed is
// dropped.
func (w *Walker) response(r *genai.FunctionResponse) {
	it := &Item{Stage: policy.ToolResult, Response: r, Tool: r.Name}
	if w.Answered != nil {
		it.Args = w.Answered(r)
	}
	var files []file.File
	for _, p := range r.Parts {
		if p != nil && p.InlineData != nil {
			files = append(files, file.Of(p.InlineData.DisplayName, p.InlineData.MIMEType, p.InlineData.Data))
		}
		if p != nil && p.FileData != nil {
			files = append(files, file.LinkTo(p.FileData.FileURI, p.FileData.MIMEType))
		}
	}
	w.files(&Item{Stage: policy.ToolResult, Response: r, Tool: r.Name, Args: it.Args}, files)
	named := w.Unasked != nil && w.Unasked(r) // then its name is the user's text
	if len(r.Response)+len(r.Parts)+len(r.Scheduling) == 0 && !named {
		return
	}
	w.item(it, func(edit editFunc) {
		w.object(&r.Response, edit)
		if named {
			name, changed := edit(jsonvalue.Leaf{Text: r.Name, Key: true})
			if changed && w.Write {
				r.Name = strings.Trim(name, "[]")
			}
		}
		text := func(l jsonvalue.Leaf, text *string) {
			l.Text = *text
			if l.Text == "" {
				return
			}
			edited, changed := edit(l)
			if changed && w.Write {
				*text = edited
			}
		}
		label := func(word *string) {
			if !UsualLabel(*word) {
				text(jsonvalue.Leaf{}, word)
			}
		}
		label((*string)(&r.Scheduling))
		parts := slices.DeleteFunc(r.Parts, func(p *genai.FunctionResponsePart) bool {
			if p == nil {
				return false
			}
			label((*string)(&p.MediaProcessing))
			if p.InlineData != nil {
				b := p.InlineData
				text(jsonvalue.Leaf{}, &b.DisplayName)
				kind := b.MIMEType
				label(&b.MIMEType)
				if content, l, ok := textOf(kind, b.Data); ok {
					was := content
					text(l, &content)
					if content != was {
						b.MIMEType = inUTF8(b.MIMEType)
						b.Data = []byte(content)
					}
				}
			}
			f := p.FileData
			if f == nil {
				return false
			}
			was := f.FileURI
			text(jsonvalue.Leaf{}, &f.DisplayName)
			label(&f.MIMEType)
			text(jsonvalue.Leaf{}, &f.FileURI)
			return f.FileURI != was
		})
		if w.Write {
			r.Parts = parts
		}
	})
}

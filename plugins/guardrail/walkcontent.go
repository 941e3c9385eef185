package guardrail

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// event goes through an event. stage is that of what its author says.
func (w *walker) event(e *session.Event, stage Stage) {
	w.content(e.Content, stage)
	if c := e.Actions.Compaction; c != nil {
		w.content(c.Content, Summary)
	}
	w.text(stage, &e.ErrorMessage)
	w.labels(e, stage)
	w.sources(e, stage)
	w.json(&item{stage: stage}, &e.Actions.StateDelta)
	mine := maps.Clone(e.CustomMetadata)
	delete(mine, session.NotesKey) // the runner's are not anybody's text
	if w.json(&item{stage: stage}, &mine); w.write && mine != nil {
		if notes, ok := e.CustomMetadata[session.NotesKey]; ok {
			mine[session.NotesKey] = notes
		}
		e.CustomMetadata = mine
	}
	for _, id := range slices.Sorted(maps.Keys(e.Actions.RequestedToolConfirmations)) {
		c := e.Actions.RequestedToolConfirmations[id]
		asked := map[string]any{"hint": c.Hint, "payload": c.Payload}
		w.json(&item{stage: stage}, &asked)
		if hint, ok := asked["hint"].(string); w.write && ok {
			c.Hint, c.Payload = hint, asked["payload"]
			e.Actions.RequestedToolConfirmations[id] = c
		}
	}
	for _, extra := range []map[string]jsontext.Value{e.Extra, e.Actions.Extra} {
		for _, name := range slices.Sorted(maps.Keys(extra)) {
			w.in(&item{stage: stage}, func(edit func(jsonLeaf) (string, bool)) { // if edited, all that is not known here is dropped
				edit(jsonLeaf{text: name, key: true})
				edit(jsonLeaf{name: name, text: string(extra[name])})
			})
		}
	}
	if e.Author == session.User { // what others make has no such keys
		rest := unknown(e)
		w.json(&item{stage: stage}, &rest)
	}
}

func (w *walker) content(c *genai.Content, stage Stage) {
	if c == nil {
		return
	}
	w.run(c.Parts, stage, false)
	w.run(c.Parts, stage, true)
	was := c.Role
	if w.label(stage, &c.Role); c.Role != was {
		c.Role = ""
	}
	for _, p := range c.Parts {
		if p != nil {
			w.part(p, stage)
		}
	}
}

// run is text for what the parts say, or for what they think: it is shown as one, whatever stands between them. What is
// edited stands in the part in which it begins.
func (w *walker) run(parts []*genai.Part, stage Stage, thought bool) {
	var text strings.Builder
	var ends, gaps []int
	var of []*genai.Part
	last := 0
	for i, p := range parts {
		if p != nil && p.Text != "" && p.Thought == thought {
			if of != nil && i > last+1 {
				gaps = append(gaps, text.Len())
			}
			last = i
			text.WriteString(p.Text)
			ends = append(ends, text.Len())
			of = append(of, p)
		}
	}
	if of == nil {
		return
	}
	it := &item{stage: stage, said: true, thought: thought}
	w.around(it, func() {
		if by, changed := w.edit(leaf{jsonLeaf{text: text.String()}, it, ends, gaps}); changed && w.write {
			for i, p := range of {
				p.Text = by[i]
			}
		}
	})
}

// part goes through what else than text a part has.
func (w *walker) part(p *genai.Part, stage Stage) {
	if c := p.FunctionCall; c != nil {
		w.call(c)
	}
	if r := p.FunctionResponse; r != nil {
		w.response(r)
	}
	if b := p.InlineData; b != nil {
		w.text(stage, &b.DisplayName)
		kind := b.MIMEType
		w.label(stage, &b.MIMEType)
		if text, l, ok := textOf(kind, b.Data); ok {
			was := text
			if w.one(&item{stage: stage}, l, &text); text != was {
				b.MIMEType, b.Data = inUTF8(b.MIMEType), []byte(text)
			}
		}
	}
	if f := p.FileData; f != nil {
		w.text(stage, &f.DisplayName)
		w.label(stage, &f.MIMEType)
		was := f.FileURI
		if w.text(stage, &f.FileURI); f.FileURI != was { // it leads nowhere now, and no model takes it as a file
			p.Text, p.FileData, p.VideoMetadata, p.MediaResolution = f.FileURI, nil, nil, nil
		}
	}
	if c := p.ExecutableCode; c != nil {
		w.text(stage, &c.Code)
		w.label(stage, (*string)(&c.Language))
	}
	if r := p.CodeExecutionResult; r != nil {
		w.one(&item{stage: ToolResult, tool: codeTool}, jsonLeaf{}, &r.Output)
		w.label(ToolResult, (*string)(&r.Outcome))
	}
	if a := p.AudioTranscription; a != nil {
		words := heard(a)
		was, said := a.Text, words
		w.text(stage, &a.Text)
		if w.text(stage, &said); a.Text != was || said != words {
			a.Words = nil
		}
		w.text(stage, &a.SpeakerLabel)
	}
	if c := p.ToolCall; c != nil {
		w.json(&item{stage: ToolArgs, tool: string(c.ToolType), args: c.Args}, &c.Args)
		w.label(ToolArgs, (*string)(&c.ToolType))
	}
	if r := p.ToolResponse; r != nil {
		w.json(&item{stage: ToolResult, tool: string(r.ToolType)}, &r.Response)
		w.label(ToolResult, (*string)(&r.ToolType))
	}
	w.json(&item{stage: stage}, &p.PartMetadata)
}

// heard returns the words of a transcription, "" if they are those of its text.
func heard(a *genai.Transcription) string {
	var words []string
	for _, word := range a.Words {
		if word != nil {
			words = append(words, word.Word)
		}
	}
	if joined := strings.Join(words, " "); joined != strings.Join(strings.Fields(a.Text), " ") {
		return joined
	}
	return ""
}

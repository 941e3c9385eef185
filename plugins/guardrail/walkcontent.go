package guardrail

import (
	"maps"
	"slices"

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
	w.one(&item{stage: stage, after: brokenOff(e)}, jsonLeaf{}, &e.ErrorMessage)
	w.labels(e, stage)
	w.sources(e, stage)
	w.state(e, stage)
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
	rest := unknown(e)
	w.json(&item{stage: stage}, &rest)
}

// state goes through what an event sets: what a tool does is of its answer, too.
func (w *walker) state(e *session.Event, stage Stage) {
	it := &item{stage: stage}
	if answers := e.FunctionResponses(); len(answers) > 0 {
		it.also = ToolResult
		if len(answers) == 1 {
			it.tool = answers[0].Name
		}
	}
	w.json(it, &e.Actions.StateDelta)
}

func (w *walker) content(c *genai.Content, stage Stage) {
	if c == nil {
		return
	}
	for _, thought := range []bool{false, true} {
		w.run(c.Parts, &item{stage: stage, said: true, thought: thought}, func(p *genai.Part) *string {
			if p.Thought != thought {
				return nil
			}
			return &p.Text
		})
	}
	w.heard(c.Parts, stage)
	w.code(c.Parts, stage)
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
		w.label(stage, (*string)(&c.Language))
	}
	if r := p.CodeExecutionResult; r != nil {
		w.label(ToolResult, (*string)(&r.Outcome))
	}
	if a := p.AudioTranscription; a != nil {
		w.text(stage, &a.SpeakerLabel)
		w.label(stage, &a.LanguageCode)
	}
	if s := p.SpeechMetadata; s != nil {
		w.label(stage, &s.Speaker)
		w.text(stage, &s.Style)
	}
	if c := p.ToolCall; c != nil {
		w.json(&item{stage: ToolArgs, tool: string(c.ToolType), args: c.Args}, &c.Args)
		w.label(ToolArgs, (*string)(&c.ToolType))
	}
	if r := p.ToolResponse; r != nil {
		w.json(&item{stage: ToolResult, tool: string(r.ToolType)}, &r.Response)
		w.label(ToolResult, (*string)(&r.ToolType))
	}
	w.label(stage, (*string)(&p.MediaProcessing))
	if r := p.MediaResolution; r != nil {
		w.label(stage, (*string)(&r.Level))
	}
	w.json(&item{stage: stage}, &p.PartMetadata)
}

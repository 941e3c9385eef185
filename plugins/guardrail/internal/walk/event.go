package walk

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugins/guardrail/internal/jsonvalue"
	"github.com/plughook/plughook/plugins/guardrail/internal/window"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

// Event goes through an event. stage is the stage of what its author says.
func (w *Walker) Event(e *session.Event, stage policy.Stage) {
	w.Content(e.Content, stage)
	if e.Actions.Compaction != nil {
		c := e.Actions.Compaction
		w.Content(c.Content, policy.Summary)
	}
	w.leaf(&Item{Stage: stage, After: brokenOff(e)}, jsonvalue.Leaf{}, &e.ErrorMessage)
	w.labels(e, stage)
	w.sources(e, stage)
	w.state(e, stage)
	names(w, &Item{Stage: stage}, &e.Actions.ArtifactDelta)
	w.output(e, stage)

	// Metadata, but for what the runner notes.
	mine := maps.Clone(e.CustomMetadata)
	delete(mine, session.NotesKey) // the runner's own notes are nobody's text
	w.json(&Item{Stage: stage}, &mine)
	if w.Write && mine != nil {
		if notes, ok := e.CustomMetadata[session.NotesKey]; ok {
			mine[session.NotesKey] = notes
		}
		e.CustomMetadata = mine
	}

	// What a human is asked about calls.
	for _, id := range slices.Sorted(maps.Keys(e.Actions.RequestedToolConfirmations)) {
		c := e.Actions.RequestedToolConfirmations[id]
		asked := map[string]any{"hint": c.Hint, "payload": c.Payload}
		w.json(&Item{Stage: stage}, &asked)
		if hint, ok := asked["hint"].(string); w.Write && ok {
			c.Hint = hint
			c.Payload = asked["payload"]
			e.Actions.RequestedToolConfirmations[id] = c
		}
	}

	// Keys that this program does not know. An edit cannot change them, but the event then loses
	// all of them.
	for _, extra := range []map[string]jsontext.Value{e.Extra, e.Actions.Extra} {
		for _, name := range slices.Sorted(maps.Keys(extra)) {
			w.item(&Item{Stage: stage}, func(edit editFunc) {
				edit(jsonvalue.Leaf{Text: name, Key: true})
				edit(jsonvalue.Leaf{Name: name, Text: string(extra[name])})
			})
		}
	}
	rest := Unknown(e)
	w.json(&Item{Stage: stage}, &rest)
}

// state goes through the state that an event sets. What a tool sets belongs to its answer, too.
func (w *Walker) state(e *session.Event, stage policy.Stage) {
	it := &Item{Stage: stage}
	answers := e.FunctionResponses()
	if len(answers) > 0 {
		it.Also = policy.ToolResult
		if len(answers) == 1 {
			it.Tool = answers[0].Name
		}
	}
	w.json(it, &e.Actions.StateDelta)
	if e.Author == session.User { // the names of counters are the application's, but for those in an input
		names(w, &Item{Stage: stage}, &e.Actions.StateIncrement)
		names(w, &Item{Stage: stage}, &e.Actions.StateBound)
	}
}

// names goes through the keys of a map whose values are no texts.
func names[V any](w *Walker, it *Item, of *map[string]V) {
	if len(*of) == 0 {
		return
	}
	w.item(it, func(edit editFunc) {
		clean := map[string]V{}
		for _, name := range slices.Sorted(maps.Keys(*of)) {
			edited, changed := edit(jsonvalue.Leaf{Text: name, Key: true})
			w.Dirty = w.Dirty || changed
			if !changed {
				edited = name
			}
			clean[edited] = (*of)[name]
		}
		if w.Write {
			*of = clean
		}
	})
}

// output goes through what a node of a workflow hands on. It is what an agent says or what a tool answers, and the
// event does not say which: the rules about either are about it. A route chooses an edge, and is a word for programs.
func (w *Walker) output(e *session.Event, stage policy.Stage) {
	if e.Output != nil {
		w.value(&Item{Stage: stage, Also: policy.ToolResult}, &e.Output)
	}
	if e.Actions.Route != nil {
		w.value(&Item{Stage: stage, Label: true}, &e.Actions.Route)
	}
}

// Content goes through a content that stands at a stage.
func (w *Walker) Content(c *genai.Content, stage policy.Stage) {
	if c == nil {
		return
	}
	for _, thought := range []bool{false, true} {
		w.joined(c.Parts, &Item{Stage: stage, Said: true, Thought: thought}, func(p *genai.Part) *string {
			if p.Thought != thought {
				return nil
			}
			return &p.Text
		})
	}
	w.transcriptions(c.Parts, stage)
	w.code(c.Parts, stage)
	role := c.Role
	w.label(stage, &c.Role)
	if c.Role != role { // an edited role is none
		c.Role = ""
	}
	var files []policy.File
	for _, p := range c.Parts {
		if p == nil {
			continue
		}
		if p.InlineData != nil {
			files = append(files, policy.FileOf(p.InlineData.DisplayName, p.InlineData.MIMEType, p.InlineData.Data))
		}
		if p.FileData != nil {
			files = append(files, policy.LinkTo(p.FileData.FileURI, p.FileData.MIMEType))
		}
	}
	w.files(&Item{Stage: stage}, files)
	for _, p := range c.Parts {
		if p != nil {
			w.part(p, stage)
		}
	}
}

// part goes through all that a part has beside its text.
func (w *Walker) part(p *genai.Part, stage policy.Stage) {
	if p.FunctionCall != nil {
		w.Call(p.FunctionCall)
	}
	if p.FunctionResponse != nil {
		w.response(p.FunctionResponse)
	}
	if p.InlineData != nil {
		b := p.InlineData
		w.text(stage, &b.DisplayName)
		kind := b.MIMEType
		w.label(stage, &b.MIMEType)
		if text, l, ok := textOf(kind, b.Data); ok {
			was := text
			w.leaf(&Item{Stage: stage}, l, &text)
			if text != was {
				b.MIMEType = inUTF8(b.MIMEType)
				b.Data = []byte(text)
			}
		}
	}
	if p.FileData != nil {
		f := p.FileData
		w.text(stage, &f.DisplayName)
		w.label(stage, &f.MIMEType)
		link := f.FileURI
		w.text(stage, &f.FileURI)
		// an edited link leads nowhere, and no model takes it as a file: it becomes a text
		if f.FileURI != link {
			p.Text = f.FileURI
			p.FileData = nil
			p.VideoMetadata = nil
			p.MediaResolution = nil
		}
	}
	if p.ExecutableCode != nil {
		w.label(stage, (*string)(&p.ExecutableCode.Language))
	}
	if p.CodeExecutionResult != nil {
		w.label(policy.ToolResult, (*string)(&p.CodeExecutionResult.Outcome))
	}
	if p.AudioTranscription != nil {
		a := p.AudioTranscription
		w.text(stage, &a.SpeakerLabel)
		w.label(stage, &a.LanguageCode)
	}
	if p.SpeechMetadata != nil {
		s := p.SpeechMetadata
		w.label(stage, &s.Speaker)
		w.text(stage, &s.Style)
	}
	if p.ToolCall != nil {
		c := p.ToolCall
		w.json(&Item{Stage: policy.ToolArgs, Tool: string(c.ToolType), Args: c.Args}, &c.Args)
		w.label(policy.ToolArgs, (*string)(&c.ToolType))
	}
	if p.ToolResponse != nil {
		r := p.ToolResponse
		w.json(&Item{Stage: policy.ToolResult, Tool: string(r.ToolType)}, &r.Response)
		w.label(policy.ToolResult, (*string)(&r.ToolType))
	}
	w.label(stage, (*string)(&p.MediaProcessing))
	if p.MediaResolution != nil {
		w.label(stage, (*string)(&p.MediaResolution.Level))
	}
	w.json(&Item{Stage: stage}, &p.PartMetadata)
}

// brokenOff returns the ends of what an event says and thinks, which the message of its error may
// continue.
func brokenOff(e *session.Event) (ends []string) {
	if e.ErrorMessage == "" || e.Content == nil {
		return nil
	}
	for _, thought := range []bool{false, true} {
		var b []byte
		for _, p := range e.Content.Parts {
			if p != nil && p.Thought == thought {
				b = append(b, p.Text...)
			}
		}
		if len(b) > 0 {
			ends = append(ends, window.End(b, window.Size))
		}
	}
	return ends
}

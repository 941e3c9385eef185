package walk

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugins/guardrail/internal/jsonvalue"
	"github.com/plughook/plughook/plugins/guardrail/internal/window"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/plugins/guardrail/policy/file"
	"github.com/plughook/plughook/session"
)

// Event goes through an event, field by field. stage is the stage of what its author says.
func (w *Walker) Event(e *session.Event, stage policy.Stage) {
	for i := range fields {
		w.field(&fields[i], e, stage)
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

// fields is session's table of an event's fields, without those that nobody has written a word of.
var fields = slices.DeleteFunc(slices.Clone(session.Fields()), func(f session.Field) bool {
	return f.Kind == session.Identity || f.Kind == session.Flag
})

// steps are those of fields that need more than their kind says.
var steps = map[string]func(w *Walker, e *session.Event, stage policy.Stage){
	"Content": func(w *Walker, e *session.Event, stage policy.Stage) { w.Content(e.Content, stage) },
	"ErrorMessage": func(w *Walker, e *session.Event, stage policy.Stage) {
		w.leaf(&Item{Stage: stage, After: brokenOff(e)}, jsonvalue.Leaf{}, &e.ErrorMessage)
	},
	"CustomMetadata": (*Walker).metadata,
	// What a node of a workflow hands on is what an agent says or what a tool answers, and the event does not say
	// which: the rules about either are about it.
	"Output": func(w *Walker, e *session.Event, stage policy.Stage) {
		w.value(&Item{Stage: stage, Also: policy.ToolResult}, &e.Output)
	},
	"NodeInfo":           (*Walker).node,
	"Actions.StateDelta": (*Walker).state,
	// A route chooses an edge, and is a word for programs.
	"Actions.Route": func(w *Walker, e *session.Event, stage policy.Stage) {
		w.value(&Item{Stage: stage, Label: true}, &e.Actions.Route)
	},
	"Actions.RequestedToolConfirmations": (*Walker).confirmations,
	"Actions.Compaction": func(w *Walker, e *session.Event, _ policy.Stage) {
		w.Content(e.Actions.Compaction.Content, policy.Summary)
	},
}

// field goes through a field. The application's own words, such as names of agents and models, are none of an
// input, which the caller has written.
func (w *Walker) field(f *session.Field, e *session.Event, stage policy.Stage) {
	value := f.In(e)
	if value.IsZero() || f.Application && e.Author != session.User {
		return
	}
	if step := steps[f.Name]; step != nil {
		step(w, e, stage)
		return
	}
	switch f.Kind {
	case session.Text, session.Word:
		text := value.String()
		switch {
		case f.Kind == session.Text:
			w.text(stage, &text)
		case f.Application:
			w.leaf(&Item{Stage: stage, Label: true}, jsonvalue.Leaf{}, &text)
		default:
			w.label(stage, &text)
		}
		value.SetString(text)
	case session.Keys:
		switch of := value.Addr().Interface().(type) {
		case *map[string]int64:
			mapKeys(w, &Item{Stage: stage}, of)
		case *map[string]float64:
			mapKeys(w, &Item{Stage: stage}, of)
		}
	case session.JSON:
		switch of := value.Addr().Interface().(type) {
		case *map[string]any:
			w.json(&Item{Stage: stage}, of)
		case *any:
			w.value(&Item{Stage: stage}, of)
		}
	case session.Report: // if an edit would change it, it goes as a whole
		edited := w.opaque(value.Interface(), &Item{Stage: stage, Label: f.Application})
		if edited && w.Write {
			value.SetZero()
		}
	}
}

// metadata goes through an event's metadata, but for what the runner notes: that is nobody's text.
func (w *Walker) metadata(e *session.Event, stage policy.Stage) {
	mine := maps.Clone(e.CustomMetadata)
	delete(mine, session.NotesKey)
	w.json(&Item{Stage: stage}, &mine)
	if w.Write {
		if notes, ok := e.CustomMetadata[session.NotesKey]; ok {
			mine[session.NotesKey] = notes
		}
		e.CustomMetadata = mine
	}
}

// confirmations goes through what a human is asked about calls.
func (w *Walker) confirmations(e *session.Event, stage policy.Stage) {
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
}

// node goes through the names of a node's run.
func (w *Walker) node(e *session.Event, stage policy.Stage) {
	n := e.NodeInfo
	w.leaf(&Item{Stage: stage, Label: true}, jsonvalue.Leaf{}, &n.Path)
	w.leaf(&Item{Stage: stage, Label: true}, jsonvalue.Leaf{}, &n.OutputOf)
	w.leaf(&Item{Stage: stage, Label: true}, jsonvalue.Leaf{}, &n.Inputs)
	for i := range n.OutputFor {
		w.leaf(&Item{Stage: stage, Label: true}, jsonvalue.Leaf{}, &n.OutputFor[i])
	}
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
}

// OnlyContent reports whether no field of an event has anything to go through but its content, and words for programs.
func OnlyContent(e *session.Event) bool {
	for i := range fields {
		f := &fields[i]
		passed := f.Name == "Content" || f.Kind == session.Word || f.Application
		if !passed && !f.In(e).IsZero() {
			return false
		}
	}
	return len(e.Extra) == 0 && len(e.Actions.Extra) == 0 && Unknown(e) == nil
}

// mapKeys visits the keys of a map. The values of the map are no texts.
func mapKeys[V any](w *Walker, it *Item, of *map[string]V) {
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
	var files []file.File
	for _, p := range c.Parts {
		if p == nil {
			continue
		}
		if p.InlineData != nil {
			files = append(files, file.Of(p.InlineData.DisplayName, p.InlineData.MIMEType, p.InlineData.Data))
		}
		if p.FileData != nil {
			files = append(files, file.LinkTo(p.FileData.FileURI, p.FileData.MIMEType))
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
	switch {
	case p.FunctionCall == nil:
	case stage == policy.Input: // a caller calls nothing: it is a text like any other
		w.text(stage, &p.FunctionCall.Name)
		w.text(stage, &p.FunctionCall.ID)
		w.json(&Item{Stage: stage}, &p.FunctionCall.Args)
	default:
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

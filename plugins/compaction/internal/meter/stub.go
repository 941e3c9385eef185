package meter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/internal/told"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/session"
)

// A functionPart is a part with a function call, or with the response to one.
type functionPart struct {
	part           *genai.Part
	pointer        any // the *genai.FunctionCall or the *genai.FunctionResponse
	kind, id, name string
	values         map[string]any // the call's arguments, or what the response says
}

// functionOf returns a part's call or response. It returns false for any other part.
func functionOf(p *genai.Part) (functionPart, bool) {
	switch {
	case p != nil && p.FunctionCall != nil:
		c := p.FunctionCall
		return functionPart{part: p, pointer: c, kind: "call", id: c.ID, name: c.Name, values: c.Args}, true
	case p != nil && p.FunctionResponse != nil:
		r := p.FunctionResponse
		return functionPart{part: p, pointer: r, kind: "response", id: r.ID, name: r.Name, values: r.Response}, true
	}
	return functionPart{}, false
}

// pointerOf returns what a part points to that it shares with its copies in a request, nil if that is nothing.
func pointerOf(p *genai.Part) any {
	f, ok := functionOf(p)
	switch {
	case ok:
		return f.pointer
	case p != nil && p.InlineData != nil:
		return p.InlineData
	case p != nil && p.FileData != nil:
		return p.FileData
	}
	return nil
}

// content returns a text that is the same for another call or response if that says the same.
func (f functionPart) content() string {
	return strings.Join([]string{f.kind, f.id, f.name, told.JSON(f.values)}, "\x00")
}

// toldAs returns the text with which a prompt tells of another agent's call or response.
func (f functionPart) toldAs(author string) string {
	if f.kind == "call" {
		return told.Call(author, f.name, f.values)
	}
	return told.Response(author, f.name, f.values)
}

// A toldFunction names what several calls or responses have in common: their text may be the same.
type toldFunction struct{ author, kind, name string }

// told returns what names a call or response in an event.
func (f functionPart) told(e *session.Event) toldFunction {
	return toldFunction{e.Author, f.kind, f.name}
}

// Shown returns the content that a prompt has of an event that is not hidden: with the beginnings of the parts
// that are shortened.
func (c Cleared) Shown(e *session.Event) *genai.Content {
	content := e.Content
	for i := range e.Content.Parts {
		if c.Parts[Part{Seq: e.Seq, Index: i}] == 0 {
			continue
		}
		if content == e.Content {
			content = &genai.Content{Role: e.Content.Role, Parts: slices.Clone(e.Content.Parts)}
		}
		content.Parts[i] = c.short(e, i)
	}
	return content
}

// Apply puts the beginnings of parts that are shortened into a request in their place, and takes out the turns
// that are hidden, and what is told of the hidden turns of other agents.
func (c Cleared) Apply(req *model.Request, live []*session.Event) {
	if len(c.Parts) == 0 && len(c.Hidden) == 0 {
		return
	}
	find := c.lookupIn(req, live)

	// Take out the hidden turns, each with the content after it, which has the responses. A turn of the user
	// stands before each, so in what is left user and model still take turns.
	var contents []*genai.Content
	own := 0 // calls that are taken out
	for i := 0; i < len(req.Contents); i++ {
		n := find.hiddenCalls(req.Contents[i])
		if n > 0 {
			own += n
			i++
			continue
		}
		content := find.withStubs(req.Contents[i])
		if content == nil && i+1 < len(req.Contents) && betweenTurns(contents, req.Contents[i+1]) {
			content = genai.NewContentFromText(told.Context+" a call that waits for an answer.", genai.RoleUser)
		}
		if content != nil {
			contents = append(contents, content)
		}
	}
	if waiting := own + find.toldHidden; waiting > 0 && len(contents) > 0 {
		whose := ""
		if find.toldHidden == 0 {
			whose = " of your"
		}
		last := *contents[len(contents)-1]
		text := fmt.Sprintf("%s %d%s earlier calls wait for an answer, and are not shown.", told.Context, waiting, whose)
		last.Parts = append(slices.Clone(last.Parts), &genai.Part{Text: text})
		contents[len(contents)-1] = &last
	}
	req.Contents = contents
}

// betweenTurns reports whether only what is left out stands between two turns of the model, which providers refuse.
func betweenTurns(before []*genai.Content, after *genai.Content) bool {
	return len(before) > 0 && before[len(before)-1].Role == genai.RoleModel && after.Role == genai.RoleModel
}

// A lookup finds the parts of a request that are shortened, and those that are hidden. A part of the request
// usually has the event's own call, response or file, and is found by that pointer. Where it has a copy, it is
// found by its content, which takes time if it is long.
type lookup struct {
	stubs  map[any]*genai.Part // what stands in for a part, by its pointer or content
	texts  map[string]string   // what stands in for a text
	hidden map[any]bool        // the calls that are hidden, by pointer or content
	copied map[string]bool     // the ids of the calls and responses that are to be found by content

	// told has, for each text that tells of other agents' calls or responses, what stands in its place each time that
	// the request has it, in the order of the log: the text, one with a stub, or nothing.
	told       map[string][]toldPart
	toldHidden int // calls of other agents that are taken out
}

// A toldPart stands in the place of what is told of a call or response: a text, or nothing if that is hidden.
type toldPart struct {
	text   string
	isCall bool // what is hidden is a call
}

// lookupIn returns the lookup for a request that was made of a live view.
func (c Cleared) lookupIn(req *model.Request, live []*session.Event) *lookup {
	own := map[any]bool{} // the pointers that the request has
	for _, content := range req.Contents {
		for _, p := range content.Parts {
			if pointer := pointerOf(p); pointer != nil {
				own[pointer] = true
			}
		}
	}
	find := &lookup{
		stubs:  map[any]*genai.Part{},
		texts:  map[string]string{},
		hidden: map[any]bool{},
		copied: map[string]bool{},
		told:   map[string][]toldPart{},
	}
	toldOf := map[toldFunction]bool{} // what is told of these may be changed
	for _, e := range live {
		if e.Content == nil || !agent.Sees(req.Branch, e.Branch) {
			continue
		}
		isHidden := c.Hidden[e.Seq]
		for i, p := range e.Content.Parts {
			isShort := c.Parts[Part{Seq: e.Seq, Index: i}] > 0
			f, ok := functionOf(p)
			switch {
			case !ok && isShort && p.Text != "":
				find.texts[p.Text] = c.short(e, i).Text
			case !ok && isShort:
				find.stubs[pointerOf(p)] = c.short(e, i)
			case !ok:
			case isHidden && own[f.pointer]: // a response goes with its call
				find.hidden[f.pointer] = p.FunctionCall != nil
			case isHidden:
				toldOf[f.told(e)] = true
				find.copied[f.id] = true
				find.hidden[f.content()] = p.FunctionCall != nil
			case isShort && own[f.pointer]:
				find.stubs[f.pointer] = c.short(e, i)
			case isShort:
				toldOf[f.told(e)] = true
				find.copied[f.id] = true
				find.stubs[f.content()] = c.short(e, i)
			}
		}
	}
	if len(toldOf) == 0 {
		return find
	}

	// What is told of several calls may be the same text.
	for _, e := range live {
		if e.Content == nil || !agent.Sees(req.Branch, e.Branch) {
			continue
		}
		for i, p := range e.Content.Parts {
			f, ok := functionOf(p)
			if !ok || own[f.pointer] || !toldOf[f.told(e)] {
				continue
			}
			text := f.toldAs(e.Author)
			instead := toldPart{text: text}
			switch {
			case c.Hidden[e.Seq]:
				instead = toldPart{isCall: p.FunctionCall != nil}
			case c.Parts[Part{Seq: e.Seq, Index: i}] > 0:
				short, _ := functionOf(c.short(e, i))
				instead.text = short.toldAs(e.Author)
			}
			find.told[text] = append(find.told[text], instead)
		}
	}
	return find
}

// hiddenCalls returns how many calls a content has if one of them is hidden, else 0.
func (l *lookup) hiddenCalls(c *genai.Content) int {
	calls := 0
	isHidden := false
	for _, p := range c.Parts {
		f, ok := functionOf(p)
		if !ok || p.FunctionCall == nil {
			continue
		}
		calls++
		isHidden = isHidden || l.hidden[f.pointer] || l.copied[f.id] && l.hidden[f.content()]
	}
	if !isHidden {
		return 0
	}
	return calls
}

// withStubs returns a content with stubs in place of what is cleared, and without what is told of hidden calls. It is the
// content itself if that is nothing, and nil if nothing is left.
func (l *lookup) withStubs(c *genai.Content) *genai.Content {
	parts := make([]*genai.Part, 0, len(c.Parts))
	changed := false
	for _, p := range c.Parts {
		s := l.stubOf(p)
		changed = changed || s != p
		if s != nil || p == nil {
			parts = append(parts, s)
		}
	}
	switch {
	case !changed:
		return c
	case len(parts) == 0, len(parts) == 1 && parts[0].Text == told.Context:
		return nil
	}
	return &genai.Content{Role: c.Role, Parts: parts}
}

// stubOf returns what stands in for a part of the request: the part itself if it is whole, nil if it tells of a
// hidden call.
func (l *lookup) stubOf(p *genai.Part) *genai.Part {
	pointer := pointerOf(p)
	if pointer != nil && l.stubs[pointer] != nil {
		return l.stubs[pointer]
	}
	f, ok := functionOf(p)
	if ok && l.copied[f.id] {
		return cmp.Or(l.stubs[f.content()], p)
	}
	if p != nil && l.texts[p.Text] != "" {
		return &genai.Part{Text: l.texts[p.Text]}
	}
	if p == nil || len(l.told[p.Text]) == 0 {
		return p
	}
	instead := l.told[p.Text][0]
	l.told[p.Text] = l.told[p.Text][1:]
	switch instead.text {
	case p.Text:
		return p
	case "":
		if instead.isCall {
			l.toldHidden++
		}
		return nil
	}
	return &genai.Part{Text: instead.text}
}

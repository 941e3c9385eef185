package compaction

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugins/compaction/internal/extract"
	"github.com/plughook/plughook/session"
)

// A result that is cleared stays in the live view and in the log. Only the prompt has a line in its place, which says how
// to read it. What is cleared is written into the note of an event of the plugin, so a rewind to before that event brings
// the result back into the prompt.

// Clear says which results of tools become a line in the prompt.
type Clear struct {
	Trigger int      `yaml:"trigger" json:"trigger,omitempty" jsonschema:"clears old results of tools when the live view has so many tokens, before anything is summarized; never if not set"`
	Keep    int      `yaml:"keep" json:"keep,omitempty" jsonschema:"how many of the latest results stay; 3 if not set"`
	Except  []string `yaml:"except" json:"except,omitempty" jsonschema:"tools whose results stay"`
	Min     int      `yaml:"min" json:"min,omitempty" jsonschema:"tokens from which on a result is cleared; 128 if not set"`
	// Artifacts is also about results that become a line because there is no room for them. It needs Config.Artifacts.
	Artifacts int `yaml:"artifacts" json:"artifacts,omitempty" jsonschema:"tokens from which on a result that is cleared is also saved as an artifact, as JSON, for people and tools; never if not set"`
}

// A place is a part of an event: its position and the index of the part.
type place struct {
	seq  int64
	part int
}

// places is how a note lists parts: pairs of numbers.
type places [][2]int64

// cleared is what the prompt of a live view has in place of parts, and which events it does not have.
type cleared struct {
	parts  map[place]bool
	hidden map[int64]bool
	saved  map[place]bool // parts that are artifacts too; false for those that are still to be saved
}

// clearedIn returns what the notes in a live view say.
func clearedIn(live []*session.Event) cleared {
	c := cleared{parts: map[place]bool{}, hidden: map[int64]bool{}, saved: map[place]bool{}}
	for _, e := range live {
		n := noteOf(e)
		if n == nil {
			continue
		}
		for _, p := range n.Cleared {
			c.parts[place{seq: p[0], part: int(p[1])}] = true
		}
		for _, p := range n.Saved {
			c.saved[place{seq: p[0], part: int(p[1])}] = true
		}
		for _, seq := range n.Hidden {
			c.hidden[seq] = true
		}
	}
	if len(c.hidden) == 0 {
		return c
	}

	// A call that has been answered since is shown again.
	hidden := map[int64]bool{}
	for _, g := range grouped(live) {
		for _, e := range g.events {
			if g.open && c.hidden[e.Seq] {
				hidden[e.Seq] = true
			}
		}
	}
	c.hidden = hidden
	return c
}

// write fills in a note with what is cleared in the events that stay.
func (c cleared) write(n *note, stays func(seq int64) bool) {
	n.Cleared = listed(c.parts, stays)
	n.Saved = listed(c.saved, stays)
	n.Hidden = nil
	for seq := range c.hidden {
		if stays(seq) {
			n.Hidden = append(n.Hidden, seq)
		}
	}
	slices.Sort(n.Hidden)
}

// listed returns the parts of events that stay, in order.
func listed(parts map[place]bool, stays func(seq int64) bool) (list places) {
	for p := range parts {
		if stays(p.seq) {
			list = append(list, [2]int64{p.seq, int64(p.part)})
		}
	}
	slices.SortFunc(list, func(a, b [2]int64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	return list
}

// artifactName returns the name of the artifact that a part is saved as.
func (p place) artifactName() string { return fmt.Sprintf("results/%d-%d.json", p.seq, p.part) }

// save saves the results that are cleared and have yet to be saved, and notes that in the event that says what is cleared. One
// that cannot be saved is in the log all the same.
func (k *compactor) save(ctx context.Context, inv *session.Invocation, c cleared, e *session.Event) {
	for _, event := range inv.Live {
		if event.Content == nil {
			continue
		}
		for i, p := range event.Content.Parts {
			at := place{seq: event.Seq, part: i}
			isSaved, asked := c.saved[at]
			if isSaved || !asked {
				continue
			}
			data := []byte(inJSON(p.FunctionResponse.Response))
			blob := &genai.Part{InlineData: &genai.Blob{MIMEType: "application/json", Data: data}}
			version, err := k.Artifacts.Save(ctx, inv.Key, at.artifactName(), blob)
			if err != nil {
				delete(c.saved, at)
				k.Log.WarnContext(ctx, "a result of a tool was not saved as an artifact", "session", inv.Key, "position", at.seq, "error", err)
				continue
			}
			c.saved[at] = true
			if e.Actions.ArtifactDelta == nil {
				e.Actions.ArtifactDelta = map[string]int64{}
			}
			e.Actions.ArtifactDelta[at.artifactName()] = version
		}
	}
}

// shown returns the content of an event that is not hidden as the prompt has it.
func (c cleared) shown(e *session.Event) *genai.Content {
	content := e.Content
	for i, p := range e.Content.Parts {
		at := place{seq: e.Seq, part: i}
		if !c.parts[at] {
			continue
		}
		if content == e.Content {
			content = &genai.Content{Role: e.Content.Role, Parts: slices.Clone(e.Content.Parts)}
		}
		content.Parts[i] = c.stub(at, p)
	}
	return content
}

// stubText is how many characters of a cleared part its line has.
const stubText = 160

// stub returns what stands in for a part that is cleared.
func (c cleared) stub(at place, p *genai.Part) *genai.Part {
	_, saved := c.saved[at]
	return stub(at, p, saved)
}

// stub returns what stands in for a part with a function call or response; saved says that it is an artifact, too.
func stub(at place, p *genai.Part, saved bool) *genai.Part {
	var whole map[string]any
	if p != nil && p.FunctionCall != nil {
		whole = p.FunctionCall.Args
	} else if p != nil && p.FunctionResponse != nil {
		whole = p.FunctionResponse.Response
	} else {
		return p
	}
	text := inJSON(whole)
	length := utf8.RuneCountInString(text)
	begin := text[:prefix(text, stubText)]
	where := fmt.Sprintf("%s with from %d and to %d reads them", RecallName, at.seq, at.seq)
	if saved {
		where += "; they are also the artifact " + at.artifactName()
	}
	short := map[string]any{"cleared": fmt.Sprintf("%s… (%d characters in all; %s)", begin, length, where)}
	s := *p
	if p.FunctionCall != nil {
		call := *p.FunctionCall
		call.Args = short
		s.FunctionCall = &call
	} else {
		response := *p.FunctionResponse
		response.Response = short
		s.FunctionResponse = &response
	}
	return &s
}

func inJSON(v map[string]any) string {
	if v == nil {
		return "{}"
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "{}"
	}
	return strings.TrimSpace(b.String())
}

// A lookup finds in a request what is cleared. A part of the request usually has the event's own call or response; where it is
// a copy, the lookup compares what is in it, which takes time if it is long.
type lookup struct {
	ids    map[string]bool     // of the calls and responses that are looked for by what is in them
	stubs  map[any]*genai.Part // by identity or by partKey
	hidden map[any]bool        // by the identity or the partKey of the first call of a turn
	told   map[string]string   // of another agent's call or result, which a prompt has as a text
}

// identity returns the call or the response that a part has, nil for another part.
func identity(p *genai.Part) any {
	switch {
	case p == nil:
		return nil
	case p.FunctionCall != nil:
		return p.FunctionCall
	case p.FunctionResponse != nil:
		return p.FunctionResponse
	}
	return nil
}

// partKey identifies a call or a response by its content, "" for another part.
func partKey(p *genai.Part) string {
	switch {
	case p == nil:
		return ""
	case p.FunctionCall != nil:
		return "call\x00" + p.FunctionCall.ID + "\x00" + p.FunctionCall.Name + "\x00" + inJSON(p.FunctionCall.Args)
	case p.FunctionResponse != nil:
		return "response\x00" + p.FunctionResponse.ID + "\x00" + p.FunctionResponse.Name + "\x00" + inJSON(p.FunctionResponse.Response)
	}
	return ""
}

// idOf returns the id of a call or a response, "" for another part.
func idOf(p *genai.Part) string {
	switch {
	case p == nil:
		return ""
	case p.FunctionCall != nil:
		return p.FunctionCall.ID
	case p.FunctionResponse != nil:
		return p.FunctionResponse.ID
	}
	return ""
}

// key returns the partKey of a part, "" if no part with its id is looked for.
func (f *lookup) key(p *genai.Part) string {
	if !f.ids[idOf(p)] {
		return ""
	}
	return partKey(p)
}

// toldAs returns the text with which a prompt tells of another agent's call or result: see context in agent/llm/contents.go.
func toldAs(author string, p *genai.Part) string {
	if p.FunctionCall != nil {
		return fmt.Sprintf("[%s] called %s with %s", author, p.FunctionCall.Name, inJSON(p.FunctionCall.Args))
	}
	return fmt.Sprintf("[%s] %s answered: %s", author, p.FunctionResponse.Name, inJSON(p.FunctionResponse.Response))
}

// apply puts lines into a request in place of what is cleared, and takes out the turns that are hidden.
func (c cleared) apply(req *model.Request, live []*session.Event) {
	if len(c.parts) == 0 && len(c.hidden) == 0 {
		return
	}
	shown := map[any]bool{}
	for _, content := range req.Contents {
		for _, p := range content.Parts {
			shown[identity(p)] = true
		}
	}
	find := lookup{ids: map[string]bool{}, stubs: map[any]*genai.Part{}, hidden: map[any]bool{}, told: map[string]string{}}
	for _, e := range live {
		if e.Content == nil || !agent.Sees(req.Branch, e.Branch) {
			continue
		}
		isHidden := c.hidden[e.Seq]
		for i, p := range e.Content.Parts {
			at := place{seq: e.Seq, part: i}
			own := identity(p)
			switch {
			case own == nil:
			case isHidden && p.FunctionCall == nil: // it goes with its call
			case isHidden && shown[own]:
				find.hidden[own] = true
			case isHidden:
				find.ids[idOf(p)] = true
				find.hidden[partKey(p)] = true
			case c.parts[at] && shown[own]:
				find.stubs[own] = c.stub(at, p)
			case c.parts[at]:
				s := c.stub(at, p)
				find.ids[idOf(p)] = true
				find.stubs[partKey(p)] = s
				find.told[toldAs(e.Author, p)] = toldAs(e.Author, s)
			}
		}
	}

	// Take out the hidden turns, each with the responses after it. A turn of the user stands before each, so what is left
	// takes turns.
	var contents []*genai.Content
	waiting := 0 // calls that are taken out
	for i := 0; i < len(req.Contents); i++ {
		n := find.calls(req.Contents[i])
		if n > 0 {
			waiting += n
			i++
			continue
		}
		contents = append(contents, find.cut(req.Contents[i]))
	}
	if waiting > 0 && len(contents) > 0 {
		last := *contents[len(contents)-1]
		text := fmt.Sprintf("For context: %d of your earlier calls wait for an answer, and are not shown.", waiting)
		last.Parts = append(slices.Clone(last.Parts), &genai.Part{Text: text})
		contents[len(contents)-1] = &last
	}
	req.Contents = contents
}

// calls returns how many calls a turn has that is hidden, 0 if it is not.
func (f *lookup) calls(c *genai.Content) (n int) {
	isHidden := false
	for _, p := range c.Parts {
		if p != nil && p.FunctionCall != nil {
			n++
			isHidden = isHidden || f.hidden[identity(p)] || f.hidden[f.key(p)]
		}
	}
	if !isHidden {
		return 0
	}
	return n
}

// cut returns a content with lines in place of what is cleared, or the content itself.
func (f *lookup) cut(c *genai.Content) *genai.Content {
	var parts []*genai.Part
	change := func(i int, p *genai.Part) {
		if parts == nil {
			parts = slices.Clone(c.Parts)
		}
		parts[i] = p
	}
	for i, p := range c.Parts {
		if p == nil {
			continue
		}
		s := f.stubs[identity(p)]
		if s == nil {
			s = f.stubs[f.key(p)]
		}
		if s != nil {
			change(i, s)
		} else if told, ok := f.told[p.Text]; ok {
			change(i, &genai.Part{Text: told})
		}
	}
	if parts == nil {
		return c
	}
	return &genai.Content{Role: c.Role, Parts: parts}
}

// A result is a part of an event that can be cleared.
type result struct {
	place
	event *session.Event
	gain  int  // tokens
	saves bool // it is to be saved as an artifact
}

// clearable returns the result at a part of an event if clearing it saves at least so many tokens.
func (m *meter) clearable(e *session.Event, part, least int) (result, bool) {
	r := result{place: place{seq: e.Seq, part: part}, event: e}
	if m.cleared.parts[r.place] || m.cleared.hidden[e.Seq] {
		return r, false
	}
	p := e.Content.Parts[part]
	one := func(p *genai.Part) int {
		return m.content(&genai.Content{Role: e.Content.Role, Parts: []*genai.Part{p}})
	}
	size := one(p)
	r.saves = m.saveFrom > 0 && size >= m.saveFrom && p.FunctionResponse != nil
	r.gain = size - one(stub(r.place, p, r.saves))
	return r, r.gain >= least
}

// clear takes note of results that are cleared.
func (m *meter) clear(results ...result) {
	for _, r := range results {
		m.cleared.parts[r.place] = true
		if r.saves && !m.cleared.saved[r.place] {
			m.cleared.saved[r.place] = false
		}
		delete(m.of, r.event)
	}
}

// old returns what Config.Clear says of a live view: the results that are to be cleared, oldest first.
func (k *compactor) old(m meter, live []*session.Event) (list []result) {
	calls := session.Calls(live)
	answered := map[*genai.FunctionResponse]bool{}
	for i, kit := range answers(live, calls) {
		if calls[i].Response != nil && !kit.open {
			answered[calls[i].Result] = true
		}
	}
	seen := 0 // results, from the end
	for _, e := range slices.Backward(live) {
		if e.Content == nil || e.Marker() {
			continue
		}
		for i, p := range slices.Backward(e.Content.Parts) {
			if p == nil || p.FunctionResponse == nil || !answered[p.FunctionResponse] {
				continue
			}
			seen++
			name := p.FunctionResponse.Name
			excepted := slices.Contains(k.Clear.Except, name) || slices.Contains(k.Keep.Tools, name) || k.names(e)
			if seen <= k.Clear.Keep || excepted || name == RecallName && seen <= k.Clear.Keep {
				continue
			}
			r, ok := m.clearable(e, i, k.Clear.Min)
			if ok {
				list = append(list, r)
			}
		}
	}
	slices.Reverse(list)
	return list
}

// clearing returns the event that clears results, nil if that does not bring the view, of so many tokens, below a number of
// tokens.
func (k *compactor) clearing(ctx context.Context, m meter, inv *session.Invocation, view, below int) (*session.Event, *Plan) {
	results := k.old(m, inv.Live)
	saved := 0
	for _, r := range results {
		saved += r.gain
	}
	if len(results) == 0 || view-saved >= below {
		return nil, nil
	}
	m.clear(results...)
	p := &Plan{Trigger: "clear", Before: view, After: view - saved, Cleared: len(results)}
	return k.clearEvent(ctx, m, inv, p), p
}

// clearEvent returns the event that says what is cleared.
func (k *compactor) clearEvent(ctx context.Context, m meter, inv *session.Invocation, p *Plan) *session.Event {
	e := &session.Event{ID: fmt.Sprintf("%s:clear:%d", Name, inv.Position)}
	k.save(ctx, inv, m.cleared, e)
	n := &note{Trigger: p.Trigger, By: "offline", Before: p.Before, After: p.After}
	m.cleared.write(n, func(int64) bool { return true })
	e.CustomMetadata = map[string]any{noteKey: n.value()}
	return e
}

// kept returns an event with only what Config.Keep names of it: of a batch of calls, those of the tools.
func (k *compactor) kept(e *session.Event) *session.Event {
	isWhole := slices.Contains(k.Keep.Authors, e.Author) || slices.Contains(k.Keep.Events, e.ID)
	if isWhole || e.Content == nil || len(e.FunctionCalls())+len(e.FunctionResponses()) == 0 {
		return e
	}
	some := e.Clone()
	some.Content.Parts = slices.DeleteFunc(some.Content.Parts, func(p *genai.Part) bool {
		return p != nil && (p.FunctionCall != nil && !slices.Contains(k.Keep.Tools, p.FunctionCall.Name) ||
			p.FunctionResponse != nil && !slices.Contains(k.Keep.Tools, p.FunctionResponse.Name))
	})
	return some
}

// firstLines returns a group in one line: its positions and how what is kept of it begins.
func (k *compactor) firstLines(g *group) string {
	first := g.events[0].Seq
	last := first
	var said []string
	for _, e := range g.events {
		first = min(first, e.Seq)
		last = max(last, e.Seq)
		if text := oneLine(extract.Render(k.kept(e))); text != "" {
			said = append(said, text)
		}
	}
	text := strings.Join(said, " → ")
	end := prefix(text, stubText)
	if end < len(text) {
		text = text[:end] + "…"
	}
	return fmt.Sprintf("%d–%d %s", first, last, text)
}

// pinsHeader begins the part of a summary that has the first lines of what was kept until there was no room for it.
const pinsHeader = "Kept in part; " + RecallName + " reads the whole, from the first position to the last:"

// splitPins cuts a section of a summary into the lines of what is kept in part, and the rest.
func splitPins(text string) (lines []string, rest string) {
	body, ok := strings.CutPrefix(text, pinsHeader+"\n")
	if !ok {
		return nil, text
	}
	block, rest, _ := strings.Cut(body, "\n\n")
	return strings.Split(block, "\n"), rest
}

// drawPins returns the part of a summary with the latest of the lines that fit into a budget.
func drawPins(lines []string, budget int, count func(string) int) string {
	for len(lines) > 0 {
		text := pinsHeader + "\n" + strings.Join(lines, "\n")
		if count(text) <= budget {
			return text
		}
		lines = lines[1:]
	}
	return ""
}

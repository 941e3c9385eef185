package compaction

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/genai"

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
}

// clearedIn returns what the notes in a live view say.
func clearedIn(live []*session.Event) cleared {
	c := cleared{parts: map[place]bool{}, hidden: map[int64]bool{}}
	for _, e := range live {
		n := noteOf(e)
		if n == nil {
			continue
		}
		for _, p := range n.Cleared {
			c.parts[place{seq: p[0], part: int(p[1])}] = true
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
	n.Cleared = nil
	n.Hidden = nil
	for p := range c.parts {
		if stays(p.seq) {
			n.Cleared = append(n.Cleared, [2]int64{p.seq, int64(p.part)})
		}
	}
	for seq := range c.hidden {
		if stays(seq) {
			n.Hidden = append(n.Hidden, seq)
		}
	}
	slices.SortFunc(n.Cleared, func(a, b [2]int64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	slices.Sort(n.Hidden)
}

// shown returns the content of an event as the prompt has it.
func (c cleared) shown(e *session.Event) *genai.Content {
	if c.hidden[e.Seq] {
		return &genai.Content{}
	}
	content := e.Content
	for i, p := range e.Content.Parts {
		if !c.parts[place{seq: e.Seq, part: i}] {
			continue
		}
		if content == e.Content {
			content = &genai.Content{Role: e.Content.Role, Parts: slices.Clone(e.Content.Parts)}
		}
		content.Parts[i] = stub(e.Seq, p)
	}
	return content
}

// stubText is how many characters of a cleared part its line has.
const stubText = 160

// stub returns what stands in for a part with a function call or response.
func stub(seq int64, p *genai.Part) *genai.Part {
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
	short := map[string]any{
		"cleared": fmt.Sprintf("%s… (%d characters in all; %s with from %d and to %d reads them)", begin, length, RecallName, seq, seq),
	}
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

// A lookup finds in a request what is cleared. The request has copies of the events' parts, so it compares what is in them.
type lookup struct {
	ids    map[string]bool        // of the calls and responses that are looked for
	stubs  map[string]*genai.Part // by partKey
	hidden map[string]bool        // by the partKey of the first call of a turn
	told   map[string]string      // of another agent's call or result, which a prompt has as a text
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

// key returns the partKey of a part, "" if no part with its id is looked for. To make the key of a long part takes time.
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
	find := lookup{ids: map[string]bool{}, stubs: map[string]*genai.Part{}, hidden: map[string]bool{}, told: map[string]string{}}
	for _, e := range live {
		if e.Content == nil {
			continue
		}
		for i, p := range e.Content.Parts {
			isCleared := c.parts[place{seq: e.Seq, part: i}]
			if !isCleared && !c.hidden[e.Seq] {
				continue
			}
			key := partKey(p)
			if key == "" {
				continue
			}
			find.ids[idOf(p)] = true
			if isCleared {
				s := stub(e.Seq, p)
				find.stubs[key] = s
				find.told[toldAs(e.Author, p)] = toldAs(e.Author, s)
			}
			if c.hidden[e.Seq] && p.FunctionCall != nil {
				find.hidden[key] = true
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
			isHidden = isHidden || f.hidden[f.key(p)]
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
		if s := f.stubs[f.key(p)]; s != nil {
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
	gain  int // tokens
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
	r.gain = one(p) - one(stub(e.Seq, p))
	return r, r.gain >= least
}

// clear takes note of results that are cleared.
func (m *meter) clear(results ...result) {
	for _, r := range results {
		m.cleared.parts[r.place] = true
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
func (k *compactor) clearing(m meter, inv *session.Invocation, view, below int) (*session.Event, *Plan) {
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
	return k.clearEvent(m, inv, p), p
}

// clearEvent returns the event that says what is cleared.
func (k *compactor) clearEvent(m meter, inv *session.Invocation, p *Plan) *session.Event {
	n := &note{Trigger: p.Trigger, By: "offline", Before: p.Before, After: p.After}
	m.cleared.write(n, func(int64) bool { return true })
	return &session.Event{
		ID:             fmt.Sprintf("%s:clear:%d", Name, inv.Position),
		CustomMetadata: map[string]any{noteKey: n.value()},
	}
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

package timeline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/server/internal/page/visible"
	"github.com/plughook/plughook/session"
)

// shownText is how many characters of a text an open row has.
const shownText = 4000

// A Detail is what an open row tells.
type Detail struct {
	Parts     []Part
	Decisions []Decision
	State     []Change
	Stands    []Stand // what a summary stands for
	StandsFor string
	Unchecked []string
	Cut       bool // a text is not shown to its end
}

// A Part is a text, under a heading.
type Part struct {
	Heading string
	Pieces  []visible.Piece
	Code    bool
}

// A Decision says who decided what, and by which rule.
type Decision struct {
	Kind, Word, Plugin string
	Rule, Revision     string
	Reason             []visible.Piece
}

// A Change is one of the state.
type Change struct {
	Key   string
	Value []visible.Piece
}

// A Stand is an event behind a summary.
type Stand struct {
	Seq  int64
	Who  string
	What []visible.Piece
}

// Detail returns what the row tells when it is open.
func (r *Row) Detail() *Detail {
	d := &Detail{}
	if r.Instead != 0 {
		d.add("Came in", []visible.Piece{{Text: "a message, not kept: the log and later model calls do not have it", Kind: "gone"}}, false)
		if next := r.next(); next != nil && next.Text() != "" {
			d.text(fmt.Sprintf("Said instead, as event %d", next.Seq), next.Text(), nil, false)
			d.decisions(next, r.log.Key.User)
		}
		return d
	}
	for i, e := range r.Events {
		d.content(e, i > 0)
		d.decisions(e, r.log.Key.User)
		for _, key := range slices.Sorted(maps.Keys(e.Actions.StateDelta)) {
			value := "deleted"
			if e.Actions.StateDelta[key] != nil {
				value = eventtext.JSON(e.Actions.StateDelta[key])
			}
			d.State = append(d.State, Change{Key: key, Value: visible.Line(value, 200)})
		}
		for _, key := range slices.Sorted(maps.Keys(e.Actions.StateIncrement)) {
			d.State = append(d.State, Change{Key: key, Value: visible.Line(fmt.Sprintf("%+g", e.Actions.StateIncrement[key]), 40)})
		}
		for _, n := range plugin.NotesOf(e).Unchecked {
			d.Unchecked = append(d.Unchecked, n.Plugin+eventtext.Because(n.Reason))
		}
	}
	if c := r.Events[0].Actions.Compaction; c != nil && r.Events[0].Marker() {
		r.stands(d, c)
	}
	return d
}

// decided adds a decision, unless it is there: a question repeats what is noted on its call.
func (d *Detail) decided(n Decision) {
	if !slices.ContainsFunc(d.Decisions, func(o Decision) bool { return reflect.DeepEqual(o, n) }) {
		d.Decisions = append(d.Decisions, n)
	}
}

// next returns the event in whose stead the row's message was withheld.
func (r *Row) next() *session.Event {
	for _, e := range r.log.Events {
		if e.Seq == r.Instead {
			return e
		}
	}
	return nil
}

func (d *Detail) add(heading string, pieces []visible.Piece, code bool) {
	d.Parts = append(d.Parts, Part{Heading: heading, Pieces: pieces, Code: code})
}

func (d *Detail) text(heading, text string, marks []string, code bool) {
	pieces, cut := visible.Pieces(text, shownText)
	if cut {
		d.Cut = true
		pieces = append(pieces, visible.Piece{Text: fmt.Sprintf(" … %d bytes in all", len(text)), Kind: "gone"})
	}
	d.add(heading, visible.Mark(pieces, marks), code)
}

// content adds what an event says, does and was answered with.
func (d *Detail) content(e *session.Event, follows bool) {
	// What came in, where a policy has noted what it took out.
	marks := Placeholders(e)
	stored := "Says"
	if text := e.Text(); text != "" && len(marks) > 0 {
		pieces, _ := visible.Pieces(text, shownText)
		d.add("Came in", removed(visible.Mark(pieces, marks), e), false)
		stored = "Stored, and read by the model"
	}
	for _, p := range e.Parts() {
		switch {
		case e.Makes(p):
			d.text("Asked of the tool", p.FunctionCall.Name+"\n"+indented(p.FunctionCall.Args), marks, true)
		case p.FunctionResponse != nil:
			d.text("Response", indented(p.FunctionResponse.Response), marks, true)
		case p.Thought:
			d.text("Thought", p.Text, nil, false)
		case p.Text != "":
			d.text(stored, p.Text, marks, false)
		case p.InlineData != nil:
			d.text("File", fmt.Sprintf("%s, %d bytes", p.InlineData.MIMEType, len(p.InlineData.Data)), nil, false)
		default:
			d.text("Part", indented(p), nil, true)
		}
	}
	if c := e.Actions.Compaction; c != nil && e.Marker() && c.Content != nil {
		for _, p := range c.Content.Parts {
			if p != nil && p.Text != "" {
				d.text("What the model reads now", p.Text, marks, true)
			}
		}
	}
	if e.ErrorCode != "" && e.ErrorMessage != "" {
		d.text("Error "+e.ErrorCode, e.ErrorMessage, nil, false)
	}
	if e.Output != nil {
		d.text("Output of "+nodeOf(e), indented(e.Output), nil, true)
	}
	if command, ok := e.Command(); ok {
		d.text("Command", command.Name+" "+eventtext.Object(command.Args), nil, true)
	}
	for _, id := range slices.Sorted(maps.Keys(e.Actions.RequestedToolConfirmations)) {
		c := e.Actions.RequestedToolConfirmations[id]
		if e.Author != session.User && follows {
			d.text("Response", "None. The call is held until somebody answers. "+c.Hint, nil, false)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.Actions.ArtifactDelta)) {
		d.text("File saved", fmt.Sprintf("%s, version %d", name, e.Actions.ArtifactDelta[name]), nil, false)
	}
}

func nodeOf(e *session.Event) string {
	if e.NodeInfo == nil {
		return e.Author
	}
	return e.NodeInfo.Path
}

// removed returns pieces in which what was put in the place of a find is a word about what was there.
func removed(pieces []visible.Piece, e *session.Event) []visible.Piece {
	note := RecordsOf(e)
	lengths := map[string]string{}
	for _, record := range note.Records {
		lengths["["+record.Type+"]"] = "something, not kept"
		if record.Count == 1 {
			lengths["["+record.Type+"]"] = fmt.Sprintf("%d bytes, not kept", record.Length)
		}
	}
	list := slices.Clone(pieces)
	for i, p := range list {
		if p.Kind == "ins" {
			list[i] = visible.Piece{Text: lengths[p.Text], Kind: "gone"}
		}
	}
	return list
}

// Kind is the colour of a policy's action.
func (r Record) Kind() string {
	switch {
	case r.Action == "block":
		return "deny"
	case r.Action == "ask":
		return "wait"
	case r.edits():
		return "change"
	}
	return "plain"
}

// decisions adds what the event itself tells of who decided.
func (d *Detail) decisions(e *session.Event, user string) {
	note := RecordsOf(e)
	judged := note.Plugin != ""
	notes := plugin.NotesOf(e)
	name, why, denied := plugin.Denial(e)
	for _, record := range note.Records {
		what := fmt.Sprintf("%s %s at stage %s", record.Action, record.Type, record.Stage)
		if record.Would != "" {
			what = fmt.Sprintf("in shadow: would %s %s at stage %s", record.Would, record.Type, record.Stage)
		}
		if record.Count > 0 {
			what += fmt.Sprintf("; %d found, %d bytes", record.Count, record.Length)
		}
		if len(record.Fingerprints) > 0 {
			what += ", fingerprint " + strings.Join(record.Fingerprints, ", ")
		}
		d.decided(Decision{
			Kind:     record.Kind(),
			Word:     record.Action,
			Plugin:   note.Plugin,
			Rule:     record.Rule,
			Revision: note.Revision[:min(8, len(note.Revision))],
			Reason:   visible.Line(what, 400),
		})
	}
	for _, n := range notes.Changed {
		if n.Plugin != note.Plugin && n.Plugin != name {
			word, kind := "changed", "change"
			if Counts(n) {
				word, kind = "counted", "plain"
			}
			d.decided(Decision{Kind: kind, Word: word, Plugin: n.Plugin, Reason: visible.Line(n.Reason, 400)})
		}
	}
	plug, emitted := e.Plugin()
	switch {
	case denied && !judged:
		d.decided(Decision{Kind: "deny", Word: "denied", Plugin: name, Reason: visible.Line(why, 400)})
	case emitted && notes.Reason != "" && !judged:
		d.decided(Decision{Kind: "plain", Word: "emitted", Plugin: plug, Reason: visible.Line(notes.Reason, 400)})
	}
	for _, id := range slices.Sorted(maps.Keys(e.Actions.RequestedToolConfirmations)) {
		c := e.Actions.RequestedToolConfirmations[id]
		said := Decision{Kind: "wait", Word: "asks", Plugin: WhoOf(e, user), Reason: visible.Line(c.Hint, 400)}
		if e.Author == session.User {
			said = Decision{Kind: "plain", Word: "declined", Plugin: cmp.Or(c.Name, user)}
			if c.Confirmed {
				said.Word = "approved"
			}
			if reason, ok := c.Payload.(string); ok {
				said.Reason = visible.Line(reason, 400)
			}
		}
		d.decided(said)
	}
}

// stands lists what a summary stands for, as far as the page has read it.
func (r *Row) stands(d *Detail, c *session.Compaction) {
	d.StandsFor = fmt.Sprintf("In place of the events up to %d", c.Through)
	if len(c.Keep) > 0 {
		d.StandsFor += " but " + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(c.Keep)), ", "), "[]") + ", which stay"
	}
	for _, e := range r.log.Events {
		if r.log.Status(e).Behind != r.Seq || len(d.Stands) == 60 {
			continue
		}
		one := &Row{log: r.log, Events: []*session.Event{e}}
		one.describe()
		d.Stands = append(d.Stands, Stand{Seq: e.Seq, Who: one.Who, What: one.What.whole()})
	}
}

// indented is a value as JSON of several lines.
func indented(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return eventtext.JSON(v)
	}
	return strings.TrimSpace(b.String())
}

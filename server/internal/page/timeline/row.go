package timeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/server/internal/page/visible"
	"github.com/plughook/plughook/session"
)

// lineLength is how many characters of a text a row has.
const lineLength = 240

// title is what a turn is called by.
func (w What) title() []visible.Piece {
	if w.Code == "" {
		return w.Text
	}
	return append(visible.Line(w.Code+": ", lineLength), w.Args...)
}

// whole is all of it on a line.
func (w What) whole() []visible.Piece {
	if w.Code == "" {
		return w.Text
	}
	list := w.title()
	if w.Arrow {
		list = append(list, visible.Piece{Text: " → "})
	}
	return append(list, w.Text...)
}

// describe says who did what.
func (r *Row) describe() {
	e := r.Events[0]
	r.Who = WhoOf(e, r.log.Key.User)
	if e.Author == session.User {
		r.Class = "user"
	}
	r.What.Struck = r.Status.Void != 0
	calls := e.FunctionCalls()
	responses := e.FunctionResponses()
	command, isCommand := e.Command()
	switch c := e.Actions.Compaction; {
	case c != nil && e.Marker():
		r.What.Text = visible.Line("Summary of the events up to "+fmt.Sprint(c.Through)+saved(e), lineLength)
	case e.Actions.Rewind != nil:
		r.What.Text = visible.Line(fmt.Sprintf("Back to %d", e.Actions.Rewind.To), lineLength)
	case len(calls) > 0:
		var names []string
		for _, call := range calls {
			names = append(names, call.Name)
		}
		r.What.Code = strings.Join(names, ", ")
		r.What.Args = visible.Line(values(calls[0].Args), lineLength/2)
		for _, e := range r.Events[1:] {
			r.respond(e)
		}
	case len(responses) > 0:
		r.respond(e)
	case e.Text() != "":
		r.What.Text = visible.Mark(visible.Line(e.Text(), lineLength), Placeholders(e))
	case isCommand:
		r.What.Text = visible.Line("Command: "+command.Name+" "+values(command.Args), lineLength)
	default:
		r.What.Text = visible.Line(strings.Join(eventtext.Lines(e), " · "), lineLength)
	}
	if e.Text() != "" && len(calls) > 0 {
		r.What.Text = append(visible.Line(e.Text(), lineLength/2), r.What.Text...)
	}
}

// respond adds what a call was answered with.
func (r *Row) respond(e *session.Event) {
	r.What.Arrow = true
	if responses := e.FunctionResponses(); len(responses) > 0 {
		response := responses[0]
		if r.What.Code == "" {
			r.What.Code = response.Name
		}
		r.What.Text = append(r.What.Text, visible.Line(values(response.Response), lineLength/2)...)
		return
	}
	r.What.Text = append(r.What.Text, visible.Piece{Text: "waits for a yes"})
}

// WhoOf returns who an event is of, in a session of a user.
func WhoOf(e *session.Event, user string) string {
	name, ok := e.Plugin()
	switch {
	case ok:
		return name
	case e.Author == session.User:
		return user
	}
	return cmp.Or(e.Author, "–")
}

// values says an object in a few words: a value alone, or keys with their values.
func values(object map[string]any) string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(object)) {
		text, ok := object[key].(string)
		if !ok {
			text = eventtext.JSON(object[key])
		}
		if len(object) > 1 || !ok {
			text = key + " " + text
		}
		words = append(words, text)
	}
	return strings.Join(words, ", ")
}

// saved says what a summary has saved, as its author noted it.
func saved(e *session.Event) string {
	note, _ := e.CustomMetadata["compaction"].(map[string]any)
	before, ok := note["before"].(float64)
	after, too := note["after"].(float64)
	if !ok || !too {
		return ""
	}
	return fmt.Sprintf(": %.0f tokens become %.0f", before, after)
}

// Placeholders returns the words that a guardrail has put into an event in the place of what it took out.
func Placeholders(e *session.Event) (words []string) {
	note := RecordsOf(e)
	for _, record := range note.Records {
		if record.Action == "redact" {
			words = append(words, "["+record.Type+"]")
		}
	}
	return words
}

// decide says what plugins decided about the row, and what failed.
func (r *Row) decide() {
	for _, e := range r.Events {
		r.decideOn(e)
	}
	for _, class := range []string{"error", "wait", "deny", "change"} {
		if slices.ContainsFunc(r.Tags, func(t Tag) bool { return t.Kind == class }) {
			r.Class = class
			if r.Events[0].Author == session.User {
				r.Class += " user"
			}
			return
		}
	}
}

func (r *Row) tag(kind, word, rule string) {
	t := Tag{Kind: kind, Word: word, Rule: rule}
	if !slices.Contains(r.Tags, t) {
		r.Tags = append(r.Tags, t)
	}
}

func (r *Row) decideOn(e *session.Event) {
	notes := plugin.NotesOf(e)

	// What a policy has done to it.
	note := RecordsOf(e)
	for _, record := range note.Records {
		switch {
		case record.Would != "":
			r.tag("plain", "would "+record.Would, record.Rule)
		case record.Action == "ask":
			// the question says so, below
		case record.Action == "block":
			// the denial says so
		case record.edits():
			r.tag("change", "changed", record.Rule)
		case record.Action == "flag":
			r.tag("plain", "flagged", record.Rule)
		}
	}
	denier, _, _ := plugin.Denial(e)
	for _, n := range notes.Changed {
		if n.Plugin == note.Plugin || n.Plugin == denier || r.counted(e, n) {
			continue
		}
		r.tag("change", "changed", n.Plugin)
	}

	// What it says.
	name, plug := e.Plugin()
	if e.ErrorCode == session.Denied && notes.Input != nil {
		r.tag("plain", "said instead", "") // the row of the message that was withheld says by whom
	} else if e.ErrorCode == session.Denied && e.Author != session.User {
		r.Tags = append(r.Tags, deniedTag(e))
	} else if plug && e.Text() != "" && !e.Marker() {
		r.tag("change", "answered", cmp.Or(strings.TrimPrefix(notes.Reason, "rule "), name))
	}
	if plug && e.Actions.Compaction != nil && e.Marker() {
		r.tag("plain", "summary", "")
	}
	if e.Actions.Rewind != nil {
		r.tag("plain", "rewind", "")
	}
	for _, id := range slices.Sorted(maps.Keys(e.Actions.RequestedToolConfirmations)) {
		c := e.Actions.RequestedToolConfirmations[id]
		switch {
		case e.Author != session.User:
			rule := name
			for _, record := range note.Records {
				if record.Action == "ask" {
					rule = record.Rule
				}
			}
			r.tag("wait", "asks", rule)
		case c.Confirmed:
			r.tag("plain", "approved", c.Name)
		default:
			r.tag("plain", "declined", c.Name)
		}
	}

	// What broke.
	for _, n := range notes.Unchecked {
		r.tag("error", "unchecked", n.Plugin)
	}
	switch {
	case e.ErrorCode == session.Cancelled:
		r.tag("error", "cancelled", "")
	case e.Interrupted && e.ErrorCode == "":
		r.tag("error", "cut off", "")
	case e.ErrorCode != "" && e.ErrorCode != session.Denied:
		r.tag("error", "failed", e.ErrorCode)
	}
	for _, response := range e.FunctionResponses() {
		if e.ErrorCode == "" {
			r.failed(response)
		}
	}
}

func (r *Row) failed(response *genai.FunctionResponse) {
	switch said := response.Response; {
	case said["declined"] == true:
		r.tag("plain", "declined", "")
	case said["interrupted"] == true:
		r.tag("error", "interrupted", "")
	case said["error"] != nil:
		r.tag("error", "tool failed", "")
	}
}

// counted reports whether a plugin replaced an event only to note something beside its content, as a budget does.
func (r *Row) counted(e *session.Event, n plugin.Note) bool {
	for _, h := range r.Hooks {
		if h.Event == e.ID && h.Plugin == n.Plugin {
			return slices.Contains(h.Did, "noted")
		}
	}
	return Counts(n)
}

// Counts reports whether a change only counts, as that of a budget: what the event says is as it was.
func Counts(n plugin.Note) bool { return strings.HasPrefix(n.Reason, "counts for ") }

// deniedTag returns the tag of a denial: the rule of a policy, or the limit, or the plugin.
func deniedTag(e *session.Event) Tag {
	name, _, _ := plugin.Denial(e)
	note := RecordsOf(e)
	for _, record := range note.Records {
		if record.Action == "block" {
			name = record.Rule
		}
	}
	if limit, ok := e.CustomMetadata["budget"].(map[string]any); ok {
		if text, ok := limit["limit"].(string); ok {
			name = text
		}
	}
	return Tag{Kind: "deny", Word: "denied", Rule: name}
}

// tags sums up those of the rows.
func (t *Turn) tags() (list []Tag) {
	count := map[Tag]int{}
	var order []Tag
	for _, r := range t.Rows {
		for _, tag := range r.Tags {
			if tag.Kind == "plain" {
				continue
			}
			key := Tag{Kind: tag.Kind, Word: tag.Word}
			if count[key] == 0 {
				order = append(order, tag)
			}
			count[key]++
		}
	}
	for _, tag := range order {
		if n := count[Tag{Kind: tag.Kind, Word: tag.Word}]; n > 1 {
			tag.Word = fmt.Sprintf("%d %s", n, tag.Word)
			tag.Rule = ""
		}
		list = append(list, tag)
	}
	switch {
	case t.Void != 0:
		list = append(list, Tag{Kind: "plain", Word: fmt.Sprintf("void by %d", t.Void)})
	case t.Behind != 0:
		list = append(list, Tag{Kind: "plain", Word: fmt.Sprintf("behind %d", t.Behind)})
	}
	return list
}

// statusTags says what has become of a row, where that is not true of the whole turn.
func (t *Turn) statusTags(r *Row) (list []Tag) {
	switch {
	case r.Status.Void != 0 && t.Void == 0:
		list = append(list, Tag{Kind: "plain", Word: fmt.Sprintf("void by %d", r.Status.Void)})
	case r.Status.Behind != 0 && t.Behind == 0:
		list = append(list, Tag{Kind: "plain", Word: fmt.Sprintf("behind %d", r.Status.Behind)})
	case r.Status.Live && r.log.Kept[r.Seq]:
		list = append(list, Tag{Kind: "plain", Word: "stays"})
	}
	return list
}

// Text returns what the row's first event says, as far as it is shown.
func (r *Row) Text() []visible.Piece {
	if r.Instead != 0 {
		return r.What.Text
	}
	pieces, cut := visible.Pieces(r.Events[0].Text(), shownText)
	if cut {
		pieces = append(pieces, visible.Piece{Text: "more than is shown", Kind: "gone"})
	}
	return visible.Mark(pieces, Placeholders(r.Events[0]))
}

// Files names what is attached to the row's first event.
func (r *Row) Files() (list []string) {
	if r.Instead != 0 {
		return nil
	}
	for _, p := range r.Events[0].Parts() {
		if p.InlineData != nil {
			list = append(list, fmt.Sprintf("%s %s, %d bytes", p.InlineData.DisplayName, p.InlineData.MIMEType, len(p.InlineData.Data)))
		}
	}
	return append(list, slices.Sorted(maps.Keys(r.Events[0].Actions.ArtifactDelta))...)
}

// Spoken reports whether the row is something that a chat shows.
func (r *Row) Spoken() bool {
	return r.What.Code != "" || r.Instead != 0 || len(r.Text()) > 0 || len(r.Files()) > 0 || r.Decided()
}

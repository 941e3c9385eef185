package policy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/session"
)

// example is an event in which a rule finds something, so that its reader can look it up.
type example struct {
	App      string         `json:"app"`
	User     string         `json:"user"`
	Session  string         `json:"session"`
	Position int64          `json:"position"` // in its session, as session show has it at the left
	Event    string         `json:"event"`    // its id
	Author   string         `json:"author"`
	Tools    []string       `json:"tools,omitempty"` // that the event calls, or whose answers it has
	Time     time.Time      `json:"time,omitzero"`
	Types    map[string]int `json:"types"`
	Texts    []foundText    `json:"texts,omitempty"` // with --text
}

// foundText is what a rule has found in a text.
type foundText struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	Reads  string `json:"reads,omitzero"` // as it is in the view in which it was found
	Around string `json:"around"`         // with what stands around it
}

// maxTexts is how many texts are quoted of one example.
const maxTexts = 3

// around is how many bytes are quoted before and behind what was found.
const around = 40

// quote quotes what a rule has found in a text.
func (f *finding) quote() foundText {
	text := f.text
	start := max(0, f.Start-around)
	for start > 0 && !utf8.RuneStart(text[start]) {
		start--
	}
	end := min(len(text), f.Start+maxQuote, f.End+around)
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end++
	}
	part := text[f.Start:f.End]
	return foundText{
		Type:   f.Type,
		Text:   eventtext.OneLine(part, maxQuote),
		Reads:  eventtext.OneLine(f.Reads(text), maxQuote),
		Around: eventtext.OneLine(text[start:end], 2*maxQuote),
	}
}

// recordedEvent is an event of a recording, and where it is among all of them.
type recordedEvent struct {
	*session.Event
	session, index int
}

// addExamples adds to each line the first events that it is about, at most so many; with texts, it quotes from
// them. What is found is what the policies have found, the newer one first.
func (r *replayReport) addExamples(recs []*session.Recording, most int, texts bool, judged ...*judgedEvents) {
	recorded := map[judgedEvent]recordedEvent{}
	for i, rec := range recs {
		for n, e := range rec.Events {
			recorded[judgedEvent{session: rec.Key, id: e.ID}] = recordedEvent{Event: e, session: i, index: n}
		}
	}
	for _, l := range r.Rules {
		first := slices.SortedFunc(maps.Keys(l.events), func(a, b judgedEvent) int {
			x := recorded[a]
			y := recorded[b]
			return cmp.Or(cmp.Compare(x.session, y.session), cmp.Compare(x.index, y.index))
		})
		for _, at := range first[:min(most, len(first))] {
			e := recorded[at]
			x := example{
				App:      at.session.App,
				User:     at.session.User,
				Session:  at.session.ID,
				Position: cmp.Or(e.Seq, int64(e.index)+1),
				Event:    at.id,
				Author:   e.Author,
				Tools:    toolsOf(e.Event, l.Stage),
				Time:     e.Timestamp.UTC(),
				Types:    map[string]int{},
			}
			in := found{judgedEvent: at, rule: l.Rule, stage: l.Stage}
			i := slices.IndexFunc(judged, func(j *judgedEvents) bool { return j.findings[in] != nil })
			for _, f := range judged[i].findings[in] {
				if l.Change == "" && f.Would != l.Action {
					continue // another line is about it; one with a change is about all
				}
				x.Types[f.Type]++
				if texts && len(x.Texts) < maxTexts {
					x.Texts = append(x.Texts, f.quote())
				}
			}
			l.Examples = append(l.Examples, x)
		}
	}
}

// toolsOf returns the names of the tools that an event calls, or whose answers it has.
func toolsOf(e *session.Event, stage policy.Stage) []string {
	var names []string
	switch stage {
	case policy.ToolArgs:
		for _, c := range e.FunctionCalls() {
			names = append(names, c.Name)
		}
	case policy.ToolResult:
		for _, r := range e.FunctionResponses() {
			names = append(names, r.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// writeExamples names the events of the lines, and says how to look at one.
func (p *commands) writeExamples(r *replayReport) error {
	st := p.Style()
	show := ""
	for _, l := range r.Rules {
		if len(l.Examples) == 0 {
			continue
		}
		change := ""
		if l.Change != "" {
			change = l.Change + ", "
		}
		fmt.Fprintln(p.Out, st.Bold(eventtext.Printable(fmt.Sprintf("%s at %s: %s%s", l.Rule, l.Stage, change, l.does()))))
		w := tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', 0)
		for _, x := range l.Examples {
			if show == "" {
				show = fmt.Sprintf("(runner session show %s --app %s --user %s --all shows that session; the numbers of its events stand at the left)",
					x.Session, x.App, x.User)
			}
			who := strings.Join(append([]string{x.Author}, x.Tools...), ", ")
			key := session.Key{App: x.App, User: x.User, ID: x.Session}
			fmt.Fprintf(w, "  session %s\tevent %d\t%s\t%s\t%s\t%s\n", eventtext.Printable(key.String()), x.Position,
				eventtext.Printable(x.Event), eventtext.Printable(who), x.Time.Format(time.DateTime), counted(x.Types))
			for _, t := range x.Texts {
				quote := fmt.Sprintf("%q", t.Text)
				if t.Reads != "" {
					quote += fmt.Sprintf(" reads %q", t.Reads)
				}
				if t.Around != t.Text {
					quote += fmt.Sprintf(" in %q", t.Around)
				}
				fmt.Fprintf(w, "    %s %s\n", t.Type, quote)
			}
		}
		if err := w.Flush(); err != nil {
			return err
		}
		if l.Events > len(l.Examples) {
			fmt.Fprintln(p.Out, st.Dim(fmt.Sprintf("  and %d more", l.Events-len(l.Examples))))
		}
	}
	if show != "" {
		fmt.Fprintf(p.Out, "%s\n\n", st.Dim(eventtext.Printable(show)))
	}
	return nil
}

// counted says how often there is something of each type.
func counted(types map[string]int) string {
	var said []string
	for _, kind := range slices.Sorted(maps.Keys(types)) {
		said = append(said, fmt.Sprintf("%s %d", kind, types[kind]))
	}
	return strings.Join(said, ", ")
}

// Package printer prints the events of a run: what agents and plugins say, and in a chat what they
// do beside that.
//
// A new kind of thing to show in a chat: a case in printer.go; what --explain shows of it: explain.go.
package printer

import (
	"fmt"
	"os/user"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/terminal"
	"github.com/plughook/plughook/internal/eventtext"
	"github.com/plughook/plughook/session"
)

// A Printer prints the events of one run as they come. The caller sets the exported fields first.
type Printer struct {
	Out   *terminal.Output
	Style terminal.Style
	JSONL bool // print each event as a line of JSON
	// Stream asks the run for partial events. Chat prints the names of authors, calls of tools and
	// what else happens, too.
	Stream, Chat bool

	// Node, if it is set, gets a line for each thing that a node of a workflow does; a chat prints these itself.
	Node func(line string)

	// Result is what the events say about how the run went.
	Result exit.Result
	// Events counts the events so far, without partial ones.
	Events int
	// Answered is true if an event had a text, or an output, for the user.
	Answered bool
	// Input is the user's message as it is in the log: less than was typed, if a plugin has taken
	// something out.
	Input string

	lines   terminal.Wrapper  // breaks lines where the terminal ends
	current string            // the ID of the event whose text is being written, "" if none is
	printed map[string]string // what was printed of partial events, by ID
	breaks  string            // line breaks at the end of the text so far, written when more text follows

	outputShown string   // the ID of the event whose output was printed like a message of the agent
	failed      []string // the paths of the runs of nodes that have failed
	lastFailure string   // the error message of the last of them
	lastFailed  string   // its path
}

// RunConfig returns how to run so that the events that this Printer prints come.
func (p *Printer) RunConfig() session.RunConfig {
	c := session.RunConfig{Create: true, Sender: operator()}
	if p.Stream {
		c.Streaming = session.SSE
	}
	return c
}

// operator is who uses the command line: whoever reaches the store may decide everything, under the name that the machine
// has for them.
func operator() session.Sender {
	s := session.Sender{Name: "operator", Roles: []string{session.AnyRole}}
	if u, err := user.Current(); err == nil && u.Username != "" {
		s.Name = u.Username
	}
	return s
}

// Event prints an event.
func (p *Printer) Event(e *session.Event) error {
	if !e.Partial {
		p.Result.Note(e)
		p.Events++
	}
	if e.Author == session.User && p.Input == "" {
		p.Input = e.Text()
	}
	says := e.Author != session.User && strings.TrimSpace(e.Text()) != "" && !aside(e)
	if !says && !p.Answered && endsWorkflow(e) && !p.JSONL {
		e = outputAsText(e)
		p.outputShown = e.ID
		says = true
	}
	p.Answered = p.Answered || says
	if p.Node != nil && !p.Chat && !p.JSONL && !e.Partial {
		for _, line := range p.story(e) {
			p.Node(eventtext.OneLine(line, lineWidth(e)))
		}
	}
	switch {
	case p.JSONL:
		if err := p.Out.WriteJSON(e); err != nil {
			return exit.Other.As(err)
		}
	case aside(e) && (e.Partial || !p.Chat):
	case aside(e):
		p.End()
		p.actions(e)
	case e.Partial && p.current != "" && p.current != e.ID:
		// Agents that speak at once are not mixed: this one is printed as a whole, once it is whole.
	case e.Partial:
		p.partial(e)
	default:
		p.whole(e, says)
	}
	return p.Out.Flush()
}

// endsWorkflow reports whether an event has the output of the outermost workflow, and so ends its run.
func endsWorkflow(e *session.Event) bool {
	return e.NodeInfo != nil && e.NodeInfo.Ended && e.Output != nil && !strings.Contains(e.NodeInfo.Path, "/") && !aside(e)
}

// outputAsText returns an event whose content is its output: a workflow that has said nothing else says this.
func outputAsText(e *session.Event) *session.Event {
	c := *e
	c.Content = genai.NewContentFromText(outputText(e.Output), genai.RoleModel)
	c.Output = nil
	return &c
}

// partial prints what a partial event adds.
func (p *Printer) partial(e *session.Event) {
	blank := strings.TrimSpace(e.Text()) == ""
	if e.Text() == "" || p.current == "" && p.printed[e.ID] == "" && blank {
		return
	}
	if p.current == "" {
		p.begin(e)
	}
	p.current = e.ID
	if p.printed == nil {
		p.printed = map[string]string{}
	}
	p.printed[e.ID] += e.Text()
	p.text(e.Text())
}

// whole prints an event that is complete. If partial events have printed the beginning of its text, it prints
// only the rest. says is true if the event says something to the user.
func (p *Printer) whole(e *session.Event, says bool) {
	text := e.Text()
	before := p.printed[e.ID]
	delete(p.printed, e.ID)
	if p.current != e.ID {
		p.End()
	}
	switch {
	case p.current == e.ID && before != "" && strings.HasPrefix(text, before):
		p.text(text[len(before):])
	case says && text != before:
		p.End()
		p.begin(e)
		p.text(strings.TrimPrefix(text, before))
	}
	p.End()
	if p.Chat {
		p.actions(e)
	}
}

// begin names the author.
func (p *Printer) begin(e *session.Event) {
	if p.Chat {
		name := eventtext.Printable(e.Author) + ":"
		p.lines.Skip(name + " ")
		fmt.Fprintf(p.Out, "%s ", p.Style.Bold(name))
	}
}

// text prints text but for its last line breaks, which wait until something follows.
func (p *Printer) text(text string) {
	rest := strings.TrimRight(text, "\n")
	if rest != "" {
		p.lines.Columns = p.Out.Columns()
		fmt.Fprint(p.Out, p.lines.Add(p.breaks+eventtext.Printable(rest)))
		p.breaks = ""
	}
	p.breaks += text[len(rest):]
	if p.current == "" {
		p.current = "whole"
	}
}

// End ends the line that is being written, if one is.
func (p *Printer) End() {
	if p.current != "" {
		fmt.Fprintln(p.Out, p.lines.End())
	}
	p.current = ""
	p.breaks = ""
}

// aside reports whether the event belongs to a conversation between agents, which the user does not take part in.
func aside(e *session.Event) bool { return !agent.Sees("", e.Branch) }

// lineWidth is how many characters a line has that says what an event does. Why something has failed is
// said whole.
func lineWidth(e *session.Event) int {
	if e.ErrorCode != "" {
		return 1000
	}
	return 110
}

// actions prints what an event does beside what it says to the user, a line each.
func (p *Printer) actions(e *session.Event) {
	paint := p.Style.Dim
	if e.ErrorCode != "" && e.Author != session.User {
		paint = p.Style.Red
	}
	for _, line := range append(p.story(e), actionLines(e)...) {
		text := "  · " + eventtext.OneLine(line, lineWidth(e))
		fmt.Fprintln(p.Out, paint(terminal.Wrap(text, p.Out.Columns())))
	}
}

// actionLines says what an event does beside what it says to the user, and beside what a node of a
// workflow does.
func actionLines(e *session.Event) []string {
	rest := *e
	rest.Actions.StateDelta = nil
	rest.Actions.StateIncrement = nil
	rest.Actions.RequestedToolConfirmations = nil // the chat asks
	if c := rest.Actions.Compaction; c != nil {   // a summary can be long; /show has it
		rest.Actions.Compaction = &session.Compaction{Through: c.Through, Keep: c.Keep}
	}
	ofNode := e.NodeInfo != nil && e.NodeInfo.Path != "" && e.Author != session.User
	if ofNode { // the story says it
		rest.NodeInfo = nil
		rest.Output = nil
		rest.Actions.Route = nil
		rest.ErrorCode = ""
		rest.ErrorMessage = ""
	}
	rest.Content = &genai.Content{}
	if e.Content != nil && !ofNode {
		parts := slices.DeleteFunc(slices.Clone(e.Content.Parts), func(part *genai.Part) bool {
			return part == nil || part.Text != "" && (part.Thought || !aside(e)) || answersQuestion(e, part)
		})
		rest.Content = &genai.Content{Role: e.Content.Role, Parts: parts}
	}
	lines := eventtext.Lines(&rest)
	if aside(e) {
		for i := range lines {
			lines[i] = e.Author + ": " + lines[i]
		}
	}
	return lines
}

// answersQuestion reports whether a part is the user's answer to a workflow's question, which the user
// has just typed.
func answersQuestion(e *session.Event, part *genai.Part) bool {
	return e.Author == session.User && part.FunctionResponse != nil && part.FunctionResponse.Name == session.AskTool
}

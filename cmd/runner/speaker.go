package main

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
)

// speaker prints the events of a run as they come.
type speaker struct {
	*program
	style style
	// stream asks for partial events; chat prints authors, calls and so on too.
	stream, chat bool

	verdict verdict
	spoken  bool
	heard   string            // what is in the log of the user's message: less than was typed, if a plugin has taken something out
	now     string            // the event whose text is being written, "" if none is
	said    map[string]string // of partial events, by ID
	held    string            // line breaks that are written once something follows
}

// config returns how to run so that there is what to print.
func (s *speaker) config() session.RunConfig {
	c := session.RunConfig{Create: true}
	if s.stream {
		c.Streaming = session.SSE
	}
	return c
}

// event prints an event.
func (s *speaker) event(e *session.Event) error {
	if !e.Partial {
		s.verdict.note(e)
	}
	if e.Author == session.User && s.heard == "" {
		s.heard = e.Text()
	}
	said := e.Author != session.User && strings.TrimSpace(e.Text()) != "" && !aside(e)
	s.spoken = s.spoken || said
	switch {
	case s.jsonl:
		if err := s.writeJSON(e); err != nil {
			return err
		}
	case aside(e) && (e.Partial || !s.chat):
	case aside(e):
		s.end()
		s.doings(e)
	case e.Partial && s.now != "" && s.now != e.ID: // one at a time; the other is said as a whole
	case e.Partial:
		s.part(e)
	default:
		s.whole(e, said)
	}
	return s.out.Flush()
}

// part prints what a partial event adds.
func (s *speaker) part(e *session.Event) {
	if e.Text() == "" || s.now == "" && s.said[e.ID] == "" && strings.TrimSpace(e.Text()) == "" {
		return
	}
	if s.now == "" {
		s.begin(e)
	}
	if s.now = e.ID; s.said == nil {
		s.said = map[string]string{}
	}
	s.said[e.ID] += e.Text()
	s.text(e.Text())
}

// whole prints an event but for what was said of it before.
func (s *speaker) whole(e *session.Event, said bool) {
	text := e.Text()
	before := s.said[e.ID]
	delete(s.said, e.ID)
	if s.now != e.ID {
		s.end()
	}
	switch {
	case s.now == e.ID && before != "" && strings.HasPrefix(text, before):
		s.text(text[len(before):])
	case said && text != before:
		s.end()
		s.begin(e)
		s.text(strings.TrimPrefix(text, before))
	}
	s.end()
	if s.chat {
		s.doings(e)
	}
}

// begin names the author.
func (s *speaker) begin(e *session.Event) {
	if s.chat {
		fmt.Fprintf(s.out, "%s ", s.style.bold(printable(e.Author)+":"))
	}
}

// text prints text but for its last line breaks, until something follows.
func (s *speaker) text(text string) {
	rest := strings.TrimRight(text, "\n")
	if rest != "" {
		fmt.Fprint(s.out, s.held+printable(rest))
		s.held = ""
	}
	s.held += text[len(rest):]
	if s.now == "" {
		s.now = "whole"
	}
}

// end ends the line that is being written.
func (s *speaker) end() {
	if s.now != "" {
		fmt.Fprintln(s.out)
	}
	s.now, s.held = "", ""
}

// aside reports whether the event is of a conversation of agents, in which nothing is said to the user.
func aside(e *session.Event) bool { return !agent.Sees("", e.Branch) }

// doings prints what an event does beside what it says to the user, a line each.
func (s *speaker) doings(e *session.Event) {
	rest, who := *e, ""
	rest.Actions.StateDelta, rest.Actions.StateIncrement = nil, nil
	rest.Actions.RequestedToolConfirmations = nil // the chat asks
	if c := rest.Actions.Compaction; c != nil {   // a summary can be long; /show has it
		rest.Actions.Compaction = &session.Compaction{Through: c.Through, Keep: c.Keep}
	}
	if aside(e) {
		who = e.Author + ": "
	}
	if rest.Content = nil; e.Content != nil {
		parts := slices.DeleteFunc(slices.Clone(e.Content.Parts), func(p *genai.Part) bool {
			return p == nil || p.Text != "" && (p.Thought || !aside(e))
		})
		rest.Content = &genai.Content{Role: e.Content.Role, Parts: parts}
	}
	paint := s.style.dim
	if e.ErrorCode != "" && e.Author != session.User {
		paint = s.style.red
	}
	for _, line := range eventLines(&rest) {
		fmt.Fprintln(s.out, paint("  · "+oneLine(who+line, 110)))
	}
}

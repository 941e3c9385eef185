package guardrail

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/plughook/plughook/session"
)

// unfinished reports whether a text is what an agent had said when it failed.
func (j *judgment) unfinished(l leaf) bool {
	e := j.event
	return l.item.said && (e.Interrupted || e.ErrorCode != "" && e.ErrorCode != session.Denied) &&
		e.Author != session.User && !strings.HasPrefix(e.Author, session.PluginPrefix)
}

// brokenOff returns the ends of what an event says and thinks: its error's message may go on there.
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
			ends = append(ends, tail(b, maxWindow))
		}
	}
	return ends
}

// kept returns how much the rules have decided about of a text that ends where its author failed.
func (j *judging) kept(v *Verdict, before before, text string, gaps []int) int {
	defer j.recovering(v, text)
	hiding := *j
	hiding.rules = slices.DeleteFunc(slices.Clone(j.rules), func(r *rule) bool { return r.shadow || j.shadow || r.whole() || !r.strictest().hides() })
	return hiding.settled(before, text, gaps)
}

// decided returns how much of such a text is to be kept: the beginning of what the rules would hide is not kept for want
// of its end.
func decided(list []cut, settled int, text string) int {
	for _, c := range list {
		if c.start < settled && c.end > settled {
			settled = c.start
		}
	}
	for settled > 0 && settled < len(text) && !utf8.RuneStart(text[settled]) {
		settled--
	}
	return settled
}

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
	return e != nil && l.item.said && l.item.last && (e.Interrupted || e.ErrorCode != "" && e.ErrorCode != session.Denied) &&
		e.Author != session.User && !strings.HasPrefix(e.Author, session.PluginPrefix)
}

// decided returns what is to be kept of a text that ends where its author failed: what the rules have decided about. The
// beginning of what they would hide is not kept for want of its end.
func (j *judging) decided(v *Verdict, before before, text string) string {
	defer j.recovering(v, text)
	hiding := *j
	hiding.rules = slices.DeleteFunc(slices.Clone(j.rules), func(r *rule) bool { return r.shadow || j.shadow || r.whole() || !r.strictest().hides() })
	settled, list := hiding.settled(before, text), cuts(v.Findings)
	for _, c := range list {
		if c.start < settled && c.end > settled {
			settled = c.start
		}
	}
	for settled > 0 && settled < len(text) && !utf8.RuneStart(text[settled]) {
		settled--
	}
	return j.edited(text, list, 0, settled)
}

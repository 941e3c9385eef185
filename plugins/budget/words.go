package budget

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// spent says which limit is used up, and when there is more.
func (t *tally) spent(u *use) string {
	text := fmt.Sprintf("%s (%s) is used up", u.limit.Name, u.limit)
	if free := u.frees(); !free.IsZero() {
		text += "; there is more in " + short(free.Sub(t.now))
	}
	return text
}

// deny refuses an input or a model call, and ends the run.
func (t *tally) deny(u *use) plugin.Outcome {
	text := cmp.Or(u.limit.Message, "The limit "+t.spent(u)+".")
	out := plugin.Deny(text, "limit "+u.limit.Name+" is used up")
	out.Emit[0].CustomMetadata = t.metadata(u)
	return out
}

// denyCall answers a tool call in the tool's place. The run goes on.
func (t *tally) denyCall(u *use, call *genai.FunctionCall) *session.Event {
	text := cmp.Or(u.limit.Message, "not executed: the limit "+t.spent(u)+"; go on without it")
	e := session.Respond(call, map[string]any{"error": text})
	e.ErrorCode = session.Denied
	e.ErrorMessage = "limit " + u.limit.Name + " is used up"
	e.CustomMetadata = t.metadata(u)
	return e
}

// question asks a human about a tool call.
func (t *tally) question(u *use, call *genai.FunctionCall) string {
	text := "The limit " + t.spent(u) + ". Make this call of " + call.Name + " all the same?"
	return cmp.Or(u.limit.Message, text)
}

// String says the limit in words, such as "30 runs per user in 1h".
func (l *limit) String() string {
	what := strings.ReplaceAll(l.Count, "_", " ")
	if l.Max == 1 {
		what = strings.TrimSuffix(what, "s")
	}
	text := fmt.Sprintf("%d %s per %s", l.Max, what, l.Per)
	switch {
	case l.daily != nil:
		return text + " until " + l.Until
	case l.Every > 0:
		return text + " in " + short(l.Every)
	}
	return text
}

// warning is the event that says how much is used. It has no content, so that no model is shown it
// and it is no answer.
func (t *tally) warning(u *use) *session.Event {
	said := t.metadata(u)
	said[Key].(map[string]any)["warning"] = true
	return &session.Event{CustomMetadata: said}
}

// metadata says what is used, for programs.
func (t *tally) metadata(u *use) map[string]any {
	said := map[string]any{
		"limit": u.limit.Name,
		"used":  u.used + u.adds,
		"max":   float64(u.limit.Max),
	}
	if free := u.frees(); !free.IsZero() {
		said["free"] = free.UTC().Format(time.RFC3339)
	}
	return map[string]any{Key: said}
}

// short writes a duration without its zeros, rounded up to what a reader can use.
func short(d time.Duration) string {
	unit := time.Second
	if d > time.Hour {
		unit = time.Minute
	}
	if d%unit > 0 {
		d += unit - d%unit
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

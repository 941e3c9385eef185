package dialect

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// softer lists what is said in place of an answer that a dialect does not have, and that asks the same with a dialog.
var softer = map[Answer]Answer{Approve: Allow, ChangeInputApproved: ChangeInput}

// Reply returns what to print, and how to exit, so that the agent does what the verdict says.
func (e *Event) Reply(v Verdict) Reply {
	answer := v.Answer
	f, ok := e.replies[answer]
	if !ok && softer[answer] != "" {
		answer = softer[answer]
		f, ok = e.replies[answer]
		if ok && f.As == "" {
			f.As = answer
		}
	}
	if !ok {
		f = e.replies[Allow]
	}
	return Reply{
		Stdout: e.fill(f.Stdout, v),
		Stderr: strings.ReplaceAll(f.Stderr, "$reason", line(v.Reason)),
		Exit:   f.Exit,
		As:     f.As,
		Unsaid: !ok,
	}
}

// line makes one line of a text, for standard error.
func line(text string) string { return strings.Join(strings.Fields(text), " ") }

// fill puts a verdict's texts and values into the gaps of a form.
func (e *Event) fill(form jsontext.Value, v Verdict) []byte {
	if form == nil || string(form) == `""` {
		return nil
	}
	instead := v.Instead
	if instead == "" {
		instead = "[withheld by policy]"
	}
	if scalar(form) == "$reason" {
		return []byte(v.Reason)
	}
	input := v.Input
	if input == nil {
		input = jsontext.Value("null")
	}
	result, ok := withText(e.Result, instead)
	if !ok {
		result = quoted(instead)
	}
	filled := strings.NewReplacer(
		`"$event"`, string(quoted(e.Name)),
		`"$reason"`, string(quoted(v.Reason)),
		`"$input"`, string(input),
		`"$result"`, string(result),
		`"$withheld"`, string(quoted(instead)),
		`"$text_and_reason"`, string(quoted(e.Text+"\n\n"+v.Reason)),
	).Replace(string(form))
	out := jsontext.Value(filled)
	if out.Compact(lenient) != nil {
		return []byte(filled)
	}
	return out
}

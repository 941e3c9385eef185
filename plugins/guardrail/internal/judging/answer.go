package judging

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	jsonstrict "github.com/go-json-experiment/json"
)

// An Answer is what a judge has said of a text.
type Answer struct {
	// Flagged says that the rule acts on the text.
	Flagged bool
	// Score says how surely the answer to the rule's question is yes, from 0 to 1. It is also set if
	// the text is not flagged.
	Score float64
	// Spans are the parts of the text that are flagged. If the whole text is flagged, there is one.
	Spans []Span
}

// A Span is a part of a text that a judge has flagged.
type Span struct {
	Start, End int
	Type       string
	Score      float64 // from 0 to 1
}

// A NoAnswer is an error that says why a judge has not answered. It quotes nothing of what was asked
// or answered.
type NoAnswer struct {
	Why string
	// OverBudget says that the judge was not asked, because the judges of the policy have spent what
	// they may.
	OverBudget bool
}

// Error implements error.
func (n NoAnswer) Error() string { return n.Why }

// TypeOf returns the type of a finding that stands for a failure of a judge.
func TypeOf(failure error) string {
	if why, ok := errors.AsType[NoAnswer](failure); ok && why.OverBudget {
		return TypeOverBudget
	}
	return TypeUnjudged
}

// Unanswered returns a NoAnswer that says why.
func Unanswered(format string, args ...any) error {
	return NoAnswer{Why: fmt.Sprintf(format, args...)}
}

// Read reads the answer of the rule's judge about a text: the JSON of a service, or of a model that
// was asked about this rule alone. Whatever is not as documented is no answer, and the error is a
// [NoAnswer].
func (j *Judge) Read(data []byte, text string) (Answer, error) {
	if j.Model != "" {
		return j.readModel(data, text)
	}
	return j.readService(data, text)
}

// Undecided is the score of a model that finds yes as likely as no. It is the default threshold of rules.
const Undecided = 0.5

// readModel reads what a model has answered.
func (j *Judge) readModel(data []byte, text string) (a Answer, err error) {
	var w struct {
		Flagged *bool    `json:"flagged"`
		Score   *float64 `json:"score"`
	}
	strict := jsonstrict.RejectUnknownMembers(true)
	if jsonstrict.Unmarshal([]byte(Unfenced(string(data))), &w, strict) != nil || w.Flagged == nil || w.Score == nil {
		return a, Unanswered(`its model has not answered with {"flagged": true or false, "score": 0 to 1}`)
	}
	a.Score = *w.Score
	if a.Score < 0 || a.Score > 1 {
		return a, Unanswered("its model has answered with a score that is not from 0 to 1")
	}

	// A model that says no and is sure of yes has not understood what a score is.
	if *w.Flagged && a.Score < Undecided || !*w.Flagged && a.Score > Undecided {
		return a, Unanswered("its model has answered with a score that contradicts flagged: the score says how sure it is that the answer is yes")
	}
	a.Flagged = a.Score >= j.Threshold
	if a.Flagged {
		a.Spans = []Span{{End: len(text), Type: TypeFlagged, Score: a.Score}}
	}
	return a, nil
}

// Unfenced returns a model's answer without the code fence of Markdown around all of it. Models that
// cannot be held to a schema often write one.
func Unfenced(answer string) string {
	inner, ok := strings.CutPrefix(strings.TrimSpace(answer), "```")
	if !ok {
		return answer
	}
	inner, ok = strings.CutSuffix(inner, "```")
	if !ok {
		return answer
	}
	return strings.TrimPrefix(inner, "json")
}

// wireAnswer is what a service answers. Other keys are left alone.
type wireAnswer struct {
	Flagged  *bool      `json:"flagged"`
	Type     string     `json:"type"`
	Score    *float64   `json:"score"`
	Findings []wireSpan `json:"findings"`
}

type wireSpan struct {
	Start *int     `json:"start"`
	End   *int     `json:"end"`
	Type  string   `json:"type"`
	Score *float64 `json:"score"`
}

// readService reads what a service has answered.
func (j *Judge) readService(data []byte, text string) (a Answer, err error) {
	var w wireAnswer
	if jsonstrict.Unmarshal(data, &w) != nil {
		return a, Unanswered("its judge's answer is not the JSON that is documented")
	}
	if w.Flagged == nil {
		return a, Unanswered("its judge's answer does not say flagged")
	}
	if !*w.Flagged && len(w.Findings) > 0 {
		return a, Unanswered("its judge's answer has findings and is not flagged")
	}
	all := Span{End: len(text), Type: TypeFlagged, Score: 1}
	if err := label(&all, w.Type, w.Score); err != nil {
		return a, err
	}
	spans := make([]Span, 0, len(w.Findings))
	for _, f := range w.Findings {
		s := all
		if !inside(text, f.Start, f.End) {
			return a, Unanswered("its judge's answer has a finding that is no part of the text: start and end are bytes of its UTF-8")
		}
		s.Start = *f.Start
		s.End = *f.End
		if err := label(&s, f.Type, f.Score); err != nil {
			return a, err
		}
		spans = append(spans, s)
	}
	if *w.Flagged && len(spans) == 0 {
		spans = append(spans, all)
	}

	// The rule acts on what the service is sure enough of.
	for _, s := range spans {
		a.Score = max(a.Score, s.Score)
		if s.Score >= j.Threshold {
			a.Spans = append(a.Spans, s)
		}
	}
	a.Flagged = len(a.Spans) > 0
	return a, nil
}

// inside reports whether two bytes are the start and the end of a part of a text that divides no
// character.
func inside(text string, start, end *int) bool {
	if start == nil || end == nil || *start < 0 || *start >= *end || *end > len(text) {
		return false
	}
	return boundary(text, *start) && boundary(text, *end)
}

// boundary reports whether a character begins, or the text ends, at a byte.
func boundary(text string, at int) bool { return at == len(text) || utf8.RuneStart(text[at]) }

// label sets the type and the score of a span, if a service gives them.
func label(s *Span, kind string, score *float64) error {
	if kind != "" {
		if !TypeForm.MatchString(kind) {
			return Unanswered("its judge's answer has a wrong type: it is capital letters, digits and _, at most 64")
		}
		s.Type = kind
	}
	if score != nil {
		s.Score = *score
		if !(s.Score >= 0 && s.Score <= 1) { // which NaN is not
			return Unanswered("its judge's answer has a score that is not from 0 to 1")
		}
	}
	return nil
}

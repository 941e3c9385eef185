// Package detect finds in a text what a policy may be about: personal data, secrets, prompt
// injections, and words of one's own. A [Detector] is a pure function of a text: it knows nothing
// of sessions and plugins, and keeps nothing.
//
// [PII] finds what has a form or a check digit: card numbers, telephone numbers, passport numbers,
// email addresses. [Secrets] finds tokens, keys and passwords. [Injection] finds phrases that turn
// a model against whoever runs it. [Words] finds the words of a list.
//
// The forms of tokens, the numbers of countries and the words that detectors look for are in text
// files in the folder data, whose first lines explain them. To have more found, add a row there:
//
//   - an official number or code: a row of ids.txt, with its forms, its check, and the words that stand
//     beside it; a check that no other has is a row of checks.txt;
//   - a code that is known by its form alone: a row of shapes.txt;
//   - a country's telephone numbers as a type of their own: a row of national_phones.txt;
//   - a token that begins with a prefix of its own: a line of tokens.txt; one that has a mark of its own in
//     its middle: a line of middle_tokens.txt;
//   - a form that only a provider's name beside it makes a secret: a line of providers.txt;
//   - a name under which a value is a secret: its last word to a list of names.txt;
//   - a name whose value is none: the word that says so to a list of names.txt;
//   - what stands in the place of a secret: a word to the placeholders of passwords.txt;
//   - a command that is given a password: a line of commands.txt.
//
// A kind of personal data whose form no table can describe, such as a date or a telephone number,
// is a method of finder in a file of its own; finder.number or finder.word in scan.go calls it. A
// secret of such a form is a method of scan, with its keyword in fixedProbes of secrets.go.
package detect

// A Finding is a part of a text.
type Finding struct {
	// Type says what it is, such as EMAIL_ADDRESS or SECRET. Personal data have the names of
	// Microsoft Presidio.
	Type string
	// Rule says what found it, more exactly than Type: which provider's token, or by which check.
	Rule string
	// Start and End are the bytes of the part: text[Start:End].
	Start, End int
	// Score says how sure it is, above 0 and at most 1. It is 1 if a check digit or the like is
	// right.
	Score float64
}

// A Detector finds parts of texts. It is safe for concurrent use.
type Detector interface {
	// Find appends what it finds in a text that is whole, and returns the extended slice. Its
	// findings are ordered by Start and do not overlap. It allocates nothing if it finds nothing.
	Find(found []Finding, text string) []Finding
	// Reader returns a reader of a text that grows, at the text's beginning.
	Reader() Reader
}

// A Reader finds in a text that grows, such as an answer that comes in pieces, what Find finds in
// the whole. It reads what is new, with as much of the text before it as may decide about it. It is
// for one goroutine at a time.
type Reader interface {
	// Read reads the text so far, of which the text of the last call is a beginning. It returns from
	// where on the text is open, which means that what follows may still change what is found there:
	// len(text) if nothing is open. That place is never within a finding, and it never decreases.
	// Read appends to found what was open until now, and is not any more. So the findings of all
	// calls are those of Find, in this text and in each longer one, that begin before open.
	Read(found []Finding, text string) (extended []Finding, open int)
	// Wait returns by how many bytes the text should grow before it is read again: so many that what
	// is read more than once costs no more than what is new.
	Wait() int
	// Clone returns another reader that is where this one is.
	Clone() Reader
}

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
//     beside it;
//   - a token that begins with a prefix of its own: a line of tokens.txt;
//   - a form that only a provider's name beside it makes a secret: a line of providers.txt;
//   - a name under which a value is a secret: its last word to a list of names.txt;
//   - a name whose value is none: the word that says so to a list of names.txt;
//   - what stands in the place of a secret: a word to the placeholders of passwords.txt;
//   - a command that is given a password: a line of commands.txt.
//
// What has a form that no table can say, such as a date or a telephone number, is a method of finder in
// a file of its own, which scan.go calls.
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
	// Find appends what it finds in text to found and returns the extended slice. Its findings are
	// ordered by Start and do not overlap. It allocates nothing if it finds nothing.
	Find(found []Finding, text string) []Finding
	// Open returns from where on the text is open, which means that what follows the text may
	// still change what is found there. It is len(text) if nothing is open, it is never within a
	// finding, and it never decreases as text grows.
	//
	// So a stream can be passed on up to Open and nothing has to be taken back: for every text t
	// and every beginning p of it, the findings of t that begin before Open(p) are those of p that
	// begin before Open(p), and no other finding of t reaches into that part.
	Open(text string) int
}

// Package detect finds what a policy is about in a text: personal data, secrets, words. It knows nothing of
// sessions and plugins, keeps nothing, and writes nothing.
package detect

// A Finding is a part of a text.
type Finding struct {
	// Type says what it is, such as EMAIL_ADDRESS or SECRET: for personal data the names of Microsoft Presidio.
	Type string
	// Rule is who found it, more exactly than Type: the id of a secret's rule, a country's number.
	Rule string
	// Start and End are the part's bytes in the text: text[Start:End].
	Start, End int
	// Score says how sure it is, above 0 and at most 1: 1 if a check digit or the like was right.
	Score float64
}

// A Detector finds parts of texts. It is safe for concurrent use.
type Detector interface {
	// Find appends what it finds in text to found, ordered by Start, and returns the extended slice. It
	// allocates nothing if it finds nothing.
	Find(found []Finding, text string) []Finding
	// Open returns how much of text is settled: however text goes on, what Find finds that begins before Open, or
	// reaches into what is before it, is what it finds in text now, and ends at Open or before it. It is len(text)
	// if nothing is open, and never decreases as text grows.
	//
	// So a stream can be passed on up to Open with nothing to be taken back:
	//
	//	for every text t, and every beginning p of it: the findings of t that begin before Open(p) are those of p
	//	that begin before Open(p), and none of t's others reaches there.
	Open(text string) int
}

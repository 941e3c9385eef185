package detect

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// PII returns a detector of personal data that have a form: numbers with check digits, email, URL,
// IP and hardware addresses, telephone numbers, dates. It finds the types that are named, or all
// of [PIITypes] if none is. Types have the names of Microsoft Presidio, or are named in its
// manner. The error names a type that is not known. Names of people, places and organizations
// (PERSON, LOCATION, NRP, ORGANIZATION) have no form and need a model, so they are not known here.
//
// What fits a type that is asked for is found, whatever else it could be: types that are not asked
// for play no part. Where two findings overlap, the surer wins, then the longer, then the earlier.
//
// A number whose form has no check digit, or one that many numbers pass by chance, counts only if
// a word says what it is. The word is one of some twenty languages, a whole word, among the last
// nine before the number and not before an empty line, or behind it (is my passport), or the name
// of its column in a table. If the number is all of the text, it needs no word if it fits a check
// digit, if little else is written as it is (ABC-123DE), or if its type is named and some others are
// not. Of several types that it fits, it is taken for the one with the fewest such numbers. It is
// taken for none if only its check digits speak for the type, and nearly as few fit the next.
//
// UUID, and types of one country's telephone numbers such as TR_PHONE_NUMBER, are found only where
// they are named and some others are not.
func PII(types ...string) (Detector, error) {
	p := &pii{piiTables: allPIITables()}
	for _, t := range types {
		if !slices.Contains(p.types, t) {
			return nil, fmt.Errorf("no detector finds the type %s; those there are: %s",
				t, strings.Join(p.types, ", "))
		}
		if p.only == nil {
			p.only = map[string]bool{}
		}
		p.only[t] = true
	}
	if len(p.only) == len(p.types) {
		p.only = nil
	}
	for l, kind := range p.kinds {
		p.wanted[l] = p.only == nil || p.only[kind]
	}
	return p, nil
}

// PIITypes returns the types that PII finds, in alphabetical order.
func PIITypes() []string {
	return slices.Clone(allPIITables().types)
}

// piiTables is what the detector knows from its data files.
type piiTables struct {
	ids
	vocabulary
	types       []string // in alphabetical order
	phoneLabels []string // words after a telephone number
	cards       []cardRange
	ibans       [26 * 26]uint8 // the length of an account number by the two letters of its country
	phones      [100]phonePlan // by the first two digits of an international number
	national    []nationalPhone
	domains     map[string]bool
	shapes      []shape
	months      map[string]bool // the first three letters of months' names
}

var allPIITables = sync.OnceValue(newPIITables)

func newPIITables() *piiTables {
	t := &piiTables{vocabulary: newVocabulary()}
	t.readVocabulary()
	t.readIDs()
	t.readCards()
	t.readIBANs()
	t.readPhones()
	t.readDomains()
	t.readMonths()
	t.readShapes()
	t.types = append(t.types,
		"CREDIT_CARD", "DATE_OF_BIRTH", "DATE_TIME", "EMAIL_ADDRESS", "IBAN_CODE", "IP_ADDRESS",
		"PHONE_NUMBER", "URL")
	slices.Sort(t.types)
	t.types = slices.Compact(t.types)
	return t
}

type pii struct {
	only   map[string]bool // the types that are asked for; nil for all
	wanted [maxLists]bool  // the same by the rows of official numbers and codes
	*piiTables
}

func (p *pii) Find(found []Finding, text string) []Finding {
	f := finder{pii: p, out: found}
	f.scan(text, false)
	return f.out
}

func (p *pii) Reader() Reader { return &piiReader{pii: p} }

// piiLookBack is how many bytes before a finding of PII may decide about it, behind a blank: those
// of its row in a table, and those up to the header.
const piiLookBack = rowBytes + headerBytes + 96

// A piiReader is a finder in a text that grows.
type piiReader struct {
	*pii
	finder finder // where it stopped
	read   int    // how long the text was
}

func (r *piiReader) Read(found []Finding, text string) ([]Finding, int) {
	r.read = len(text)
	r.finder.pii = r.pii
	r.finder.out = found
	open := r.finder.scan(text, true)
	found = r.finder.out
	r.finder.out = nil
	return found, open
}

// Wait implements Reader. What the finder did not decide about is read again: mostly one number, but
// in rows of numbers more.
func (r *piiReader) Wait() int { return max(0, 2*(r.read-r.finder.next-oneNumber)) }

// oneNumber is how many bytes most numbers have, with what stands between their groups.
const oneNumber = 32

func (r *piiReader) Clone() Reader {
	clone := *r
	return &clone
}

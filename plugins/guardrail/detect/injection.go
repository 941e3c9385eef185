package detect

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/plughook/plughook/plugins/guardrail/detect/internal/table"
	"github.com/plughook/plughook/plugins/guardrail/internal/automaton"
)

// Injection returns a detector of prompt injections, which are what somebody says to a model to
// turn it against whoever runs it: to override its instructions, to have it reveal them or its
// secrets, to play a role without rules, to hide something from the user or send it away; and of
// the marks of chat templates, which forge where a message begins. Findings have the type
// PROMPT_INJECTION; Rule says which of these.
//
// It knows words only, so use it to flag a text, not to protect something. It looks for phrases
// that little else has, and for two or three words within a sentence, such as ignore, previous and
// instructions, in English and twelve other languages. So it finds what is said plainly: of a set
// of 251 attacks on chat assistants (CyberSecEval's) it finds 82. Of those that tell the model to
// ignore its instructions, or claim to be its developer or in another mode, it finds four of five;
// of tales, hints, persuasion and encoded texts hardly any. Of 339 harmless questions that use
// such words (NotInject's) it flags none. What keeps an injection from doing harm are rules about
// trust and tools.
//
// Its tables are made when it first sees a text.
func Injection() Detector { return injection{} }

// injection makes its tables when it is first used, so that policies load faster.
type injection struct{}

func (injection) Find(found []Finding, text string) []Finding {
	all, _ := injectionTables().scan(text)
	return settleAll(found, all)
}

func (d injection) Reader() Reader { return &tailReader{scanner: d} }

// scan implements scanner.
func (injection) scan(text string) (all []Finding, open int, long []Part) {
	all, open = injectionTables().scan(text)
	return all, open, nil
}

var injectionTables = sync.OnceValue(newPhrases)

// phrases are the rules of what is said, and an automaton of all their words.
type phrases struct {
	words *automaton.Automaton
	terms []term // by the number of a word
	rules []phraseRule
}

// A phraseRule is one to three lists of words. It finds a word of each list near one another; the
// finding reaches from the first to the second.
type phraseRule struct {
	name  string
	wants [3]bool // whether there is a first, a second and a third list
}

// A term says in which list of which rule a word is. A mark that ends a sentence has the rule
// endsSentence.
type term struct{ rule, list int }

const endsSentence = -1

// maxPhraseRules bounds the rules, so that the places of their words need no allocation. Each
// costs a few bytes to clear for each text, so it is no more than there are.
const maxPhraseRules = 24

// newPhrases reads the data files of injections.
func newPhrases() *phrases {
	// The lists of words, of all languages.
	lists := map[string][]string{}
	for _, row := range rowsOf("injection_words.txt", "list", "language", "words") {
		lists[row.Cells[0]] = append(lists[row.Cells[0]], table.ListBy(row.Cells[2], " | ")...)
	}

	// The rules, and what each word counts for in them.
	p := &phrases{}
	var words []string
	used := map[string]bool{}
	for n, row := range rowsOf("injection_rules.txt", "rule", "first", "second", "near") {
		rule := phraseRule{name: row.Cells[0]}
		for i := range rule.wants {
			seen := map[string]bool{}
			for _, name := range table.ListBy(row.Cells[1+i], "+") {
				used[name] = true
				for _, word := range lists[name] {
					for _, form := range bothCases(word) {
						if !seen[form] {
							seen[form] = true
							rule.wants[i] = true
							words = append(words, form)
							p.terms = append(p.terms, term{rule: n, list: i})
						}
					}
				}
			}
		}
		p.rules = append(p.rules, rule)
		if len(p.rules) > maxPhraseRules || !rule.wants[0] {
			row.Fail("there are more than %d rules, or the first list of this one has no words",
				maxPhraseRules)
		}
	}
	if len(used) != len(lists) {
		panic("data/injection_words.txt: a list is there that no rule uses, or one is missing")
	}

	for _, mark := range []string{".", "!", "?", "\n\n", "。", "！", "？"} {
		words = append(words, mark)
		p.terms = append(p.terms, term{rule: endsSentence})
	}
	p.words = must(automaton.New(words))
	return p
}

// bothCases returns a word, and the same with a capital at its beginning if that is no ASCII
// letter: the automaton folds ASCII only.
func bothCases(word string) []string {
	first, size := utf8.DecodeRuneInString(word)
	if first < utf8.RuneSelf || unicode.ToUpper(first) == first {
		return []string{word}
	}
	return []string{word, string(unicode.ToUpper(first)) + word[size:]}
}

// togetherBytes is how far apart the words of a rule may stand.
const togetherBytes = 120

// A placed holds, for each list of a rule, where its word was seen last in the sentence. A start of
// -1 means that none was seen.
type placed struct{ start, end [3]int }

var nowhere = placed{start: [3]int{-1, -1, -1}}

// together tells whether a word of each list was placed near end, and where the first two begin.
func (p *placed) together(wants *[3]bool, end int) (from int, ok bool) {
	from = end
	for i, wanted := range wants {
		if !wanted {
			continue
		}
		pos := p.start[i]
		if pos < 0 || end-pos > togetherBytes {
			return 0, false
		}
		if i < 2 {
			from = min(from, pos)
		}
	}
	return from, true
}

// scan returns all that is found, ordered by its beginning, and the place from which on the text
// is open.
func (p *phrases) scan(text string) (found []Finding, open int) {
	var last [maxPhraseRules]placed
	var inSentence [maxPhraseRules]bool // whether last is about this sentence
	text = text[:len(text)-cutRune(text)]
	open = len(text)
	state := uint32(0)
	for i := 0; i < len(text); i++ {
		state = p.words.Step(state, text[i])
		if !p.words.Ends(state) {
			continue
		}
		for _, n := range p.words.Found(state) {
			t := p.terms[n]
			if t.rule == endsSentence {
				clear(inSentence[:])
				continue
			}
			if !inSentence[t.rule] {
				inSentence[t.rule] = true
				last[t.rule] = nowhere
			}
			pos := &last[t.rule]
			end := i + 1
			start := end - p.words.Size(n)

			// Of the words of a list that end here the longest counts, which comes first.
			before := pos.start[t.list]
			if before >= 0 && start < pos.end[t.list] || !isApart(text, start, end) {
				continue
			}
			negated, mayGoOn := isNegated(text, start, end)
			if negated {
				continue
			}
			// At the end of the text the word may yet become another, and the one before it counts
			// again.
			if mayGoOn && t.list < 2 && before >= 0 && end-before <= togetherBytes {
				open = min(open, before)
			}
			pos.start[t.list] = start
			pos.end[t.list] = end

			from, ok := pos.together(&p.rules[t.rule].wants, end)
			if !ok {
				continue
			}
			found = append(found, Finding{
				Type: "PROMPT_INJECTION", Rule: p.rules[t.rule].name,
				Start: from, End: max(pos.end[0], pos.end[1]), Score: .5,
			})
			if mayGoOn {
				open = min(open, from)
			}
			*pos = nowhere
		}
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(a.Start, b.Start) })

	// A word near the end may be joined by those that come after.
	for rule := range p.rules {
		for list := range 2 {
			pos := last[rule].start[list]
			if inSentence[rule] && pos >= 0 && len(text)-pos <= togetherBytes {
				open = min(open, pos)
			}
		}
	}
	// So may a word that has just begun.
	p.words.Begun(state, func(length int, _ uint32) bool {
		pos := len(text) - length
		if !isSeam(text, pos-1, pos) {
			return true
		}
		open = min(open, pos)
		return false
	})
	return found, open
}

// isNegated tells whether a word is not what is asked for: "don't forget", "forget to". mayGoOn
// tells whether the text ends before that is known, or before the word's own end is.
func isNegated(text string, start, end int) (negated, mayGoOn bool) {
	for _, not := range [...]string{"don't ", "don\u2019t ", "not ", "never "} {
		n := start - len(not)
		if n >= 0 && foldPrefix(text[n:start], not) {
			return true, false
		}
	}
	if !foldPrefix(text[start:end], "forget") {
		return false, end == len(text)
	}
	const to = " to "
	mayGoOn = len(text)-end < len(to) && foldPrefix(to, strings.ToLower(text[end:]))
	return foldPrefix(text[end:], to), mayGoOn
}

// isApart tells whether text[start:end] is no part of a longer word, in scripts that have spaces
// between words.
func isApart(text string, start, end int) bool {
	return isSeam(text, start-1, start) && isSeam(text, end, end-1)
}

// isSeam tells whether two neighbouring bytes, one outside of a word and one inside, are not of
// one word.
func isSeam(text string, outside, inside int) bool {
	if outside < 0 || outside >= len(text) {
		return true
	}
	c := text[inside]
	if c >= 0xe0 || c < 0x80 && !isWord(c) {
		return true
	}
	return !isWord(text[outside]) && !leadsLetter(text[outside])
}

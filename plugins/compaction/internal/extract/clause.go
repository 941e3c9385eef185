package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A clause is the words [from, to) of a text, which say something by themselves.
type clause struct {
	from, to int
	asks     bool
}

// minClause is how many words the parts of a sentence must have that is cut.
const minClause = 4

// clausesOf cuts a text into clauses. A sentence is one, unless it is long: then it is cut before a word that can be the
// subject of a sentence of its own, after a comma or a word such as "and". What depends on a condition stays with it.
func clausesOf(words []word, asks []bool) (list []clause) {
	for from := 0; from < len(words); {
		to := from + 1
		for to < len(words) && words[to].sentence == words[from].sentence {
			to++
		}
		question := asks[words[from].sentence]
		start := from
		for i := from + minClause; i+minClause <= to; i++ {
			if i-start >= minClause && !question && begins(words, start, i) {
				list = append(list, clause{from: start, to: i})
				start = i
			}
		}
		list = append(list, clause{from: start, to: to, asks: question})
		from = to
	}
	return list
}

// begins reports whether a clause can begin at word i, after one that began at word start.
func begins(words []word, start, i int) bool {
	subject := i
	if joins[words[i].plain] {
		subject++
	}
	comma := words[i].clause != words[i-1].clause
	if subject == i && !comma {
		return false
	}
	for j := start; j < i; j++ { // "By the way, if it rains, we stay"
		first := j == start || words[j].clause != words[j-1].clause
		if first && depends[words[j].plain] || conditions[words[j].plain] {
			return false
		}
	}
	next := words[subject].plain
	alone := comma || contrasts[words[i].plain] || nominatives[next] // "me and my team" is one subject
	return alone && subjects[next] && !depends[words[i-1].plain] && words[subject].sentence == words[i].sentence
}

// told returns what a clause says: its words without openings, articles and words that only stress others. It returns ""
// for a clause that says nothing by itself.
func (c clause) told(text string, words []word) string {
	from := c.opening(words)
	for c.to > from && (joins[words[c.to-1].plain] || contrasts[words[c.to-1].plain]) {
		c.to-- // what it joins is another clause
	}

	// Does it say anything?
	exact := false
	terms := 0
	spoken := 0
	for _, w := range words[from:c.to] {
		spoken++
		if w.term != 0 {
			terms++
		}
		exact = exact || times[w.plain] || w.name && w.term != 0
	}
	if spoken < 3 && !(exact && terms >= 2) && words[from:c.to] != nil && !glues(words[from:c.to]) || terms == 0 || terms == 1 && !exact {
		return ""
	}

	// Write the words as they stand in the text, with the punctuation between two that are kept.
	var b strings.Builder
	end := -1 // where the last kept word ends, if the next word follows it
	for i := from; i < c.to; i++ {
		w := words[i]
		last := i == c.to-1
		counts := !last && counted[words[i+1].plain] // "a few" is not "few"
		if (articles[w.plain] || stresses[w.plain]) && !last && !counts && !w.quoted {
			end = -1
			continue
		}
		switch {
		case b.Len() == 0:
			b.WriteString(openBefore(text, w.at))
		case end >= 0:
			b.WriteString(text[end:w.at])
		default:
			b.WriteByte(' ')
		}
		b.WriteString(w.text)
		end = w.at + len(w.text)
	}
	b.WriteString(closeAfter(text, end))
	if c.asks {
		b.WriteByte('?')
	}
	return b.String()
}

// glues reports whether words are written without spaces, so that their number says little.
func glues(words []word) bool {
	for _, w := range words {
		if w.glued {
			return true
		}
	}
	return false
}

// opening returns where a clause begins without what only opens it: "Hey Mel,", "Wow,", "Maria, I …", "And".
func (c clause) opening(words []word) int {
	from := c.from
	for from < c.to {
		end := from + 1
		for end < c.to && words[end].clause == words[from].clause {
			end++
		}
		first := words[from:end]
		goesOn := end < c.to
		isName := len(first) == 1 && first[0].term != 0 && goesOn && subjects[words[end].plain]
		if !opens(first) && !isName && !(goesOn && empty(first)) {
			break
		}
		from = end
	}
	from = afterRemark(words, from, c.to)
	for from < c.to && (links[words[from].plain] || interjections[words[from].plain]) {
		from++
	}
	if from+1 < c.to && words[from].plain == "so" && subjects[words[from+1].plain] {
		from++
	}
	return from
}

// empty reports whether words say nothing, as in "by the way,". A denial and a condition do.
func empty(words []word) bool {
	for _, w := range words {
		if w.term != 0 || w.denies() || depends[w.plain] {
			return false
		}
	}
	return true
}

// afterRemark returns where a clause goes on behind a remark about the conversation itself, such as "since we last talked,".
func afterRemark(words []word, from, to int) int {
	end := from
	remark := false
	for end < to && words[end].clause == words[from].clause {
		remark = remark || remarks[words[end].plain]
		end++
	}
	if remark && end-from <= 8 && to-end >= 3 {
		return end
	}
	return from
}

// opens reports whether words only greet or agree: an interjection, perhaps with a name.
func opens(words []word) bool {
	if len(words) > 3 || !interjections[words[0].plain] {
		return false
	}
	for _, w := range words[1:] {
		if w.term != 0 && !w.name && !interjections[w.plain] {
			return false
		}
	}
	return true
}

// openBefore returns the quotation mark or bracket directly before a place in a text.
func openBefore(text string, at int) string {
	r, n := utf8.DecodeLastRuneInString(text[:at])
	if strings.ContainsRune("\"“«(", r) {
		return text[at-n : at]
	}
	return ""
}

// closeAfter returns the quotation marks and brackets directly after a place in a text.
func closeAfter(text string, at int) string {
	if at < 0 {
		return ""
	}
	end := at
	for end < len(text) {
		r, n := utf8.DecodeRuneInString(text[end:])
		if !strings.ContainsRune("\"”»)%", r) && !unicode.Is(unicode.Sc, r) {
			break
		}
		end += n
	}
	return text[at:end]
}

// subjects are words with which a clause can begin that stands alone.
var subjects = set(`i im ive id ill we were weve well you youre youve he hes she shes they theyre theyve it its theres
this that these those my our his her their your someone everyone ich wir er sie je nous il elle ils yo nosotros`)

// pronouns are words for something that was said before.
var pronouns = set(`it its they theyre theyve this that thats these those he hes she shes his her their them`)

// nominatives are the words among them that can only be a subject.
var nominatives = set(`i im ive id ill we were weve he hes she shes they theyre theyve theres ich wir je nous il elle ils yo`)

// joins are words that join two clauses.
var joins = set(`and but so plus then und aber et mais y pero e ma`)

// depends are words that make a clause depend on another one.
var depends = set(`if when unless until till although though because since while once before after as whether than that
which who whom whose where whenever wherever wenn falls obwohl weil dass si aunque porque quand quoique se quando`)

// conditions are words that make what follows them uncertain, wherever they stand.
var conditions = set(`if unless whether until wenn falls si`)

// links are words that only link a clause to the one before.
var links = set(`and plus then well anyway anyways also und et y e`)

// remarks are words of remarks about the conversation itself.
var remarks = set(`chatted talked spoke spoken chat caught news update`)

// interjections are words that only greet, agree or admire.
var interjections = set(`oh wow hey hi hello yeah yep yup ok okay haha lol aw aww woah whoa woohoo ugh hmm cool nice great awesome
amazing thanks thank congrats totally absolutely definitely sure yay gosh man hallo danke hola gracias salut merci ciao`)

// counted are words that mean something else with an article.
var counted = set(`few little bit lot couple while minute`)

// stresses are words that only stress others.
var stresses = set(`really very super just actually totally absolutely definitely literally basically kinda`)

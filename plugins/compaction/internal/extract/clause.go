package extract

import (
	"cmp"
	"slices"
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
	if subject == i && !comma || words[i-1].plain == "it" && !comma { // "make it so I can"
		return false
	}
	for j := start; j < i; j++ { // "By the way, if it rains, we stay", "but when it rains, we stay"
		first := j == start || words[j].clause != words[j-1].clause || leads[words[j-1].plain] || joins[words[j-1].plain]
		if first && depends[words[j].plain] || conditions[words[j].plain] {
			return false
		}
	}
	next := words[subject].plain
	if persons[next] && subject == i { // "We found one, Agnieszka, she starts in April"
		return false
	}
	contracted := len(next) < len(words[subject].text)                 // "and it's late"
	verbal := subject+1 < len(words) && beings[words[subject+1].plain] // "and it was fun"
	clear := nominatives[next] || contracted || verbal                 // "me and my team" is one subject
	alone := comma || contrasts[words[i].plain] || clear
	return alone && subjects[next] && !depends[words[i-1].plain] && words[subject].sentence == words[i].sentence
}

// write returns a clause as it stands in its text, without articles and words that only stress others.
func (c clause) write(text string, words []word) string {
	var b strings.Builder
	end := -1  // where the last kept word ends, if the next word follows it
	open := "" // the bracket or quotation mark before a word that is left out
	denied := false
	for i := c.from; i < c.to; i++ {
		w := words[i]
		last := i == c.to-1
		denied = w.denies() || denied && w.clause == words[i-1].clause
		stress := stresses[w.plain] && !denied // "not just a game" is not "not a game"
		article := articles[w.plain] && (w.plain == "the" || c.english(words) && !measures(words[max(c.from, i-2):i]))
		if (stress || article) && !last && !counted[words[i+1].plain] && !w.quoted {
			if end >= 0 {
				b.WriteString(strings.TrimRight(text[end:w.at], " \"“«("))
			}
			open = openBefore(text, w.at)
			end = -1
			continue
		}
		switch {
		case end >= 0:
			b.WriteString(text[end:w.at])
		case b.Len() > 0:
			b.WriteByte(' ')
			fallthrough
		default:
			b.WriteString(cmp.Or(open, openBefore(text, w.at)))
		}
		open = ""
		b.WriteString(w.text)
		end = w.at + len(w.text)
	}
	b.WriteString(closeAfter(text, end))
	if strings.Count(b.String(), `"`)%2 == 1 && words[c.to-1].quoted {
		b.WriteByte('"') // it comes after the full stop
	}
	if c.asks {
		b.WriteByte('?')
	}
	return b.String()
}

// measures reports whether there is a number among words, so that "a" behind them means "for each": "two dogs a flat".
func measures(words []word) bool {
	return slices.ContainsFunc(words, func(w word) bool {
		return strings.ContainsAny(w.plain, "0123456789") || numbers[w.plain]
	})
}

// english reports whether a clause is not clearly in another language, in which "a" is no article.
func (c clause) english(words []word) bool {
	foreign := false
	for _, w := range words[c.from:c.to] {
		if english[w.plain] {
			return true
		}
		foreign = foreign || foreigners[w.plain]
	}
	return !foreign
}

// numbers are numbers as words.
var numbers = set(`one two three four five six seven eight nine ten hundred thousand`)

// english and foreigners are frequent words that only English has, and that it does not have.
var (
	english = set(`the and of is are my our your with for to it you we they this that i have has had from but not by their been
were if who what how there than`)
	foreigners = set(`y en el los las que por para es un una se del pero con muy il elle le les des du et est dans avec der das den
dem und ist ein eine nicht auf mit zu von o os e di che da do em com não é het een`)
)

// openBefore returns the quotation mark or bracket directly before a place in a text.
func openBefore(text string, at int) string {
	r, n := utf8.DecodeLastRuneInString(text[:at])
	if strings.ContainsRune("\"“«(¿¡", r) {
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

// persons are the words among them for a person.
var persons = set(`he hes she shes his her`)

// nominatives are the words among them that can only be a subject.
var nominatives = set(`i im ive id ill we were weve he hes she shes they theyre theyve theres ich wir je nous il elle ils yo`)

// joins are words that join two clauses.
var joins = set(`and but so plus then und aber et mais y pero e ma`)

// depends are words that make a clause depend on another one.
var depends = set(`if when unless until till although though because since while once before after as whether than that besides despite
which who whom whose where whenever wherever wenn falls obwohl weil dass si aunque porque quand quoique se quando`)

// leads are words that may stand before a word on which a clause depends: "especially after".
var leads = set(`but especially particularly even ever just only right shortly soon long except`)

// conditions are words that make what follows them uncertain, wherever they stand.
var conditions = set(`if unless whether until wenn falls si`)

// beings are verbs before which a pronoun is a subject.
var beings = set(`is was are were has had will would`)

// counted are words that mean something else with an article: "a few" is not "few", and "twice a week" not "twice week".
var counted = set(`way few little bit lot couple while minute hour day night week month year`)

// stresses are words that only stress others.
var stresses = set(`really very super just actually totally absolutely definitely literally basically kinda`)

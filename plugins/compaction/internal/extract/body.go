package extract

import "strings"

// body returns a clause without what only opens or ends it.
func (c clause) body(words []word) clause {
	c.from = c.opening(words)
	goesOn := c.to < len(words) && words[c.to].sentence == words[c.to-1].sentence
	for goesOn && c.to > c.from && (joins[words[c.to-1].plain] || contrasts[words[c.to-1].plain]) {
		if c.to-2 >= c.from && words[c.to-2].plain == "or" { // "ten or so"
			break
		}
		c.to-- // what it joins is another clause
	}
	c.to = c.tail(words)
	return c
}

// tells reports whether a body says anything by itself.
func (c clause) tells(words []word) bool {
	said := words[c.from:c.to]
	if c.strong(words) == 0 {
		return false
	}

	// A name behind a comma is that of who is spoken to: "That's so cool, Edda", "Count me in, Edda".
	last := len(said) - 1
	named := last > 0 && said[last].clause != said[last-1].clause && said[last].name
	if named && (idle(said[:last]) || last <= 3 && c.strong(words) <= 2) {
		return false
	}
	return len(said) >= 3 || glues(said) || c.strong(words) >= 2 && c.exact(words)
}

// answers reports whether a clause is enough for an answer: "Penicillin", "No". "Thanks, Maria" is not: behind words that only
// open a clause, a name alone is that of who is spoken to.
func (c clause) answers(words []word) bool {
	if polar[words[c.from].plain] {
		return true
	}
	body := clause{from: c.opening(words), to: c.to}
	addressed := body.from > c.from && body.to-body.from == 1 && words[body.from].name
	return body.strong(words) > 0 && !addressed
}

// elliptic reports whether words probably mean nothing without the question that they answer: "Yes", "Penicillin", "It is
// in Utrecht". They have no subject, or only a word for one.
func elliptic(words []word) bool {
	if len(words) == 0 || len(words) > 20 || glues(words) {
		return false
	}
	first := words[0]
	if pronouns[first.plain] || polar[first.plain] || len(words) <= 2 {
		return true
	}
	if subjects[first.plain] {
		return false
	}
	for _, w := range words {
		if w.clause != first.clause {
			break
		}
		contracted := strings.ContainsAny(w.text, "'’")
		if nominatives[w.plain] || beings[w.plain] || contracted {
			return false
		}
	}
	return true
}

// lacksNoun reports whether a clause says of a person or thing only "her", "him" or "them": "I named her Tilly".
func lacksNoun(words []word) bool {
	if len(words) > 8 {
		return false
	}
	for i, w := range words[:min(4, len(words))] {
		if i > 1 && objects[w.plain] {
			return own[words[0].plain]
		}
	}
	return false
}

// objects are pronouns that stand behind a verb.
var objects = set(`him her them`)

// polar are words that answer a question by themselves.
var polar = set(`yes no yeah yep nope never both neither ja nein nie doch si sí oui non jamais nunca`)

// strong returns how many words of a clause tell something.
func (c clause) strong(words []word) (n int) {
	for _, w := range words[c.from:c.to] {
		if w.term != 0 && !w.pale {
			n++
		}
	}
	return n
}

// exact reports whether a clause has a name, a number or a time.
func (c clause) exact(words []word) bool {
	for _, w := range words[c.from:c.to] {
		if times[w.plain] || w.name && w.term != 0 {
			return true
		}
	}
	return false
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

// opening returns where a clause begins without what only opens it: "Hey Mel,", "Wow,", "Maria, I …", "And". It keeps
// "Joris, my mechanic, …".
func (c clause) opening(words []word) int {
	from := c.from
	for from < c.to {
		if from == c.from && words[from].links() && from+1 < c.to && thanks[words[from+1].plain] {
			from++
		}
		end := from + 1
		for end < c.to && words[end].clause == words[from].clause {
			end++
		}
		first := words[from:end]
		goesOn := end < c.to
		isName := len(first) == 1 && first[0].term != 0 && goesOn && nominatives[words[end].plain]
		// "I told my story, what I hope": the rest has no subject of its own.
		needed := goesOn && subjects[first[0].plain] && !subjects[words[end].plain]
		if !polite(first) && !opens(first) && !isName && !(goesOn && idle(first) && !needed) {
			break
		}
		from = end
	}
	from = afterRemark(words, from, c.to)
	for from < c.to && (words[from].links() || interjections[words[from].plain]) {
		from++
	}
	if from > c.from && from < c.to && completes[words[from].plain] && interjections[words[from-1].plain] {
		from-- // "great that you came"
	}
	if from+1 < c.to && words[from].plain == "so" && subjects[words[from+1].plain] {
		from++
	}
	return from
}

// tail returns where a clause ends without what only says how its author feels about it: ", so exciting".
func (c clause) tail(words []word) int {
	from := c.from
	to := c.to
	for !c.asks {
		last := to - 1
		for last > from && words[last-1].clause == words[to-1].clause {
			last--
		}
		if last <= from || !idle(words[last:to]) || idle(words[from:last]) {
			break
		}
		to = last
	}
	return to
}

// polite reports whether words only thank or congratulate: "Thanks for telling me", "Congrats on winning".
func polite(words []word) bool {
	if !thanks[words[0].plain] {
		return false
	}
	for _, w := range words[1:min(5, len(words))] {
		if w.plain == "for" || w.plain == "on" {
			return true
		}
	}
	return false
}

// idle reports whether words say nothing, as in "by the way,", or only how somebody feels about what the other words say.
// A denial, a condition, a doubt and a time do say something.
func idle(words []word) bool {
	for _, w := range words {
		if w.term != 0 && !w.pale || times[w.plain] || w.denies() || depends[w.plain] || hedges[w.plain] || w.quoted {
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
		w := words[end]
		if w.term != 0 && !w.pale && !times[w.plain] && !remarks[w.plain] {
			return from
		}
		remark = remark || remarks[w.plain]
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
		if w.term != 0 && !w.name && !interjections[w.plain] && !thanks[words[0].plain] {
			return false
		}
	}
	return true
}

// links are words that only link a clause to the one before.
var links = set(`and but plus then well anyway anyways also und et y e`)

// links reports whether a word only links a clause to the one before. "We'll" is not "well".
func (w word) links() bool { return links[w.plain] && len(w.plain) == len(w.text) }

// completes are words of which a word such as "great" before them is a part.
var completes = set(`that to for`)

// remarks are words of remarks about the conversation itself.
var remarks = set(`chatted talked spoke spoken chat caught news update`)

// thanks are words that thank or congratulate.
var thanks = set(`thanks thank congrats congratulations`)

// interjections are words that only greet, agree or admire.
var interjections = set(`oh wow hey hi hello yeah yep yup ok okay haha lol aw aww woah whoa woohoo ugh hmm cool nice great awesome
amazing yum woo phew thanks thank congrats congratulations cheers gotcha ha totally absolutely definitely sure yay gosh man hallo
danke hola gracias salut merci ciao`)

// hedges are words that make doubtful what they are said of.
var hedges = set(`think guess suppose believe maybe perhaps probably possibly hopefully apparently supposedly allegedly
almost nearly might may could would should kidding joking wish hope seems sort kind kinda least most more less only`)

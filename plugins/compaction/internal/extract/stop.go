package extract

import "strings"

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// stops are English words that tell nothing by themselves: articles, pronouns, prepositions, auxiliaries,
// and what people say to be polite. In other languages, words that most texts have weigh next to nothing.
var stops = set(`a an the and or but if then so of to in on at for from with by about as into like through after
over between out against during without before under around among is am are was were be been being do does did
doing have has had having will would shall should can could may might must i me my mine we us our ours you your
yours he him his she her hers it its they them their theirs this that these those there here what which who whom
whose when where why how not no nor only own same than too very just also really got get gets getting im ive id ill
youre youve youll theyre theyve weve were were hes shes thats theres whats heres dont doesnt didnt cant couldnt
wont wouldnt isnt wasnt arent werent havent hasnt lets let oh wow hey hi hello yeah yep yes ok okay thanks thank
please sure well great good nice cool awesome amazing love know think want going go gonna wanna way lot lots some
any all more most much many up down off again myself yourself himself herself itself themselves ourselves such
even still yet ever never always maybe perhaps each every both either neither though although because while until
since else absolutely definitely totally haha lol aw aww bye glad sounds sound super so tell make makes made making
keep something anything everything thing things one kinda sort kind bit see say said says`)

// times are words that place what was said in time.
var times = set(`yesterday tomorrow tonight today ago last next week weekend month year weeks months years monday
tuesday wednesday thursday friday saturday sunday january february march april june july august september october
november december morning evening recently first since birthday anniversary`)

// own are words by which somebody speaks of themselves.
var own = set(`i im ive id ill me my mine we us our ours weve myself`)

// articles are left out without breaking the phrase they stand in.
var articles = set(`a an the`)

// denials turn round what follows them, in the languages that are most often met besides English too. Words that end in
// n't do as well.
var denials = set(`not no nor never neither none nobody nothing nowhere hardly without cannot dont doesnt didnt cant couldnt
wont wouldnt isnt wasnt arent werent havent hasnt hadnt shouldnt mustnt neednt aint nicht kein keine keinen nie niemals pas
jamais nunca jamás non mai não niet geen`)

// turns are words with which a sentence takes another turn, so that it is not denied any more.
var turns = set(`but because although though while pero aber mais ma`)

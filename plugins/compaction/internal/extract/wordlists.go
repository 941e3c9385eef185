package extract

import (
	"strings"
	"sync"
)

// stops are English words without information: articles, pronouns, prepositions, auxiliaries, and phrases of
// politeness. The frequent words of other languages are found by counting; see sketch.common.
var stops = set(
	`a an the and or but if then so of to in on at for from with by about as into like through after over
between out against during without before under around among is am are was were be been being do does
did doing have has had having will would shall should can could may might must i me my mine we us our
ours you your yours he him his she her hers it its they them their theirs this that these those there
here what which who whom whose when where why how not no nor only own same than too very just also
really got get gets getting im ive id ill youre youve youll theyre theyve weve hes shes thats theres
whats heres dont doesnt didnt cant couldnt wont wouldnt isnt wasnt arent werent havent hasnt lets let oh
wow hey hi hello yeah yep yes ok okay thanks thank please sure well great good nice cool awesome amazing
love know think want going go gonna wanna way lot lots some any all more most much many up down off
again myself yourself himself herself itself themselves ourselves such even still yet ever never always
maybe perhaps each every both either neither though although because while until since else absolutely
definitely totally haha lol aw aww bye glad sounds sound super so tell make makes made making keep
something anything everything thing things one kinda sort kind bit see say said says`,
)

// pale are the stems of English words of feelings, of praise and of talking, and of words with many
// meanings. They say little.
var pale = stems(
	`happy glad excited exciting excitement thrilled pumped stoked proud grateful thankful blessed lucky
fortunate relieved nervous sad sorry tough hard easy difficult challenging fun enjoyable interesting
fascinating inspiring inspired inspiration motivating motivate incredible wonderful fantastic beautiful
gorgeous stunning lovely cute adorable delicious yummy tasty sweet special unique perfect brilliant
impressive refreshing relaxing peaceful rewarding fulfilling meaningful powerful important vital crucial
true real best better big little huge whole new feel feeling felt hope hoping wish believe imagine
understand agree appreciate enjoy mean means meant matter talk talking chat hear heard told share
sharing ask idea news word words wait stuff people person time times day moment life world journey
experience memory part point reason end difference support help encouragement strength courage passion
dedication effort vibe energy spirit luck heart mind finger cross crossed reminder remind chance
opportunity step come came take took give gave put bring brought try tried start started look happen
need use used find found stay turn become became especially completely truly finally lately soon already
back together ahead forward away least pretty long quite right able post posted care join note overall
another different other unfortunately fortunately luckily sadly wild crazy blast busy seeing positive
worth challenge obstacles understanding stand push connect connecting connection comfort express spread
future kindness sense strong peace joy progress acceptance impact success successful balance growth
relax person determined determination confident confidence focus focused goal goals growing face facing
congrats congratulations cheers woohoo phew gotcha`,
)

// times are words that say when something happened.
var times = set(
	`yesterday tomorrow tonight today ago last next week weekend month year weeks months years monday tuesday
wednesday thursday friday saturday sunday january february march april june july august september
october november december morning evening recently first since birthday anniversary`,
)

// speakers are words with which people speak of themselves.
var speakers = set(`i im ive id ill me my mine we us our ours weve myself`)

// germanMonths are the months as German writes them.
var germanMonths = set(`januar februar märz april mai juni juli august september oktober november dezember`)

// titles are words behind which a point ends no sentence.
var titles = set(
	`mr mrs ms dr prof st vs e.g i.e approx tel cf incl excl resp esp hr fr bzw ca evtl ggf inkl vgl z.b d.h`,
)

// abbreviations are words behind which a point ends no sentence if a number or a small letter follows.
var abbreviations = set(
	`no nos nr fig vol ext p pp pg ch sec art par ref apt rm ver abs kap seite jan feb mar apr jun jul aug
sep sept oct nov dec etc usw jr sr inc ltd co corp dept ave blvd str min max avg hrs vols`,
)

// set returns the words of a list, which is read when it is first needed.
func set(words string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		m := map[string]bool{}
		for w := range strings.FieldsSeq(words) {
			m[w] = true
		}
		return m
	})
}

// stems returns the stems of the words of a list, which is read when it is first needed.
func stems(words string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		m := map[string]bool{}
		for w := range strings.FieldsSeq(words) {
			m[stem(w)] = true
		}
		return m
	})
}

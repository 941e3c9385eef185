package extract

import (
	"strings"
	"sync"
)

// english are ordinary words of English besides the stop words, about in the order of how frequent they are in what
// people write to each other: general knowledge, so that the ordinary is known for such from a session's first text on.
const english = `other time good people day year work back look come take find give day new life use need try feel start
help home week old friend family talk call long big bad end show place happy ask leave put turn hear mean part hope
school next last run number world live house hand night kid money bring believe idea play change point different tough difference
move pay meet hard talk book job mind care watch stuff story person week car water food dog room interested
important best better remember enjoy learn eat week plan month today tomorrow yesterday tonight morning
real problem question answer check send read write word name fact case hour minute moment second half early late
open close stop set follow hold stand sit walk drive wait spend stay buy sell pick cut break fall grow build
create add share support join reach offer include allow agree consider understand appear expect decide suggest
happen become continue lose win fun enough able ready sorry fine true right wrong left free easy possible
full high low small little large short young own main whole clear simple special certain strong happy sad
hot cold beautiful pretty cute lovely wonderful fantastic perfect favorite excited exciting interest proud
amaze crazy busy tired worried nice cool awesome guess wonder wish miss worry forget imagine realize notice
explain describe discuss speak listen explore experience event trip travel visit party holiday vacation weekend
birthday dinner lunch breakfast cook coffee tea drink cake music song movie film game show photo picture image
pic art paint draw dance sing team sport class student teacher study college university course project
business company office boss client customer service order price cost market product sale deal report email
message letter phone computer internet website online page post video blog link account list file data system
program information detail note date form step level line group community member city town street country state
area land park garden tree flower beach sea lake river mountain sun rain weather snow summer winter spring fall
nature animal cat bird fish pet baby child children boy girl man woman men women guy parent mother mom father dad
brother sister son daughter wife husband partner couple cousin aunt uncle grandma grandpa neighbor
body head face eye hair heart health doctor hospital sick pain medicine sleep bed dream exercise
gym fit yoga healthy stress relax calm peace quiet energy focus goal challenge success achieve progress improve
practice skill training career opportunity chance future past history memory culture language church faith god
government law police war rule power control force issue matter reason cause result effect example type style
size color black white red blue green yellow brown bright dark light side top bottom front middle corner
door window wall floor table chair kitchen bathroom store shop restaurant bar hotel station train bus plane flight
bike road bridge ticket bag box bottle cup glass plate clothes shirt dress shoe hat ring gift card cash dollar
bank paper pen sign piece couple few bunch lots ton set pair rest amount total half third extra least
inspire motivate encourage passion passionate hobby adventure journey nature view spot scene sunset stage audience
fan award contest competition champion score match player tournament coach race final point win
amazing impressive incredible unique creative original powerful positive negative meaningful helpful useful
comfortable safe dangerous serious nervous scared afraid angry upset lonely surprise fear joy smile laugh cry
hug kiss love hate relationship marriage wedding date single married born die dead death kill fight
hit throw catch pull push carry drop lift climb jump swim ride fly drive cross enter arrive return
stuck finish complete prepare organize manage handle lead serve provide produce develop design test fix repair
save protect prevent avoid reduce increase raise rise cover fill wash clean wear hang hide search choose choice
decision opinion advice suggestion recommend review tip trick secret truth lie sense feeling emotion thought
attention respect trust honest kind gentle brave smart clever funny silly weird strange normal regular usual
common popular famous rich poor cheap expensive worth value quality local public private personal social
professional national international human natural fresh warm wet dry soft heavy thin thick deep wide tall
quick fast slow sudden finally actually especially exactly usually sometimes often soon later already almost
probably certainly simply quite rather instead together alone anyway meanwhile lately currently someone somebody
everyone everybody anyone anybody nobody none nothing everywhere somewhere anywhere nowhere yes
hundred thousand million two three four five six seven eight nine ten couple dozen first second
bit rest remind receive accept refuse admit promise apologize thank congratulate congrats wow celebrate
welcome appreciate grateful thankful bless luck lucky glad curious sweet delicious tasty recipe chocolate
cream ice cheese bread meat chicken egg fruit vegetable salad soup sugar salt milk rice pizza pasta
band concert guitar piano instrument album camera painting artist writer author novel series chapter poem
character role actor scene episode channel fantasy science fiction history math technology machine software
tool material wood metal stone plastic fire oil gas electric air earth space star moon planet
volunteer charity donate fund campaign vote president political military soldier veteran church
training workshop conference meeting interview schedule appointment deadline task career manager staff
worker employee hire salary tax insurance budget invest loan debt rent apartment landlord property
building design furniture couch sofa decorate decoration candle lamp shelf closet drawer
puppy kitten turtle horse cow pig rabbit zoo farm field grass leaf plant seed soil vegetable harvest
forest trail hike camp tent campfire island ocean wave shore sand boat ship fishing surf
basketball football soccer baseball tennis golf workout muscle marathon dance yoga meditation`

// usual returns of a prior number of texts how many would have a term: by the law that the frequency of a word is in
// inverse proportion to its rank, with the stop words before the list.
var usual = sync.OnceValue(func() map[uint64]float32 {
	all := map[uint64]float32{}
	i := 0
	for w := range strings.FieldsSeq(english) {
		k := key(stem(w))
		if _, ok := all[k]; !ok && !stops[w] {
			all[k] = float32(prior * zipf / float64(before+i))
			i++
		}
	}
	return all
})

const (
	zipf   = 2.0 // a word of rank r is in 2/r of the texts
	before = 100 // stop words
)

// Package extract condenses the older part of a session without a model: into lines that tell most, and a ledger of
// the exact values that later calls may need.
//
// It is incremental. A State is what one compaction leaves to the next. Add takes in the events that the next one
// covers, and Text writes what stands for all of it within a budget, so that work grows with the budget and the new
// events, and never with the history. The same input gives the same text.
//
// Words are kept in the text alone: a State's JSON is numbers and hashes, and Resume reads the rest from the text as it is
// stored. So what a guardrail takes out of a summary stays out of those that follow.
//
// # Prose
//
// While there is room, texts stay as they were written. Then the oldest are cut to what tells most, and when all are,
// the best are chosen. Of a file its name and kind are said, and in the ledger where it is. So a line is cut when most
// is known of what is rare in the session. A later budget may be smaller or larger: what fits a small one stays, and
// the room above it is for what comes.
//
// A word tells as much as it is rare: log((N+1000)/(n+u)), n being how many of the session's N texts it was in, which a
// sketch of fixed size counts, and u how many of a thousand texts of English have it: some nine hundred ordinary words
// stand by rank in a list, and a word of rank r is taken to be in 2/r of the texts (usual). The thousand keeps a word's
// weight much the same early and late. Stop words tell nothing; a word that more than a quarter of the texts have
// counts as one, whatever its language.
//
// Of a text the words are kept that hold seven tenths of what it tells, at the least length (share). A word
// that follows another as it did in the text counts double (link), even over up to three words that tell nothing, so that
// phrases survive whole: "honey garlic chicken with roasted veg". Names, numbers and words of time count 1.3 times (exact), the
// words of questions half (asked). A full stop parts what is of two sentences.
//
// No word is kept without what denies it, and that not without the word that it denies first: "can't wait", "not allergic
// to peanuts" (deny). It is by lists: of English, and a few words of six other languages.
//
// Of the lines those are kept that tell most by length. A text that speaks of its speaker counts double, as do one that
// says when and one that quotes (telling); one of a tool half (tools). What a line before had already counts 0.3 (again).
//
// # Values
//
// Values are those of calls' arguments and of responses, in records: what one object said of one thing, named by its
// identifier, or by the tool and what that was asked about. Texts give identifiers, dates and amounts. A value is as dear
// as its kind: an identifier 1, a date 0.8, a name 0.5, a short code 0.4, a choice among words 0.3, a number or a time of
// day 0.15 (worth). What a call or the user had counts three times (byUse), and each event since it was had last takes
// 2 % (fade). The price is the root of its length. A value that stands elsewhere in the ledger counts a twentieth (twice).
//
// Text gives values two thirds of the budget before the prose, and what either leaves to the other.
//
// # How the weights were chosen
//
// By hand, as round numbers, on five conversations of two people, compacted every 50 events to 2,000 and to 4,000 tokens,
// and on a hundred of an airline's service, at 256 and 512; never for one conversation, and the figures of each were looked
// at. Around them the figures are flat: to change one weight moves the share of turns and answers that are found again
// by one to four points of a hundred, which is about their noise. Two matter more. A reader who needs six tenths of a
// turn finds most turns with a share a little above that. At two thirds, as many generations as there are tens of events
// lose 1.5 turns of a hundred against one, because early weights are less sure; at 0.7 they lose none, nor does the
// one lose by it; above, whole turns go for the room. And link trades
// turns for answers.
//
// A budget of half the size, once in the middle of a session, costs half a turn and one answer of a hundred in the end; one of
// a quarter, ten and eight: what is forgotten does not come back.
//
// The tests named TestScore repeat the measurements where the environment variable PLUGHOOK_DATA, or the folder
// ../shared/data beside the repository, has the conversations.
package extract

// Package extract condenses the older part of a session without a model. What it writes has two parts: prose,
// which is lines cut from what was said, and a ledger of the exact values that later tool calls may need.
//
// It works step by step. A [State] is what one compaction leaves to the next. State.Add takes in the events that
// the next compaction covers, and State.Text writes what stands for everything so far, within a budget. So the
// work grows with the budget and with the new events, and never with the length of the session. The same input
// gives the same text.
//
// Only the text holds words. The JSON of a State has numbers and hashes, and Resume reads everything else from
// the text as it is stored. So what a guardrail removes from a summary stays out of all later summaries.
//
// # Prose
//
// As long as there is room, texts stay as they were written. When there is not, the oldest texts are cut to the
// words that tell most. When all texts are cut and still do not fit, the best lines are chosen. Cutting late is
// better: by then more is known about which words are rare in the session. A later budget may be smaller or
// larger: lines that fitted a small one stay, and the extra room of a larger one is for new texts.
//
// A word tells more the rarer it is: its information is log((N+1000)/n), where N is the number of texts in the
// session and n the number of them that have the word. A sketch of fixed size counts them. The 1000 keeps the
// weight of a word nearly the same early and late in the session. Stop words have no information. A word that is
// in more than a quarter of the texts counts as a stop word, in any language.
//
// Of a text, those words are kept that hold seven tenths of its information in the fewest characters (constant
// share). A word that directly follows a kept word of the text counts double (link), also over up to three words
// without information, so that phrases stay whole: "honey garlic chicken with roasted veg". Names, numbers and
// words of time count 1.3 times (exact), the words of questions half (asked). A full stop separates the words of
// different sentences. Of a file, the prose gives its name and type; the ledger gives its address.
//
// A denied word is kept only together with the word that denies it, and a denying word only together with the
// first word that it denies: "can't wait", "not allergic to peanuts" (see denial). The denying words are a list
// of English words and some of six other languages.
//
// Of the lines, those are kept that have most information for their length. A line counts double for each of
// these: its author speaks of themselves, it says when, it quotes (telling). A line of a tool counts half (tools).
// A word that a chosen line already has counts 0.3 (again).
//
// # Ledger
//
// Values are taken from the arguments and responses of calls, and grouped into records. A record holds what is
// known about one thing; its name is the identifier of that thing, or the tool and what the tool was asked about.
// Texts add identifiers, dates and amounts.
//
// A value is worth as much as its kind: an identifier 1, a date 0.8, a name 0.5, a short code 0.4, a choice from a
// few words 0.3, a number or a time of day 0.15 (worth). A value that a call or the user used counts three times
// (byUse). Each event since a value occurred last takes away 2 % (fade). The cost of a value is the square root of
// its length. A value that is also in another record counts a twentieth (twice).
//
// Values get up to two thirds of the budget, then prose gets the rest, then values get what the prose left.
//
// # How the weights were chosen
//
// By hand, as round numbers, on two sets of conversations: five between two people, compacted every 50 events to
// 2,000 and 4,000 tokens, and a hundred between customers and an airline's service, compacted to 256 and 512. No
// weight was chosen for the sake of one conversation. Around these weights the scores are flat: changing one moves
// the share of found turns and answers by one to four points of a hundred, which is about the noise.
//
// Two weights matter more: share, because a reader who needs six tenths of a turn finds most turns when share is a
// little above that, and with a larger share cut lines are so long that whole turns do not fit; and link, which trades
// turns for answers.
//
// Compacting every ten events to 2,000 tokens finds two turns of a hundred fewer than compacting once, because the
// first compactions know less about which words are rare. At 4,000 tokens there is no difference.
//
// What is forgotten does not come back: a budget of half the size, once in the middle of a session, loses half a turn
// and one answer of a hundred at the end; a budget of a quarter loses ten turns and eight answers.
//
// The tests TestScoreLast and TestScoreCalls repeat these measurements if the environment variable PLUGHOOK_DATA,
// or the folder ../shared/data beside the repository, has the conversations.
package extract

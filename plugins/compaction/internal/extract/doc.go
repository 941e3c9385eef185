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
// As long as there is room, texts stay as they were written. When there is not, the oldest texts are cut into clauses. When
// all texts are cut and still do not fit, the best clauses are chosen. Cutting late is better: by then more is known about
// which words are rare in the session. A later budget may be smaller or larger: clauses that fitted a small one stay, and
// the extra room of a larger one is for new texts.
//
// What an author says again in the same words stands once, where it was said last. An answer stands once for each question, and
// a clause about "him" or "her" once for each clause before it. Of a run of characters without a space that nobody can read,
// such as a key of a thousand digits, the first 40 are kept.
//
// A clause is a sentence, or a part of a long sentence that begins with a subject of its own. What depends on a condition
// ("if", "unless", "that") stays with it, and so does what is denied. Left out are openings ("Hey Mel,", "By the way,",
// "Since we last talked,"), endings that only say how somebody feels about it (", so exciting"), thanks, articles, and words
// that only stress others. Nothing with a denial, a condition, a doubt or a time is left out. A clause in which no word tells
// something is left out, and one with fewer than three words, unless it has a name, a number or a time. A question keeps its
// question mark.
//
// A word tells more the rarer it is: its information is log((N+1000)/n), where N is the number of texts in the
// session and n the number of them that have the word. A sketch of fixed size counts them. The 1000 keeps the
// weight of a word nearly the same early and late in the session. Stop words have no information, and a word that is in more
// than a quarter of the texts counts as one, in any language. Names, numbers and words
// of time count 2.5 times (exact). Words of feelings, of praise and of talking, words with many meanings, such as "take", and
// words that end as many adjectives of judgement do, such as "wonderful", are pale: they count a tenth (faint). Of a file, the
// prose gives its name and type; the ledger gives its address.
//
// Of the clauses, those are kept that have most information for their length. weigh.go lists what a clause counts for what is
// in it, for its place in the conversation, and for the clauses that are chosen already. So what answers a question, what opens
// a day, and what people say of themselves come first. Praise of what the other has said counts less. Code, rows of tables and logs, and what is said again with other names or
// numbers, come last. If the instructions of the compaction name a word of a clause, nothing of this makes it count less.
//
// Some clauses mean nothing alone, and are only taken together: a short answer with its question, a question with its answer,
// and a clause that begins with "he" or "she", or says "her" or "them" of somebody, with the clause before it.
//
// # Ledger
//
// Values are taken from the arguments and responses of calls, and grouped into records. A record holds what is
// known about one thing; its name is the identifier of that thing, or the tool and what the tool was asked about.
// Texts add identifiers, dates and amounts of money; other numbers say nothing without the words beside them.
//
// A value is worth as much as its kind: an identifier 1, a date 0.8, a name 0.5, a short code 0.4, a choice from a
// few words 0.3, a number or a time of day 0.15 (worth). A value that a call or the user used counts three times
// (byUse). Each event since a value occurred last takes away 2 % (fade). The cost of a value is the square root of
// its length. A value that is also in another record counts a twentieth (twice).
//
// A value that only a long text or a list in the response of a tool has is in a record of its own, and counts a twentieth.
//
// The values get up to two thirds of a small budget, and less of a large one, because later calls do not need more. Those of
// long texts, and the many values of a table that no call has used, come last. Then prose gets the rest, and then values get
// what the prose left.
//
// # How the weights were chosen
//
// By hand, as round numbers, on two sets of conversations: five between two people, compacted every 50 events to
// 2,000 and 4,000 tokens, and a hundred between customers and an airline's service, compacted to 256 and 512. A
// weight was kept only if it helped in most of the five. Around these weights the scores are flat: changing one moves the
// share of found answers by one or two points of a hundred, which is about the noise. The weight flow trades answers for whole
// passages, which people read with less effort. What concerns code, tables, repetition, and clauses that are taken together was
// made on eight other conversations, of kinds that those do not have, by reading their summaries.
//
// What was counted is how many questions find the words that matter for them, those that the question or its answer shares with
// what was said, near each other and below the right day. Two thirds of the clauses that answer a question are in three groups:
// what answers a question, what opens a day, and what an author says of themselves with a name, a number or a time. These are a
// third of the text. Captions of pictures were 8 % of a summary, and hardly answered anything.
//
// Clauses were chosen over single words because people read the summary. A summary of the words that tell most has parts
// of twice as many of the texts, but fewer of the answers, and turns the meaning of some.
//
// Compacting every ten events finds as many answers as compacting once, within a point or two. What is forgotten does not
// come back.
//
// The tests TestScoreLast and TestScoreCalls repeat these measurements if the environment variable PLUGHOOK_DATA,
// or the folder ../shared/data beside the repository, has the conversations.
package extract

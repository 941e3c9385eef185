// Package extract condenses the older part of a session without a model. What it writes has two parts: prose,
// which is sentences of what was said, and a ledger of the exact values that later tool calls may need.
//
// It works step by step. A [State] is what one compaction leaves to the next. State.Add takes in the events
// that the next compaction covers, and State.Text writes what stands for everything so far, within a budget.
// So the time grows with the budget and with the new events, and never with the length of the session. The
// same input gives the same text.
//
// Only the text holds words. The JSON of a State has flags and numbers, and Resume reads everything else from
// the text as it is stored. So what a guardrail removes from a summary stays out of all later summaries.
//
// # Prose
//
// The prose has whole sentences, as they were said. As long as there is room, all of them are there. When
// there is not, those that tell most for their length are chosen, one after the other.
//
// What an author says again in the same words stands once, where it was said last. Of a run of characters
// without a space that nobody can read, such as a key of a thousand digits, the first 40 are kept. Of a file,
// the prose gives its name and type; the ledger gives its address.
//
// A word tells more the rarer it is: its information is log((N+1000)/n), where N is the number of sentences
// and n the number of them that have the word. The 1000 keeps the weight of a word nearly the same early and
// late in the session. A word that a chosen sentence has counts a fifth. These words have no information: stop
// words; words of feelings, of praise and of talking; and, in any language, words that are in more than a
// quarter of the sentences. Names, numbers and words of time count five times (exact).
//
// The file rank.go lists what a sentence counts for what is in it. What answers a question, what people say
// of themselves, and what names a time count more. Questions, what tools say, and what was pasted count less,
// and code and rows of tables and logs least. If the instructions of the compaction name a word of a sentence,
// nothing of this makes it count less. A sentence beside a chosen one counts more, since they explain each
// other (flow).
//
// # Ledger
//
// Values are taken from the arguments and responses of calls, and grouped into records. A record holds what
// is known about one thing; its head is the identifier of that thing, or the tool and what the tool was asked
// about. Texts add identifiers, dates and amounts of money; other numbers say nothing without the words
// beside them.
//
// A value is worth as much as its kind (worth). A value that a call or the user used counts three times
// (byUse). Each event since a value occurred last takes away 2 % (fade). The cost of a value is the square
// root of its length. A value that is also in another record counts a twentieth (twice).
//
// The values get up to three quarters of a small budget, and less of a large one, because later calls do not
// need more. Then prose gets the rest, and then values get what the prose left. A value that only a long text
// or a list in the response of a tool has is in a record of its own, and comes after all others.
//
// # How the weights were chosen
//
// By hand, as round numbers, on two sets of conversations: five between two people, compacted every 50 events
// to 2,000 and 4,000 tokens, and a hundred between customers and an airline's service, compacted to 256 and
// 512. Around these weights the scores are flat: changing one moves the share of found answers by one or two
// points of a hundred, which is about the noise. The weight flow trades answers for longer passages, which
// people read with less effort. The tests TestScoreLast and TestScoreCalls repeat these measurements if the
// environment variable PLUGHOOK_DATA, or the folder ../shared/data beside the repository, has the
// conversations.
//
// # Where to add what
//
// A reason why a sentence counts more or less: a constant and a step of State.weight in rank.go. A word that
// tells nothing, or an abbreviation: its list in wordlists.go. A kind of value that calls need: a kind and its
// worth in kind.go, and a case in kindOf. What is stored between compactions: a field of stateJSON (state.go),
// which older states lack.
package extract

package guardrail

import (
	"strings"

	"google.golang.org/genai"
)

// item is a thing in an event that rules are about: what somebody says, a call, an answer.
type item struct {
	stage    Stage
	also     Stage // rules that are about this stage are about it, too; empty if there is none
	call     *genai.FunctionCall
	response *genai.FunctionResponse
	tool     string
	args     map[string]any
	// said says that it is what the event's author says, in words; thought, that it is thought; label, that it is a word
	// which programs have for something.
	said, thought, label bool
	// after is what it may go on from: each is the end of another text.
	after []string
}

// leaf is one text of an item.
type leaf struct {
	jsonLeaf
	item *item
	// Of a text that stands in several parts: where they end, and where something else stands between two of them.
	ends, gaps []int
}

// A walker goes through the texts of an event, always in the same order. Where edit answers a text with true, that
// stands there afterwards, a text for each of its parts: so an event is walked to be judged, and its clone to be changed.
type walker struct {
	edit func(leaf) ([]string, bool)
	// write says that the event is the walker's to change. dirty is set if it would be, and not by edit.
	write, dirty bool
	// only, if it is not empty, is the stage of everything.
	only Stage
	// begin is called with each item before its texts, and end after them. They may be nil.
	begin, end func(*item)
	// answered returns the arguments of the call that a response answers.
	answered func(*genai.FunctionResponse) map[string]any
	// made reports whether a model has made up the name that it calls.
	made func(*genai.FunctionCall) bool
	// unasked reports whether a user answers a call that nobody made.
	unasked func(*genai.FunctionResponse) bool
}

func (w *walker) in(it *item, texts func(edit func(jsonLeaf) (string, bool))) {
	w.around(it, func() {
		texts(func(l jsonLeaf) (string, bool) {
			by, changed := w.edit(leaf{jsonLeaf: l, item: it})
			return strings.Join(by, ""), changed
		})
	})
}

func (w *walker) around(it *item, texts func()) {
	if w.only != "" {
		it.stage = w.only
	}
	if w.begin != nil {
		w.begin(it)
	}
	texts()
	if w.end != nil {
		w.end(it)
	}
}

// text is in for a single text.
func (w *walker) text(stage Stage, text *string) { w.one(&item{stage: stage}, jsonLeaf{}, text) }

// one is in for an item that is one text; of the leaf all but that is set.
func (w *walker) one(it *item, l jsonLeaf, text *string) {
	if *text == "" {
		return
	}
	w.in(it, func(edit func(jsonLeaf) (string, bool)) {
		l.text = *text
		if by, changed := edit(l); changed && w.write {
			*text = by
		}
	})
}

// json is in for a map of JSON values.
func (w *walker) json(it *item, values *map[string]any) {
	if len(*values) == 0 && it.call == nil {
		return
	}
	w.in(it, func(edit func(jsonLeaf) (string, bool)) {
		w.values(values, edit)
	})
}

func (w *walker) values(values *map[string]any, edit func(jsonLeaf) (string, bool)) {
	by, changed := eachString(*values, "", edit)
	if w.dirty = w.dirty || changed; changed && w.write {
		*values = by.(map[string]any)
	}
}

// Package walk goes through all texts of an event, always in the same order, to judge them or to
// change them.
//
// A new field of an event with a text: the table of fields in session names it, and Walker.field visits it; a new kind of part
// in Walker.part; a new key of a tool's schema in the lists of declaration.go.
package walk

import (
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/plugins/guardrail/internal/jsonvalue"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/plugins/guardrail/policy/file"
)

// An Item is a part of an event that a rule judges as a whole: what somebody says, a function call, or a
// function response.
type Item struct {
	Stage policy.Stage
	// Also is another stage whose rules are about the item, too; "" if there is none.
	Also     policy.Stage
	Call     *genai.FunctionCall     // nil if the item is no call
	Response *genai.FunctionResponse // nil if the item is no answer
	Tool     string                  // the tool that is called or answers
	Args     map[string]any          // what it is called with
	// Said says that the item is what the event's author says, in words. Thought says that the
	// author thinks it.
	Said, Thought bool
	// Files says that the item is files, and which. It has no texts: those of files are items of their own.
	Files []file.File
	// Label says that the item is a word for programs, such as the type of a file.
	Label bool
	// After has ends of other texts of the event that the item's text may continue.
	After []string
}

// A Leaf is one text of an item.
type Leaf struct {
	jsonvalue.Leaf
	Item *Item
	// Ends are where the parts of a text end that stands in several parts of the event. Gaps are
	// where something else stands between two of them.
	Ends, Gaps []int
}

// Spoken reports whether the text is one that somebody says, or of a call or an answer, and no key.
func (l Leaf) Spoken() bool {
	return !l.Key && (l.Item.Said || l.Item.Call != nil || l.Item.Response != nil)
}

// A Walker goes through an event. Its functions, but for Edit, may be nil.
type Walker struct {
	// Edit is called with each text. If it answers true, its texts stand there afterwards, one for
	// each of the text's parts.
	Edit func(Leaf) ([]string, bool)
	// Write says that the event may be changed.
	Write bool
	// Dirty is set if something other than the answers of Edit would change the event.
	Dirty bool
	// Only, if it is not empty, is the stage of every item.
	Only policy.Stage
	// Begin is called with each item before its texts, and End after them.
	Begin, End func(*Item)
	// Answered returns the arguments of the call that a response answers.
	Answered func(*genai.FunctionResponse) map[string]any
	// MadeUp reports whether a model has made up the name that it calls.
	MadeUp func(*genai.FunctionCall) bool
	// Unasked reports whether a response answers a call that nobody made.
	Unasked func(*genai.FunctionResponse) bool
}

// editFunc returns the new parts of a text, and whether they differ from the old ones.
type editFunc func(jsonvalue.Leaf) (string, bool)

// item goes through an item; texts calls edit with each of its texts.
func (w *Walker) item(it *Item, texts func(edit editFunc)) {
	w.around(it, func() {
		texts(func(l jsonvalue.Leaf) (string, bool) {
			parts, changed := w.Edit(Leaf{Leaf: l, Item: it})
			return strings.Join(parts, ""), changed
		})
	})
}

// around calls Begin, texts and End.
func (w *Walker) around(it *Item, texts func()) {
	if w.Only != "" {
		it.Stage = w.Only
	}
	if w.Begin != nil {
		w.Begin(it)
	}
	texts()
	if w.End != nil {
		w.End(it)
	}
}

// text goes through an item that is one text.
func (w *Walker) text(stage policy.Stage, text *string) {
	w.leaf(&Item{Stage: stage}, jsonvalue.Leaf{}, text)
}

// leaf goes through an item that is one text. The leaf has all that is known of the text but the
// text itself.
func (w *Walker) leaf(it *Item, l jsonvalue.Leaf, text *string) {
	if *text == "" {
		return
	}
	w.item(it, func(edit editFunc) {
		l.Text = *text
		edited, changed := edit(l)
		if changed && w.Write {
			*text = edited
		}
	})
}

// json goes through an item that is an object.
func (w *Walker) json(it *Item, object *map[string]any) {
	if len(*object) == 0 && it.Call == nil {
		return
	}
	w.item(it, func(edit editFunc) {
		w.object(object, edit)
	})
}

func (w *Walker) object(object *map[string]any, edit editFunc) {
	edited, changed := jsonvalue.Each(*object, "", edit)
	if changed {
		w.Dirty = true
	}
	if changed && w.Write {
		*object = edited.(map[string]any)
	}
}

// value goes through an item that is any JSON value, and keeps its shape.
func (w *Walker) value(it *Item, value *any) {
	w.item(it, func(edit editFunc) {
		edited, changed := jsonvalue.Each(*value, "", edit)
		if changed {
			w.Dirty = true
		}
		if changed && w.Write {
			*value = edited
		}
	})
}

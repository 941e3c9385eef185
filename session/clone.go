package session

import (
	"encoding/json"
	"reflect"
	"slices"
	"time"
	"unsafe"

	"github.com/huandu/go-clone"
	"google.golang.org/genai"
)

// Clone returns a copy that shares nothing with e.
func (e *Event) Clone() *Event {
	if e.onlyText() {
		return e.cloneText()
	}
	copied := clone.Clone
	if !e.finite() {
		copied = clone.Slowly // it notices a value that contains itself
	}
	if e.origin == nil {
		return copied(e).(*Event)
	}
	// Nobody writes to origin, so both events may have it.
	shallow := *e
	shallow.origin = nil
	c := copied(&shallow).(*Event)
	c.origin = e.origin
	return c
}

// freeMaps and freeValues are the offsets of the fields that any JSON value may stand in: maps, and others.
var freeMaps, freeValues = func() (maps, values []uintptr) {
	for _, f := range fields {
		switch {
		case f.Kind != JSON:
		case f.In(new(Event)).Kind() == reflect.Map:
			maps = append(maps, f.offset)
		default:
			values = append(values, f.offset)
		}
	}
	return maps, values
}()

// finite reports whether the event's free values are JSON's and not deep, so that none contains itself.
func (e *Event) finite() bool {
	ok := true
	for _, offset := range freeMaps {
		ok = ok && finite(*(*map[string]any)(unsafe.Add(unsafe.Pointer(e), offset)), 0)
	}
	for _, offset := range freeValues {
		ok = ok && finite(*(*any)(unsafe.Add(unsafe.Pointer(e), offset)), 0)
	}
	for _, c := range e.Actions.RequestedToolConfirmations {
		ok = ok && finite(c.Payload, 0)
	}
	for _, p := range e.Parts() {
		ok = ok && p.ToolCall == nil && p.ToolResponse == nil && finite(p.PartMetadata, 0)
		if p.FunctionCall != nil {
			ok = ok && finite(p.FunctionCall.Args, 0)
		}
		if p.FunctionResponse != nil {
			ok = ok && finite(p.FunctionResponse.Response, 0)
		}
	}
	return ok
}

func finite(v any, depth int) bool {
	switch v := v.(type) {
	case nil, bool, string, float64, int, json.Number:
		return true
	case map[string]any:
		for _, x := range v {
			if depth > 1000 || !finite(x, depth+1) {
				return false
			}
		}
		return true
	case []any:
		for _, x := range v {
			if depth > 1000 || !finite(x, depth+1) {
				return false
			}
		}
		return true
	}
	return false
}

// Most events are a text, or say how a workflow's node has ended, and have nothing else that has to be followed. They
// are copied by hand, which takes a sixth of the time. What there is to follow is read from the types, so that no field
// is forgotten.
var (
	eventReferences = references(reflect.TypeFor[Event](), 0, "Content", "Output", "NodeInfo", "origin")
	nodeReferences  = references(reflect.TypeFor[NodeInfo](), 0)
	partReferences  = references(reflect.TypeFor[genai.Part](), 0)
	contentIsKnown  = reflect.TypeFor[genai.Content]().NumField() == 2 // Parts and Role
)

// references returns the offsets of the pointers, slices, maps and interfaces in a struct, but for those
// of the fields named.
func references(t reflect.Type, at uintptr, but ...string) []uintptr {
	var list []uintptr
	for i := range t.NumField() {
		f := t.Field(i)
		switch f.Type.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface, reflect.Func, reflect.Chan:
			if !slices.Contains(but, f.Name) {
				list = append(list, at+f.Offset)
			}
		case reflect.Struct:
			if f.Type != reflect.TypeFor[time.Time]() {
				list = append(list, references(f.Type, at+f.Offset)...)
			}
		}
	}
	return list
}

// onlyText reports whether the event refers to nothing but a content whose parts refer to nothing, a plain output,
// and a node that refers to nothing.
func (e *Event) onlyText() bool {
	if !contentIsKnown || refers(unsafe.Pointer(e), eventReferences) {
		return false
	}
	switch e.Output.(type) {
	case nil, string, bool, float64:
	default:
		return false
	}
	if e.NodeInfo != nil && refers(unsafe.Pointer(e.NodeInfo), nodeReferences) {
		return false
	}
	if e.Content == nil {
		return true
	}
	for _, p := range e.Content.Parts {
		if p != nil && refers(unsafe.Pointer(p), partReferences) {
			return false
		}
	}
	return true
}

// refers reports whether one of the references at those offsets of a struct is not nil.
func refers(to unsafe.Pointer, offsets []uintptr) bool {
	for _, at := range offsets {
		if *(*unsafe.Pointer)(unsafe.Add(to, at)) != nil {
			return true
		}
	}
	return false
}

// cloneText is Clone for an event that is onlyText.
func (e *Event) cloneText() *Event {
	c := *e
	if e.NodeInfo != nil {
		node := *e.NodeInfo
		c.NodeInfo = &node
	}
	if e.Content == nil {
		return &c
	}
	content := *e.Content
	c.Content = &content
	if e.Content.Parts == nil {
		return &c
	}
	content.Parts = make([]*genai.Part, len(e.Content.Parts))
	parts := make([]genai.Part, len(e.Content.Parts))
	for i, p := range e.Content.Parts {
		if p != nil {
			parts[i] = *p
			content.Parts[i] = &parts[i]
		}
	}
	return &c
}

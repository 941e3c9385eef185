package lent

import (
	"reflect"
	"sync"
	"time"
	"unsafe"

	"github.com/plughook/plughook/session"
)

// Size returns about how many bytes of memory an event takes, with all that it points to; what two of its values
// share counts once. Which fields there are is read from the types, as a fingerprint does, so that a field of a
// later version of genai counts, too.
func Size(e *session.Event) int64 {
	read := *(*[]byte)(unsafe.Add(unsafe.Pointer(e), originOffset))
	s := sizer{from: uintptr(unsafe.Pointer(unsafe.SliceData(read))), bytes: uintptr(len(read))}
	return allocated(unsafe.Sizeof(*e)) + s.fields(eventType, unsafe.Pointer(e), 0)
}

var eventType = reflect.TypeFor[session.Event]()

// originOffset is where an event has the JSON that it was read from.
var originOffset = func() uintptr {
	f, _ := eventType.FieldByName("origin")
	return f.Offset
}()

// allocated returns what an allocation of n bytes takes, about: sizes are rounded up, large ones to whole
// pages.
func allocated(n uintptr) int64 {
	if n == 0 {
		return 0
	}
	return int64(n+min(n/16, 8<<10)+15) &^ 15
}

// A sizer adds up what the values of an event point to. Texts of an event that was read may be parts of its JSON,
// which lies at from: they take nothing of their own.
type sizer struct{ from, bytes uintptr }

// A pointing is a field of a struct, or of a struct within it, that points to something unless its first word is 0.
type pointing struct {
	offset uintptr
	of     reflect.Type
}

var pointings sync.Map // []pointing by type

// pointingsOf returns the fields of a struct that may point to something.
func pointingsOf(t reflect.Type) []pointing {
	if known, ok := pointings.Load(t); ok {
		return known.([]pointing)
	}
	var list []pointing
	fields := t.NumField()
	if t == reflect.TypeFor[time.Time]() { // all times share their zone
		fields = 0
	}
	for i := range fields {
		f := t.Field(i)
		switch {
		case f.Type.Kind() == reflect.Struct:
			for _, within := range pointingsOf(f.Type) {
				list = append(list, pointing{offset: f.Offset + within.offset, of: within.of})
			}
		case f.Type.Kind() > reflect.Array:
			list = append(list, pointing{offset: f.Offset, of: f.Type})
		}
	}
	pointings.Store(t, list)
	return list
}

func (s *sizer) fields(t reflect.Type, address unsafe.Pointer, depth int) (n int64) {
	for _, f := range pointingsOf(t) {
		value := unsafe.Add(address, f.offset)
		if *(*unsafe.Pointer)(value) != nil {
			n += s.of(f.of, value, depth)
		}
	}
	return n
}

// of returns how many bytes the memory takes that a value points to.
func (s *sizer) of(t reflect.Type, address unsafe.Pointer, depth int) (n int64) {
	if depth > deepest {
		return 0
	}
	switch t.Kind() {
	case reflect.String:
		return s.text(*(*string)(address))
	case reflect.Pointer:
		if p := *(*unsafe.Pointer)(address); p != nil {
			n = allocated(t.Elem().Size()) + s.of(t.Elem(), p, depth+1)
		}
	case reflect.Interface:
		if t.NumMethod() == 0 {
			n = s.any(*(*any)(address), depth)
		}
	case reflect.Slice:
		element := t.Elem()
		list := (*sliceHeader)(address)
		n = allocated(uintptr(list.cap) * element.Size())
		if element.Kind() > reflect.Array { // a number or a bool points to nothing
			for i := range list.len {
				n += s.of(element, unsafe.Add(list.data, uintptr(i)*element.Size()), depth+1)
			}
		}
	case reflect.Map:
		if t == reflect.TypeFor[map[string]any]() { // which most events have
			return s.object(*(*map[string]any)(address), depth)
		}
		m := reflect.NewAt(t, address).Elem()
		n = entries(m.Len(), t.Key().Size()+t.Elem().Size())
		for i := m.MapRange(); i.Next(); {
			n += s.any(i.Key().Interface(), depth+1) + s.any(i.Value().Interface(), depth+1)
		}
	case reflect.Struct:
		n = s.fields(t, address, depth)
	}
	return n
}

// text returns what a string takes.
func (s *sizer) text(text string) int64 {
	if uintptr(unsafe.Pointer(unsafe.StringData(text)))-s.from < s.bytes {
		return 0
	}
	return allocated(uintptr(len(text)))
}

// any returns what a free value takes, such as one of state or of a call's arguments.
func (s *sizer) any(value any, depth int) int64 {
	switch v := value.(type) {
	case nil, bool:
		return 0
	case string:
		return 16 + s.text(v)
	case float64:
		return 16
	case map[string]any:
		return s.object(v, depth+1)
	}
	t := reflect.TypeOf(value)
	return allocated(t.Size()) + s.of(t, copyOf(value), depth+1)
}

// object returns what a JSON object takes.
func (s *sizer) object(m map[string]any, depth int) int64 {
	if depth > deepest {
		return 0
	}
	n := entries(len(m), unsafe.Sizeof("")+unsafe.Sizeof(any(nil)))
	for key, value := range m {
		n += s.text(key) + s.any(value, depth+1)
	}
	return n
}

// entries returns what a map takes for so many entries, with the room that a map keeps free.
func entries(count int, size uintptr) int64 {
	if count == 0 {
		return 0
	}
	return 48 + allocated(uintptr(max(count, 4))*size*3/2)
}

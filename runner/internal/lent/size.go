package lent

import (
	"reflect"
	"time"
	"unsafe"

	"github.com/plughook/plughook/session"
)

// Size returns about how many bytes of memory an event takes, with all that it points to. Which fields there
// are is read from the types, as a fingerprint does, so that a field of a later version of genai counts, too.
func Size(e *session.Event) int64 {
	return allocated(int64(unsafe.Sizeof(*e))) + eventSize(unsafe.Pointer(e), 0)
}

// A sizer returns how many bytes the memory takes that a value of one type points to. It is nil for a type
// without pointers.
type sizer func(address unsafe.Pointer, depth int) int64

var (
	sizers    = byType[sizer]{}
	eventSize sizer
)

func init() {
	sizers.compile = compileSizer
	eventSize = sizers.of(reflect.TypeFor[session.Event]())
}

// allocated returns what an allocation of n bytes takes, about: sizes are rounded up, large ones to whole
// pages.
func allocated(n int64) int64 {
	if n == 0 {
		return 0
	}
	return (n + min(n/16, 8<<10) + 15) &^ 15
}

func compileSizer(t reflect.Type) sizer {
	switch t.Kind() {
	case reflect.String:
		return func(address unsafe.Pointer, _ int) int64 { return allocated(int64(len(*(*string)(address)))) }
	case reflect.Pointer:
		element := sizers.function(t.Elem())
		size := int64(t.Elem().Size())
		return func(address unsafe.Pointer, depth int) int64 {
			p := *(*unsafe.Pointer)(address)
			if p == nil || depth > deepest {
				return 0
			}
			n := allocated(size)
			if *element != nil {
				n += (*element)(p, depth+1)
			}
			return n
		}
	case reflect.Slice:
		element := sizers.function(t.Elem())
		size := t.Elem().Size()
		return func(address unsafe.Pointer, depth int) int64 {
			header := (*sliceHeader)(address)
			n := allocated(int64(header.cap) * int64(size))
			if *element == nil || depth > deepest {
				return n
			}
			for i := range header.len {
				n += (*element)(unsafe.Add(header.data, uintptr(i)*size), depth+1)
			}
			return n
		}
	case reflect.Map:
		if t == reflect.TypeFor[map[string]any]() {
			return func(address unsafe.Pointer, depth int) int64 {
				return sizeOfObject(*(*map[string]any)(address), depth)
			}
		}
		return func(address unsafe.Pointer, depth int) int64 {
			return sizeOfMap(reflect.NewAt(t, address).Elem(), depth)
		}
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return func(address unsafe.Pointer, depth int) int64 { return sizeOfAny(*(*any)(address), depth) }
		}
	case reflect.Struct:
		if t != reflect.TypeFor[time.Time]() { // all times share their zone
			return compileStructSizer(t)
		}
	}
	return nil
}

// compileStructSizer returns a sizer that looks at the fields with pointers, also those that are not
// exported.
func compileStructSizer(t reflect.Type) sizer {
	type field struct {
		offset uintptr
		sizer  *sizer
	}
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		kind := f.Type.Kind()
		beingMade := kind == reflect.Pointer || kind == reflect.Slice || kind == reflect.Map // perhaps, and nil until then
		if s := sizers.function(f.Type); *s != nil || beingMade {
			fields = append(fields, field{offset: f.Offset, sizer: s})
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return func(address unsafe.Pointer, depth int) int64 {
		var n int64
		for _, f := range fields {
			if *f.sizer != nil {
				n += (*f.sizer)(unsafe.Add(address, f.offset), depth)
			}
		}
		return n
	}
}

// sizeOfMap returns what a map takes: its entries, with the room that a map keeps free, and what they point
// to.
func sizeOfMap(m reflect.Value, depth int) int64 {
	if m.Len() == 0 || depth > deepest {
		return 0
	}
	n := sizeOfEntries(m.Len(), m.Type().Key().Size()+m.Type().Elem().Size())
	for i := m.MapRange(); i.Next(); {
		n += sizeOfAny(i.Key().Interface(), depth+1) + sizeOfAny(i.Value().Interface(), depth+1)
	}
	return n
}

// sizeOfObject is sizeOfMap for the maps that most events have.
func sizeOfObject(m map[string]any, depth int) int64 {
	if len(m) == 0 || depth > deepest {
		return 0
	}
	n := sizeOfEntries(len(m), unsafe.Sizeof("")+unsafe.Sizeof(any(nil)))
	for key, value := range m {
		n += 16 + allocated(int64(len(key))) + sizeOfAny(value, depth+1)
	}
	return n
}

func sizeOfEntries(n int, entry uintptr) int64 {
	return 48 + allocated(int64(max(n, 4))*int64(entry)*3/2)
}

// sizeOfAny returns what a free value takes, such as one of state or of a call's arguments.
func sizeOfAny(v any, depth int) int64 {
	if depth > deepest {
		return 0
	}
	switch v := v.(type) {
	case nil, bool:
		return 0
	case string:
		return 16 + allocated(int64(len(v)))
	case float64:
		return 8
	case map[string]any:
		return sizeOfObject(v, depth)
	case []any:
		n := allocated(int64(cap(v)) * 16)
		for _, x := range v {
			n += sizeOfAny(x, depth+1)
		}
		return n
	}
	n := allocated(int64(reflect.TypeOf(v).Size()))
	if size := sizers.of(reflect.TypeOf(v)); size != nil {
		n += size(copyOf(v), depth+1)
	}
	return n
}

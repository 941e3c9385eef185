package runner

import (
	"reflect"
	"sync"
	"time"
	"unsafe"

	"github.com/plughook/plughook/session"
)

// heldBytes returns about how many bytes of memory an event holds, with all that it points to. Which fields there
// are is read from the types, as a fingerprint does, so that a field of a later version of genai counts, too.
func heldBytes(e *session.Event) int64 {
	n := allocated(int64(unsafe.Sizeof(*e)))
	if eventHolds != nil {
		n += eventHolds(unsafe.Pointer(e), 0)
	}
	return n
}

var eventHolds = holderOf(reflect.TypeFor[session.Event]())

// A holder returns how many bytes a value holds beside its own: those that it points to.
type holder func(at unsafe.Pointer, depth int) int64

// allocated returns what an allocation of n bytes takes, about: sizes are rounded up.
func allocated(n int64) int64 {
	if n == 0 {
		return 0
	}
	return (n + n/16 + 15) &^ 15
}

var (
	holders   = map[reflect.Type]*holder{}
	holdersMu sync.Mutex
)

// holderOf returns the holder of a type, nil for a type without pointers.
func holderOf(t reflect.Type) holder {
	holdersMu.Lock()
	defer holdersMu.Unlock()
	return *compiledHolder(t)
}

// compiledHolder returns the holder of a type, made at the first call. A type that contains itself finds its own
// in the map. The caller holds holdersMu.
func compiledHolder(t reflect.Type) *holder {
	if h := holders[t]; h != nil {
		return h
	}
	h := new(holder)
	holders[t] = h
	*h = compileHolder(t)
	return h
}

func compileHolder(t reflect.Type) holder {
	switch t.Kind() {
	case reflect.String:
		return func(at unsafe.Pointer, _ int) int64 { return allocated(int64(len(*(*string)(at)))) }
	case reflect.Pointer:
		element, size := compiledHolder(t.Elem()), int64(t.Elem().Size())
		return func(at unsafe.Pointer, depth int) int64 {
			p := *(*unsafe.Pointer)(at)
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
		element, size := compiledHolder(t.Elem()), t.Elem().Size()
		return func(at unsafe.Pointer, depth int) int64 {
			header := (*struct {
				data     unsafe.Pointer
				len, cap int
			})(at)
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
		return func(at unsafe.Pointer, depth int) int64 {
			return mapHolds(reflect.NewAt(t, at).Elem(), depth)
		}
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return func(at unsafe.Pointer, depth int) int64 { return anyHolds(*(*any)(at), depth) }
		}
	case reflect.Struct:
		if t != reflect.TypeFor[time.Time]() { // its zone is nobody's
			return compileStructHolder(t)
		}
	}
	return nil
}

// compileStructHolder returns a holder that looks at the fields with pointers, also those that are not exported.
func compileStructHolder(t reflect.Type) holder {
	type field struct {
		offset uintptr
		holder *holder
	}
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		h := compiledHolder(f.Type)
		if *h != nil || holdsItself(f.Type) {
			fields = append(fields, field{offset: f.Offset, holder: h})
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return func(at unsafe.Pointer, depth int) int64 {
		var n int64
		for _, f := range fields {
			if *f.holder != nil {
				n += (*f.holder)(unsafe.Add(at, f.offset), depth)
			}
		}
		return n
	}
}

// holdsItself reports whether a type may be one whose holder is still being made.
func holdsItself(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map
}

// mapHolds returns what a map holds: its entries, with the room that a map keeps free, and what they point to.
func mapHolds(m reflect.Value, depth int) int64 {
	if m.Len() == 0 || depth > deepest {
		return 0
	}
	entry := int64(m.Type().Key().Size() + m.Type().Elem().Size())
	n := 48 + allocated(int64(max(m.Len(), 4))*entry*3/2)
	for i := m.MapRange(); i.Next(); {
		n += anyHolds(i.Key().Interface(), depth+1) + anyHolds(i.Value().Interface(), depth+1)
	}
	return n
}

// anyHolds returns what a free value holds, such as one of state or of a call's arguments.
func anyHolds(v any, depth int) int64 {
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
		return mapHolds(reflect.ValueOf(v), depth)
	case []any:
		n := allocated(int64(cap(v)) * 16)
		for _, x := range v {
			n += anyHolds(x, depth+1)
		}
		return n
	}
	t := reflect.TypeOf(v)
	n := allocated(int64(t.Size()))
	if h := holderOf(t); h != nil {
		place := reflect.New(t)
		place.Elem().Set(reflect.ValueOf(v))
		n += h(place.UnsafePointer(), depth+1)
	}
	return n
}

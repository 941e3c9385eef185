package lent

import (
	"reflect"
	"time"

	"github.com/plughook/plughook/session"
)

// Size returns about how many bytes of memory an event takes, with all that it points to. Which fields there
// are is read from the types, as a fingerprint does, so that a field of a later version of genai counts, too.
func Size(e *session.Event) int64 { return sizeOf(reflect.ValueOf(e), 0) }

// allocated returns what an allocation of n bytes takes, about: sizes are rounded up, large ones to whole
// pages.
func allocated(n uintptr) int64 {
	if n == 0 {
		return 0
	}
	return int64(n+min(n/16, 8<<10)+15) &^ 15
}

// sizeOf returns how many bytes the memory takes that a value points to.
func sizeOf(v reflect.Value, depth int) (n int64) {
	if depth > deepest {
		return 0
	}
	switch v.Kind() {
	case reflect.String:
		return allocated(uintptr(v.Len()))
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			n = allocated(v.Elem().Type().Size()) + sizeOf(v.Elem(), depth+1)
		}
	case reflect.Slice:
		element := v.Type().Elem()
		n = allocated(uintptr(v.Cap()) * element.Size())
		if element.Kind() < reflect.Array { // a number or a bool points to nothing
			return n
		}
		for i := range v.Len() {
			n += sizeOf(v.Index(i), depth+1)
		}
	case reflect.Map:
		if v.Len() == 0 {
			return 0
		}
		// Its entries, with the room that a map keeps free, and what they point to.
		entry := v.Type().Key().Size() + v.Type().Elem().Size()
		n = 48 + allocated(uintptr(max(v.Len(), 4))*entry*3/2)
		if object, ok := reflect.TypeAssert[map[string]any](v); ok { // which most events have
			for key, value := range object {
				n += allocated(uintptr(len(key)))
				if value != nil {
					n += allocated(reflect.TypeOf(value).Size()) + sizeOf(reflect.ValueOf(value), depth+1)
				}
			}
			return n
		}
		for i := v.MapRange(); i.Next(); {
			n += sizeOf(i.Key(), depth+1) + sizeOf(i.Value(), depth+1)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() { // all times share their zone
			return 0
		}
		for i := range v.NumField() {
			if f := v.Field(i); f.Kind() >= reflect.Array {
				n += sizeOf(f, depth)
			}
		}
	}
	return n
}

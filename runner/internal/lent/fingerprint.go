package lent

import (
	"encoding/json"
	"hash/maphash"
	"math"
	"reflect"
	"sync"
	"time"
	"unsafe"

	"github.com/plughook/plughook/session"
)

// A Fingerprint is a hash over all that an event has and points to, from before somebody was lent the event.
// Two equal fingerprints mean, for all that anybody will meet, the same event. The zero Fingerprint is of no
// event.
//
// Which fields there are is read from the types, once, by reflection: a field that a later version of
// genai adds is part of the fingerprint without a change here.
//
// Of inline data of more than 64 KiB only the length, the address in memory and 64 KiB spread over it
// count: what a hook changes in between stays unseen. So do changes of an event that goes more than 1000
// levels deep: such an event contains itself, and cannot be appended.
type Fingerprint uint64

// FingerprintOf returns the fingerprint of an event.
func FingerprintOf(e *session.Event) Fingerprint {
	return Fingerprint(eventWalk(0, unsafe.Pointer(e), 0))
}

// Changed reports whether an event is not the same as when the fingerprint was taken.
func (f Fingerprint) Changed(e *session.Event) bool { return f != 0 && FingerprintOf(e) != f }

// hashSeed makes the fingerprints of this process unlike those of any other.
var hashSeed = maphash.MakeSeed()

// wholeBytes is how many bytes of inline data are looked at.
const wholeBytes = 64 << 10

// deepest is how deep a walk goes: free values (state, arguments) may contain themselves. Where it is too
// deep, a walk returns tooDeep, and so does every walk around it, at once.
const (
	deepest = 1000
	tooDeep = 0
)

// longString is the length from which a string is not hashed whole: nobody can write into a string, so its
// address in memory, its length and its ends tell it from another one.
const longString = 128

// A walk adds a value of one type, which lies at an address in memory, to a hash.
type walk func(hash uint64, address unsafe.Pointer, depth int) uint64

// walks has the walk of each type that was met, made once.
var walks = struct {
	sync.Mutex
	made map[reflect.Type]*walk
}{made: map[reflect.Type]*walk{}}

var eventWalk = walkOf(reflect.TypeFor[session.Event]())

// walkOf returns the walk of a type.
func walkOf(t reflect.Type) walk {
	walks.Lock()
	defer walks.Unlock()
	return *walkWithin(t)
}

// walkWithin is walkOf for compileWalk, which holds the lock. A type that contains itself finds its own
// pointer in the map, to be followed once the walk is made.
func walkWithin(t reflect.Type) *walk {
	w := walks.made[t]
	if w == nil {
		w = new(walk)
		walks.made[t] = w
		*w = compileWalk(t)
	}
	return w
}

// mixed adds a number to a hash. The constant is that of the 64-bit finalizer of MurmurHash3.
func mixed(hash, n uint64) uint64 {
	hash = (hash ^ n) * 0xff51afd7ed558ccd
	hash ^= hash >> 32
	if hash == tooDeep {
		return 1
	}
	return hash
}

// entryOf returns the hash of one entry of a map in a form that may be added to those of others: every bit
// of the entry counts in every bit of the sum.
func entryOf(hash uint64) uint64 { return mixed(mixed(hash, 1), 1) }

func compileWalk(t reflect.Type) walk {
	switch t.Kind() {
	case reflect.String:
		return func(hash uint64, address unsafe.Pointer, _ int) uint64 { return hashString(hash, *(*string)(address)) }
	case reflect.Pointer:
		return compilePointer(t)
	case reflect.Struct:
		if t != reflect.TypeFor[time.Time]() { // a time is compared as it stands: its zone is not looked into
			return compileStruct(t)
		}
	case reflect.Slice:
		return compileSlice(t)
	case reflect.Map:
		return compileMap(t)
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return func(hash uint64, address unsafe.Pointer, depth int) uint64 {
				return hashAny(hash, *(*any)(address), depth)
			}
		}
	case reflect.Array:
		return compileArray(t)
	}

	// A bool and a number count as they stand in memory.
	switch t.Size() {
	case 1:
		return func(hash uint64, address unsafe.Pointer, _ int) uint64 {
			return mixed(hash, uint64(*(*uint8)(address)))
		}
	case 2:
		return func(hash uint64, address unsafe.Pointer, _ int) uint64 {
			return mixed(hash, uint64(*(*uint16)(address)))
		}
	case 4:
		return func(hash uint64, address unsafe.Pointer, _ int) uint64 {
			return mixed(hash, uint64(*(*uint32)(address)))
		}
	case 8:
		return func(hash uint64, address unsafe.Pointer, _ int) uint64 { return mixed(hash, *(*uint64)(address)) }
	}
	// Of a time, a func, a channel or an interface with methods, which one it is counts, and not what it
	// holds.
	words := t.Size() / unsafe.Sizeof(uintptr(0))
	return func(hash uint64, address unsafe.Pointer, _ int) uint64 {
		for i := range words {
			hash = mixed(hash, uint64(*(*uintptr)(unsafe.Add(address, i*unsafe.Sizeof(uintptr(0))))))
		}
		return hash
	}
}

func compilePointer(t reflect.Type) walk {
	element := walkWithin(t.Elem())
	return func(hash uint64, address unsafe.Pointer, depth int) uint64 {
		p := *(*unsafe.Pointer)(address)
		if p == nil {
			return mixed(hash, 0)
		}
		if depth > deepest {
			return tooDeep
		}
		return (*element)(mixed(hash, 1), p, depth+1)
	}
}

// compileStruct returns a walk over the fields. Most fields of most events are zero: they are passed
// over by their first word, and the others are told apart by their number.
func compileStruct(t reflect.Type) walk {
	type field struct {
		offset uintptr
		walk   *walk
		small  bool // it is zero exactly if its first word is
	}
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue // only its own package can change it
		}
		kind := f.Type.Kind()
		fields = append(fields, field{
			offset: f.Offset,
			walk:   walkWithin(f.Type),
			small:  kind == reflect.Pointer || kind == reflect.Map || kind == reflect.Interface,
		})
	}
	return func(hash uint64, address unsafe.Pointer, depth int) uint64 {
		for i := range fields {
			f := &fields[i]
			value := unsafe.Add(address, f.offset)
			if f.small && *(*unsafe.Pointer)(value) == nil {
				continue
			}
			hash = (*f.walk)(mixed(hash, uint64(i)), value, depth)
			if hash == tooDeep {
				return tooDeep
			}
		}
		return hash
	}
}

func compileArray(t reflect.Type) walk {
	elements := compileElements(t.Elem())
	return func(hash uint64, address unsafe.Pointer, depth int) uint64 {
		return elements(hash, address, t.Len(), depth)
	}
}

func compileSlice(t reflect.Type) walk {
	if t.Elem().Kind() == reflect.Uint8 {
		return func(hash uint64, address unsafe.Pointer, _ int) uint64 { return hashBytes(hash, *(*[]byte)(address)) }
	}
	elements := compileElements(t.Elem())
	return func(hash uint64, address unsafe.Pointer, depth int) uint64 {
		header := (*sliceHeader)(address)
		hash = mixed(hash, uint64(header.len))
		if depth > deepest {
			return tooDeep
		}
		return elements(hash, header.data, header.len, depth+1)
	}
}

// A sliceHeader is what a slice is in memory.
type sliceHeader struct {
	data     unsafe.Pointer
	len, cap int
}

// compileElements returns a walk over values of one type that lie one after the other.
func compileElements(t reflect.Type) func(hash uint64, address unsafe.Pointer, n, depth int) uint64 {
	element := walkWithin(t)
	size := t.Size()
	return func(hash uint64, address unsafe.Pointer, n, depth int) uint64 {
		for i := range n {
			hash = (*element)(hash, unsafe.Add(address, uintptr(i)*size), depth)
			if hash == tooDeep {
				return tooDeep
			}
		}
		return hash
	}
}

// compileMap returns a walk over a map's entries, each hashed on its own and then added up, so that
// their order does not matter.
func compileMap(t reflect.Type) walk {
	if t == reflect.TypeFor[map[string]any]() {
		return func(hash uint64, address unsafe.Pointer, depth int) uint64 {
			return hashObject(hash, *(*map[string]any)(address), depth)
		}
	}
	key := walkWithin(t.Key())
	value := walkWithin(t.Elem())
	return func(hash uint64, address unsafe.Pointer, depth int) uint64 {
		m := reflect.NewAt(t, address).Elem()
		hash = mixed(hash, uint64(m.Len()))
		if m.Len() == 0 {
			return hash
		}
		if depth > deepest {
			return tooDeep
		}
		// The address of a map's entry must not be taken: entries are copied to variables.
		k := reflect.New(t.Key())
		v := reflect.New(t.Elem())
		var sum uint64
		for entry := m.MapRange(); entry.Next(); {
			k.Elem().SetIterKey(entry)
			v.Elem().SetIterValue(entry)
			h := (*key)(0, k.UnsafePointer(), depth+1)
			h = (*value)(h, v.UnsafePointer(), depth+1)
			if h == tooDeep {
				return tooDeep
			}
			sum += entryOf(h)
		}
		return mixed(hash, sum)
	}
}

// hashAny adds a free value, such as one of state or of a call's arguments.
func hashAny(hash uint64, v any, depth int) uint64 {
	switch v := v.(type) {
	case nil:
		return mixed(hash, 1)
	case bool:
		if v {
			return mixed(hash, 2)
		}
		return mixed(hash, 3)
	case string:
		return hashString(mixed(hash, 4), v)
	case float64:
		return mixed(mixed(hash, 5), math.Float64bits(v))
	case int:
		return mixed(mixed(hash, 6), uint64(v))
	case json.Number:
		return hashString(mixed(hash, 7), string(v))
	case map[string]any:
		return hashObject(mixed(hash, 8), v, depth)
	case []any:
		hash = mixed(mixed(hash, 9), uint64(len(v)))
		if depth > deepest {
			return tooDeep
		}
		for _, x := range v {
			hash = hashAny(hash, x, depth+1)
			if hash == tooDeep {
				return tooDeep
			}
		}
		return hash
	}
	// Any other Go type: the walk of that type looks at a copy of the value.
	t := reflect.TypeOf(v)
	return walkOf(t)(mixed(hash, 10), copyOf(v), depth+1)
}

// copyOf returns the address of a copy of a value.
func copyOf(v any) unsafe.Pointer {
	c := reflect.New(reflect.TypeOf(v))
	c.Elem().Set(reflect.ValueOf(v))
	return c.UnsafePointer()
}

func hashObject(hash uint64, m map[string]any, depth int) uint64 {
	hash = mixed(hash, uint64(len(m)))
	if depth > deepest {
		return tooDeep
	}
	var sum uint64
	for k, v := range m {
		h := hashAny(hashString(0, k), v, depth+1)
		if h == tooDeep {
			return tooDeep
		}
		sum += entryOf(h)
	}
	return mixed(hash, sum)
}

func hashString(hash uint64, s string) uint64 {
	if s == "" {
		return mixed(hash, 0)
	}
	if len(s) < longString {
		return mixed(hash, maphash.String(hashSeed, s))
	}
	const end = 32
	hash = mixed(hash, uint64(len(s)))
	hash = mixed(hash, uint64(uintptr(unsafe.Pointer(unsafe.StringData(s)))))
	hash = mixed(hash, maphash.String(hashSeed, s[:end]))
	return mixed(hash, maphash.String(hashSeed, s[len(s)-end:]))
}

func hashBytes(hash uint64, b []byte) uint64 {
	if len(b) <= wholeBytes {
		return mixed(hash, maphash.Bytes(hashSeed, b))
	}
	hash = mixed(hash, uint64(len(b)))
	hash = mixed(hash, uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))))
	const piece = 1 << 10
	step := (len(b) - piece) / (wholeBytes/piece - 1)
	for from := 0; from+piece <= len(b); from += step {
		hash = mixed(hash, maphash.Bytes(hashSeed, b[from:from+piece]))
	}
	return hash
}

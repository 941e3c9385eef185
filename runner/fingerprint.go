package runner

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

// A fingerprint is a hash over all that an event has and points to. The runner takes one before an
// event is offered and compares it afterwards, so that a hook which changes an event in place is found
// out. Two equal fingerprints mean, for all that anybody will meet, the same event.
//
// Which fields there are is read from the types, once, by reflection: a field that a later version of
// genai adds is part of the fingerprint without a change here.
//
// Of inline data of more than 64 KiB only the length, the place in memory and 64 KiB spread over it
// count: what a hook changes in between stays unseen. So do changes of an event that goes more than 1000
// levels deep: such an event contains itself, and cannot be appended.
type fingerprint uint64

// hashSeed makes the fingerprints of this process unlike those of any other.
var hashSeed = maphash.MakeSeed()

// wholeBytes is how many bytes of inline data are looked at.
const wholeBytes = 64 << 10

// deepest is how deep the walk goes: free values (state, arguments) may contain themselves. Where it is too
// deep, a walk returns tooDeep, and so does every walk around it, at once.
const (
	deepest = 1000
	tooDeep = 0
)

// longString is the length from which a string is not hashed whole: nobody can write into a string, so its
// place in memory, its length and its ends tell it from another one.
const longString = 4 << 10

var eventWalk = walkOf(reflect.TypeFor[session.Event]())

// fingerprintOf returns the fingerprint of an event.
func fingerprintOf(e *session.Event) fingerprint {
	return fingerprint(eventWalk(0, unsafe.Pointer(e), 0))
}

// A walk adds a value of one type, which lies at a place in memory, to a hash.
type walk func(hash uint64, at unsafe.Pointer, depth int) uint64

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

var (
	walks   = map[reflect.Type]*walk{}
	walksMu sync.Mutex
)

// walkOf returns the walk over values of a type.
func walkOf(t reflect.Type) walk {
	walksMu.Lock()
	defer walksMu.Unlock()
	return *compiled(t)
}

// compiled returns the walk of a type, made at the first call. A type that contains itself finds its
// own walk in the map, to be called once it is made. The caller holds walksMu.
func compiled(t reflect.Type) *walk {
	if w := walks[t]; w != nil {
		return w
	}
	w := new(walk)
	walks[t] = w
	*w = compile(t)
	return w
}

func compile(t reflect.Type) walk {
	switch t.Kind() {
	case reflect.Bool, reflect.Int8, reflect.Uint8:
		return func(hash uint64, at unsafe.Pointer, _ int) uint64 { return mixed(hash, uint64(*(*uint8)(at))) }
	case reflect.Int16, reflect.Uint16:
		return func(hash uint64, at unsafe.Pointer, _ int) uint64 { return mixed(hash, uint64(*(*uint16)(at))) }
	case reflect.Int, reflect.Uint, reflect.Uintptr:
		if t.Size() == 4 {
			return func(hash uint64, at unsafe.Pointer, _ int) uint64 { return mixed(hash, uint64(*(*uint32)(at))) }
		}
		return func(hash uint64, at unsafe.Pointer, _ int) uint64 { return mixed(hash, *(*uint64)(at)) }
	case reflect.Int32, reflect.Uint32, reflect.Float32:
		return func(hash uint64, at unsafe.Pointer, _ int) uint64 { return mixed(hash, uint64(*(*uint32)(at))) }
	case reflect.Int64, reflect.Uint64, reflect.Float64:
		return func(hash uint64, at unsafe.Pointer, _ int) uint64 { return mixed(hash, *(*uint64)(at)) }
	case reflect.String:
		return func(hash uint64, at unsafe.Pointer, _ int) uint64 { return hashString(hash, *(*string)(at)) }
	case reflect.Pointer:
		return compilePointer(t)
	case reflect.Struct:
		if t == reflect.TypeFor[time.Time]() {
			break // it is compared as it stands: a time zone is not looked into
		}
		return compileStruct(t)
	case reflect.Slice:
		return compileSlice(t)
	case reflect.Map:
		return compileMap(t)
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return func(hash uint64, at unsafe.Pointer, depth int) uint64 {
				return hashAny(hash, *(*any)(at), depth)
			}
		}
	case reflect.Array:
		element, size, n := compiled(t.Elem()), t.Elem().Size(), t.Len()
		return func(hash uint64, at unsafe.Pointer, depth int) uint64 {
			for i := range n {
				hash = (*element)(hash, unsafe.Add(at, uintptr(i)*size), depth)
				if hash == tooDeep {
					return tooDeep
				}
			}
			return hash
		}
	}
	// A time, a func, a channel or an interface with methods: which one it is counts, and not what it holds.
	words := t.Size() / unsafe.Sizeof(uintptr(0))
	return func(hash uint64, at unsafe.Pointer, _ int) uint64 {
		for i := range words {
			hash = mixed(hash, uint64(*(*uintptr)(unsafe.Add(at, i*unsafe.Sizeof(uintptr(0))))))
		}
		return hash
	}
}

func compilePointer(t reflect.Type) walk {
	element := compiled(t.Elem())
	return func(hash uint64, at unsafe.Pointer, depth int) uint64 {
		p := *(*unsafe.Pointer)(at)
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
			walk:   compiled(f.Type),
			small:  kind == reflect.Pointer || kind == reflect.Map || kind == reflect.Interface,
		})
	}
	return func(hash uint64, at unsafe.Pointer, depth int) uint64 {
		for i := range fields {
			f := &fields[i]
			place := unsafe.Add(at, f.offset)
			if f.small && *(*unsafe.Pointer)(place) == nil {
				continue
			}
			hash = (*f.walk)(mixed(hash, uint64(i)), place, depth)
			if hash == tooDeep {
				return tooDeep
			}
		}
		return hash
	}
}

func compileSlice(t reflect.Type) walk {
	if t.Elem().Kind() == reflect.Uint8 {
		return func(hash uint64, at unsafe.Pointer, _ int) uint64 { return hashBytes(hash, *(*[]byte)(at)) }
	}
	element, size := compiled(t.Elem()), t.Elem().Size()
	return func(hash uint64, at unsafe.Pointer, depth int) uint64 {
		header := (*struct {
			data     unsafe.Pointer
			len, cap int
		})(at)
		hash = mixed(hash, uint64(header.len))
		if depth > deepest {
			return tooDeep
		}
		for i := range header.len {
			hash = (*element)(hash, unsafe.Add(header.data, uintptr(i)*size), depth+1)
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
		return func(hash uint64, at unsafe.Pointer, depth int) uint64 {
			return hashObject(hash, *(*map[string]any)(at), depth)
		}
	}
	key, value := compiled(t.Key()), compiled(t.Elem())
	return func(hash uint64, at unsafe.Pointer, depth int) uint64 {
		m := reflect.NewAt(t, at).Elem()
		hash = mixed(hash, uint64(m.Len()))
		if m.Len() == 0 {
			return hash
		}
		if depth > deepest {
			return tooDeep
		}
		// Entries of a map have no place in memory that may be looked at: they are copied to one.
		k := reflect.New(t.Key())
		v := reflect.New(t.Elem())
		var sum uint64
		for entry := m.MapRange(); entry.Next(); {
			k.Elem().SetIterKey(entry)
			v.Elem().SetIterValue(entry)
			one := (*key)(0, k.UnsafePointer(), depth+1)
			one = (*value)(one, v.UnsafePointer(), depth+1)
			if one == tooDeep {
				return tooDeep
			}
			sum += entryOf(one)
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
	// Any other Go type: a copy of the value lies at a place that the walk of its type can look at.
	t := reflect.TypeOf(v)
	place := reflect.New(t)
	place.Elem().Set(reflect.ValueOf(v))
	return walkOf(t)(mixed(hash, 10), place.UnsafePointer(), depth+1)
}

func hashObject(hash uint64, m map[string]any, depth int) uint64 {
	hash = mixed(hash, uint64(len(m)))
	if depth > deepest {
		return tooDeep
	}
	var sum uint64
	for k, v := range m {
		one := hashAny(hashString(0, k), v, depth+1)
		if one == tooDeep {
			return tooDeep
		}
		sum += entryOf(one)
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
	const end = 256
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
	for at := 0; at+piece <= len(b); at += step {
		hash = mixed(hash, maphash.Bytes(hashSeed, b[at:at+piece]))
	}
	return hash
}

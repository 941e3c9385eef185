package kitstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/nlpodyssey/gopickle/pickle"
	"github.com/nlpodyssey/gopickle/types"
)

// The bounds of one pickle. A real one has some hundred bytes.
const (
	maxPickle  = 16 << 20 // bytes
	maxOpcodes = 500_000
	maxValues  = 200_000 // of what is read, each counted as often as it stands in the result
	maxDepth   = 200
)

// readPickle reads a value that Python has pickled: actions of an event. Nothing in it is executed, and
// no name that it holds is looked up. What comes out is made of nil, bool, int, *big.Int, float64, string,
// []any and map[string]any. Objects of the kit's classes are maps of their attributes; what is neither
// data nor one of these is left out, and said in left.
func readPickle(data []byte) (value any, left []string, err error) {
	if err := checkPickle(data); err != nil {
		return nil, nil, err
	}
	// The library indexes what hostile bytes say. It holds nothing beyond this call.
	defer func() {
		if r := recover(); r != nil {
			value = nil
			err = fmt.Errorf("it is malformed: %v", r)
		}
	}()
	u := pickle.NewUnpickler(bytes.NewReader(data))
	u.FindClass = func(module, name string) (any, error) { return &class{module + "." + name}, nil }
	v, err := u.Load()
	if err != nil {
		return nil, nil, err
	}
	p := plainer{}
	value, err = p.plain(v, 0)
	return value, p.left, err
}

// What follows an opcode in a pickle.
const (
	nothing  = iota + 1
	byte1    // one byte
	byte2    // two bytes
	byte4    // four bytes
	byte8    // eight bytes
	counted1 // a length in one byte, and as many bytes
	counted4 // a length in four bytes, and as many bytes
	counted8 // a length in eight bytes, and as many bytes
)

// opcodes are those that build data: all that the kit's pickles need. Those that name what is to be
// called in a line of text are not among them, nor are persistent ids, extensions and buffers.
var opcodes = [256]byte{
	'(': nothing, '.': nothing, '0': nothing, 'N': nothing, 'J': byte4, 'K': byte1, 'M': byte2,
	'G': byte8, 'X': counted4, 'B': counted4, 'C': counted1, ')': nothing, ']': nothing, '}': nothing,
	'a': nothing, 'e': nothing, 's': nothing, 'u': nothing, 't': nothing, 'R': nothing, 'b': nothing,
	'h': byte1, 'j': byte4, 'q': byte1, 'r': byte4,
	0x80: byte1, 0x81: nothing, 0x85: nothing, 0x86: nothing, 0x87: nothing, 0x88: nothing,
	0x89: nothing, 0x8a: counted1, 0x8c: counted1, 0x8d: counted8, 0x8f: nothing, 0x90: nothing,
	0x93: nothing, 0x94: nothing, 0x95: byte8,
}

// checkPickle walks a pickle without building anything. It is an error unless the pickle has opcodes of
// the table only, every length is that of bytes that are there, and the last byte stops it.
func checkPickle(data []byte) error {
	switch {
	case len(data) == 0:
		return errors.New("it is empty")
	case len(data) > maxPickle:
		return fmt.Errorf("it has %d bytes; %d is the most", len(data), maxPickle)
	}
	rest := data
	take := func(n uint64) ([]byte, error) {
		if n > uint64(len(rest)) {
			return nil, errors.New("it is cut short, or names a length that is not there")
		}
		taken := rest[:n]
		rest = rest[n:]
		return taken, nil
	}
	for n := 0; len(rest) > 0; n++ {
		if n == maxOpcodes {
			return fmt.Errorf("it has more than %d steps", maxOpcodes)
		}
		op := rest[0]
		rest = rest[1:]
		var err error
		switch width := opcodes[op]; width {
		case nothing:
		case byte1, byte2, byte4, byte8:
			var argument []byte
			argument, err = take(1 << (width - byte1))
			if op == 0x95 && err == nil && binary.LittleEndian.Uint64(argument) > uint64(len(rest)) {
				err = errors.New("a frame is longer than what is there")
			}
		case counted1, counted4, counted8:
			var length []byte
			length, err = take(map[byte]uint64{counted1: 1, counted4: 4, counted8: 8}[width])
			if err == nil {
				_, err = take(binary.LittleEndian.Uint64(append(bytes.Clone(length), make([]byte, 8)...)))
			}
		default:
			err = fmt.Errorf("it has the step 0x%02x, which builds no plain data", op)
		}
		if err != nil {
			return err
		}
		if op == '.' {
			if len(rest) > 0 {
				return errors.New("bytes follow its end")
			}
			return nil
		}
	}
	return errors.New("it has no end")
}

// A class stands for a name in a pickle. It is a name and nothing more.
type class struct{ name string }

// known reports whether the class is one of the kit's, whose objects are data.
func (c *class) known() bool {
	for _, prefix := range []string{"google.adk.", "google.genai.types.", "fastapi.openapi.models."} {
		if strings.HasPrefix(c.name, prefix) {
			return true
		}
	}
	return false
}

// PyNew returns an object without attributes.
func (c *class) PyNew(...any) (any, error) { return &object{class: c}, nil }

// Call returns the value of a member of an enum, for a class of the kit's with one text, and an object
// that is left out for everything else. Nothing is called.
func (c *class) Call(args ...any) (any, error) {
	if c.known() && len(args) == 1 {
		if value, ok := args[0].(string); ok {
			return value, nil
		}
	}
	return &object{class: &class{c.name + "(…)"}}, nil
}

// An object is an instance of a class, with the state that the pickle gives it.
type object struct {
	class *class
	state any
}

// PySetState keeps the state.
func (o *object) PySetState(state any) error {
	o.state = state
	return nil
}

// An opaqueError says that a value is no data, and can be left out.
type opaqueError struct{ what string }

func (e *opaqueError) Error() string { return e.what }

func opaque(err error) bool {
	_, is := errors.AsType[*opaqueError](err)
	return is
}

// A plainer turns what the library reads into plain data.
type plainer struct {
	values int
	left   []string
}

// plain returns the plain form of a value. It is an *opaqueError if it has none.
func (p *plainer) plain(v any, depth int) (any, error) {
	if p.values++; p.values > maxValues {
		return nil, fmt.Errorf("it has more than %d values", maxValues)
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("it is nested more than %d deep, or holds itself", maxDepth)
	}
	switch v := v.(type) {
	case nil, bool, int, *big.Int:
		return v, nil
	case string:
		return strings.ToValidUTF8(v, "\ufffd"), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, &opaqueError{fmt.Sprintf("the number %v, which JSON has no form for", v)}
		}
		return v, nil
	case []byte:
		return v, nil // its JSON is base64
	case *types.List:
		return p.list(*v, depth)
	case *types.Tuple:
		return p.list(*v, depth)
	case *types.Set:
		var items []any
		for item := range *v {
			items = append(items, item)
		}
		return p.list(items, depth)
	case *types.Dict:
		return p.dict(v, depth)
	case *object:
		return p.attributes(v, depth)
	}
	return nil, &opaqueError{fmt.Sprintf("a %T, which is no data", v)}
}

// list returns the plain form of a list. What has none is left out.
func (p *plainer) list(items []any, depth int) (any, error) {
	list := []any{}
	for _, item := range items {
		value, err := p.plain(item, depth+1)
		switch {
		case opaque(err):
			p.left = append(p.left, fmt.Sprintf("an item of a list: %v", err))
		case err != nil:
			return nil, err
		default:
			list = append(list, value)
		}
	}
	return list, nil
}

// dict returns the plain form of a dict, whose keys become texts. What has none is left out. State keys
// that begin with "temp:" are no part of a log, so that nothing is said of them.
func (p *plainer) dict(d *types.Dict, depth int) (any, error) {
	m := map[string]any{}
	for _, entry := range *d {
		key, ok := entry.Key.(string)
		if n, number := entry.Key.(int); number {
			key = strconv.Itoa(n)
			ok = true
		}
		if !ok {
			p.left = append(p.left, "an entry whose key is no text")
			continue
		}
		key = strings.ToValidUTF8(key, "\ufffd")
		if strings.HasPrefix(key, "temp:") {
			continue
		}
		value, err := p.plain(entry.Value, depth+1)
		switch {
		case opaque(err):
			p.left = append(p.left, fmt.Sprintf("%q: %v", key, err))
		case err != nil:
			return nil, err
		default:
			m[key] = value
		}
	}
	return m, nil
}

// attributes returns the attributes of an object of the kit's that are set.
func (p *plainer) attributes(o *object, depth int) (any, error) {
	if !o.class.known() {
		return nil, &opaqueError{"an object of " + o.class.name + ", a class that is not the kit's"}
	}
	state, ok := o.state.(*types.Dict)
	if !ok {
		return map[string]any{}, nil
	}
	all, found := state.Get("__dict__")
	inner, ok := all.(*types.Dict)
	if !found || !ok {
		return map[string]any{}, nil
	}
	v, err := p.dict(inner, depth)
	if err != nil {
		return nil, err
	}
	m := v.(map[string]any)
	for name, value := range m {
		if value == nil {
			delete(m, name)
			continue
		}
		// Python puts an underscore after a name that it reserves.
		if plain := strings.TrimSuffix(name, "_"); plain != name {
			delete(m, name)
			m[plain] = value
		}
	}
	return m, nil
}

package message

import (
	"bytes"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/plughook/plughook/plugin/remote/wire"
)

// ErrTooLarge says that a message has too many bytes, or too many fields or JSON values.
var ErrTooLarge = errors.New("remote: too large")

const (
	// MaxValues is how many fields one message from a plugin may have, and how many JSON values a
	// schema, or all events, contents and the configuration in one answer. To decode a value
	// costs up to 2 µs and 1.5 KB, whatever it is, so a limit on bytes alone would bound neither
	// the time nor the memory of the host.
	MaxValues = 100_000
	// PerEvent is how many values an event or a content counts for, besides those that are in it.
	PerEvent = 10
)

// Unmarshal decodes a message. The fields of a message from a plugin are counted before: too many
// are an ErrTooLarge. In place of an answer with too many fields, m becomes the failure that says
// so.
func Unmarshal(data []byte, m proto.Message) error {
	if len(data) <= MaxValues { // a field has a byte at least
		return proto.Unmarshal(data, m)
	}
	switch m := m.(type) {
	case *wire.PluginMessage:
		n := fields(data, m.ProtoReflect().Descriptor())
		if n > MaxValues {
			err := fmt.Errorf("%w: a message of the plugin has more than %d fields", ErrTooLarge, MaxValues)
			proto.Reset(m)
			proto.Merge(m, Failure(lastSeq(data), err))
			return nil
		}
	case *wire.Description, *wire.Subscription:
		n := fields(data, m.ProtoReflect().Descriptor())
		if n > MaxValues {
			return fmt.Errorf("%w: %s has more than %d fields", ErrTooLarge, m.ProtoReflect().Descriptor().Name(), MaxValues)
		}
	}
	return proto.Unmarshal(data, m)
}

// fields returns an upper bound of how many fields an encoded message has, with all messages in
// it. Beyond MaxValues it stops counting. It stops too at what is no message: who decodes that
// gets an error.
func fields(data []byte, of protoreflect.MessageDescriptor) (n int) {
	for len(data) > 0 && n <= MaxValues {
		number, kind, length := protowire.ConsumeField(data)
		if length < 0 {
			return n
		}
		n++
		field := of.Fields().ByNumber(number)
		if kind == protowire.BytesType && field != nil {
			_, _, tag := protowire.ConsumeTag(data)
			value, _ := protowire.ConsumeBytes(data[tag:])
			switch {
			case field.Message() != nil:
				n += fields(value, field.Message())
			case field.IsPacked():
				n += len(value)
			}
		}
		data = data[length:]
	}
	return n
}

// lastSeq returns the seq of an encoded message from a plugin.
func lastSeq(data []byte) (seq uint64) {
	for len(data) > 0 {
		number, kind, length := protowire.ConsumeField(data)
		if length < 0 {
			return seq
		}
		if number == 1 && kind == protowire.VarintType {
			_, _, tag := protowire.ConsumeTag(data)
			seq, _ = protowire.ConsumeVarint(data[tag:])
		}
		data = data[length:]
	}
	return seq
}

// Values returns an upper bound of how many values a JSON text has: one for each opening bracket,
// one for each comma, and one more.
func Values(data []byte) int {
	objects, others := countValues(data)
	return 1 + objects + others
}

// Weight returns about how many bytes of memory a JSON text takes once it is decoded. It is an
// estimate, and mostly too high: an object costs as much as a map with one key, any other value
// as much as a number.
func Weight(data []byte) int {
	const (
		perObject = 300
		perValue  = 40
	)
	objects, others := countValues(data)
	return len(data) + perObject*objects + perValue*(1+others)
}

// countValues counts the objects that begin in a JSON text, and the lists and commas in it.
func countValues(data []byte) (objects, others int) {
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{':
			objects++
		case '[', ',':
			others++
		case '"':
			length := stringLength(data[i:])
			if length < 0 {
				return objects, others
			}
			i += length - 1
		}
	}
	return objects, others
}

// stringLength returns the length of the string with which a JSON text begins, -1 if the string
// does not end.
func stringLength(data []byte) int {
	for i := 1; ; {
		j := bytes.IndexByte(data[i:], '"')
		if j < 0 {
			return -1
		}
		slashes := 0
		for slashes < j && data[i+j-1-slashes] == '\\' {
			slashes++
		}
		i += j + 1
		if slashes%2 == 0 {
			return i
		}
	}
}

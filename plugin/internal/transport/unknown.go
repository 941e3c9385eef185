package transport

import "google.golang.org/protobuf/proto"

// AddUnknown adds a field that no version of the protocol knows, lest a plugin rely on there
// being none.
func AddUnknown(m proto.Message) {
	m.ProtoReflect().SetUnknown([]byte{0xf8, 0xff, 0x7, 0x1}) // field 16383, varint 1
}

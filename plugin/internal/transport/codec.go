package transport

import (
	"fmt"
	"math/bits"
	"sync"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/remote/wire"
)

// apart is from how many bytes on an event is not copied into its message.
const apart = 4 << 10

// encodeMessage appends a message to data. If the message has a large event, which is encoded
// already, the event is not copied: it is the end of the message, and is returned apart.
func encodeMessage(data []byte, m proto.Message) (head, event []byte, err error) {
	event = largeEvent(m)
	if event == nil {
		head, err = proto.MarshalOptions{}.MarshalAppend(data, m)
		return head, nil, err
	}
	host := m.(*wire.HostMessage)
	call := host.GetCall()
	w := &wire.Call{
		Hook:        call.Hook,
		Remaining:   call.Remaining,
		Traceparent: call.Traceparent,
		Invocation:  call.Invocation,
		Request:     call.Request,
		End:         call.End,
	}
	rest, err := proto.Marshal(w)
	if err != nil {
		return nil, nil, err
	}
	rest = protowire.AppendTag(rest, 5, protowire.BytesType) // Call.event
	rest = protowire.AppendVarint(rest, uint64(len(event)))
	data = append(data, m.ProtoReflect().GetUnknown()...)
	data = protowire.AppendTag(data, 1, protowire.VarintType) // HostMessage.seq
	data = protowire.AppendVarint(data, host.Seq)
	data = protowire.AppendTag(data, 2, protowire.BytesType) // HostMessage.call
	data = protowire.AppendVarint(data, uint64(len(rest)+len(event)))
	return append(data, rest...), event, nil
}

// largeEvent returns the event of a message that is encoded apart, nil if there is none.
func largeEvent(m proto.Message) []byte {
	host, _ := m.(*wire.HostMessage)
	event := host.GetCall().GetEvent()
	if len(event) >= apart {
		return event
	}
	return nil
}

// codec is gRPC's own codec, made cheaper for large messages: the event is not copied, and no
// buffer is much larger than its message.
type codec struct{}

// Name implements encoding.CodecV2.
func (codec) Name() string { return "proto" }

// Marshal implements encoding.CodecV2.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("remote: %T is no message", v)
	}
	head, event, err := encodeMessage(nil, m)
	if err != nil || event == nil {
		return mem.BufferSlice{mem.SliceBuffer(head)}, err
	}
	return mem.BufferSlice{mem.SliceBuffer(head), mem.SliceBuffer(event)}, nil
}

// Unmarshal implements encoding.CodecV2.
func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return fmt.Errorf("remote: %T is no message", v)
	}
	whole := data.MaterializeToBuffer(&buffers)
	defer whole.Free()
	return message.Unmarshal(whole.ReadOnlyData(), m)
}

const (
	smallest = 10 // powers of two
	largest  = 20
)

// bufferPool has buffers for messages, each at most twice as large as asked for. They are not
// cleared.
type bufferPool [largest - smallest + 1]sync.Pool

var buffers bufferPool

// Get implements mem.BufferPool.
func (p *bufferPool) Get(length int) *[]byte {
	size := max(bits.Len(uint(max(length, 1)-1)), smallest)
	if size > largest {
		b := make([]byte, length)
		return &b
	}
	if b, ok := p[size-smallest].Get().(*[]byte); ok {
		*b = (*b)[:length]
		return b
	}
	b := make([]byte, length, 1<<size)
	return &b
}

// Put implements mem.BufferPool.
func (p *bufferPool) Put(b *[]byte) {
	size := bits.Len(uint(cap(*b))) - 1
	if size >= smallest && size <= largest {
		p[size-smallest].Put(b)
	}
}

package plugin

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/cmd/runner/internal/clitest"
	"github.com/plughook/plughook/plugin/remote/wire"
)

// messages are those that the library for Node.js reads and writes, by their number in
// testdata/node/roundtrip.mjs.
var messages = []proto.Message{
	&wire.HostMessage{},
	&wire.PluginMessage{},
	&wire.Configuration{},
	&wire.Subscription{},
	&wire.Description{},
}

// The library for Node.js reads and writes every field of every message as Go does, and skips those
// that it does not know.
func TestNodeWire(t *testing.T) {
	clitest.NeedNode(t)
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(dir, "plughook"), os.DirFS(nodeLibrary)))
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/node")))
	node := exec.Command("node", filepath.Join(dir, "roundtrip.mjs"))
	var stderr bytes.Buffer
	node.Stderr = &stderr
	in, err := node.StdinPipe()
	require.NoError(t, err)
	out, err := node.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, node.Start())
	rapid.Check(t, func(r *rapid.T) {
		kind := rapid.IntRange(0, len(messages)-1).Draw(r, "kind")
		m := messages[kind].ProtoReflect().New()
		draw(r, m, 0)
		want := proto.Clone(m.Interface())
		m.SetUnknown(protowire.AppendBytes(protowire.AppendTag(nil, 16383, protowire.BytesType),
			[]byte("unknown")))
		data, err := proto.Marshal(m.Interface())
		require.NoError(r, err)
		_, err = in.Write(
			append(binary.BigEndian.AppendUint32([]byte{byte(kind)}, uint32(len(data))), data...))
		require.NoError(r, err)
		var length [4]byte
		_, err = io.ReadFull(out, length[:])
		require.NoError(r, err, "node has ended: %s", &stderr)
		data = make([]byte, binary.BigEndian.Uint32(length[:]))
		_, err = io.ReadFull(out, data)
		require.NoError(r, err)
		got := want.ProtoReflect().New().Interface()
		require.NoError(r, proto.Unmarshal(data, got))
		require.True(r, proto.Equal(want, got), "sent %v\ngot  %v", want, got)
	})
	require.NoError(t, in.Close())
	require.NoError(t, node.Wait(), "%s", &stderr)
}

// What a plugin for Node.js did not change of an event is as it was, to the byte.
func TestNodeRewrite(t *testing.T) {
	clitest.NeedNode(t)
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(dir, "plughook"), os.DirFS(nodeLibrary)))
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/node")))
	out, err := exec.Command("node", filepath.Join(dir, "rewrite.mjs")).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// draw fills a message. Numbers are such as come up: positions and counts, none below zero or
// beyond 2^53.
func draw(r *rapid.T, m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if !rapid.Bool().Draw(r, "has") || depth > 4 {
			continue
		}
		if !f.IsList() {
			m.Set(f, drawValue(r, m.NewField(f), f, depth))
			continue
		}
		list := m.NewField(f).List()
		for range rapid.IntRange(1, 3).Draw(r, "n") {
			list.Append(drawValue(r, list.NewElement(), f, depth))
		}
		m.Set(f, protoreflect.ValueOfList(list))
	}
}

func drawValue(
	r *rapid.T,
	zero protoreflect.Value,
	f protoreflect.FieldDescriptor,
	depth int,
) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.MessageKind:
		draw(r, zero.Message(), depth+1)
		return zero
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(rapid.String().Draw(r, "string"))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(r, "bytes"))
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(rapid.Bool().Draw(r, "bool"))
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(
			protoreflect.EnumNumber(rapid.IntRange(0, 4).Draw(r, "enum")))
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(rapid.Int32Range(0, 1<<31-1).Draw(r, "int32"))
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(rapid.Uint32().Draw(r, "uint32"))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(rapid.Int64Range(0, 1<<53-1).Draw(r, "int64"))
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(rapid.Uint64Range(0, 1<<53-1).Draw(r, "uint64"))
	default:
		r.Fatalf("field %s is a %s, which this test does not draw", f.FullName(), f.Kind())
		return zero
	}
}

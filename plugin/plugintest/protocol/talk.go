//go:build unix

package protocol

import (
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/plughook/plughook/plugin/internal/caller"
	"github.com/plughook/plughook/plugin/internal/transport"
	"github.com/plughook/plughook/plugin/remote/wire"
)

// encodeCall encodes a call as a host does: without what was sent before.
func encodeCall(x *caller.Sent, m moment) (*wire.Call, error) {
	call, err := caller.NewCall(m.Args)
	if err != nil {
		return nil, err
	}
	call.Remaining = durationpb.New(answerLimit)
	return call, x.Complete(call, m.inv, m.Args)
}

// talk has a conversation, and returns what was answered, without what may differ from one time
// to the other. each may change a call before it is sent; anew has everything sent with each
// call.
func (s *probe) talk(ctx context.Context, all []moment, anew bool, each func(*wire.Call) *wire.Call) (answers []string, err error) {
	var sent caller.Sent
	for _, m := range all {
		if anew {
			sent = caller.Sent{}
		}
		answer, err := s.tell(ctx, &sent, m, each)
		if err != nil {
			return nil, err
		}
		answers = append(answers, fmt.Sprintf("%s %s", m.Hook, stableText(answer)))
	}
	return answers, s.answeredOnce(ctx)
}

// tell makes one call of a conversation, and returns the answer.
func (s *probe) tell(ctx context.Context, sent *caller.Sent, m moment, each func(*wire.Call) *wire.Call) (*wire.PluginMessage, error) {
	w, err := encodeCall(sent, m)
	if err != nil {
		return nil, err
	}
	if each != nil {
		w = each(w)
	}
	if m.Request != nil {
		m.Request = m.Request.Clone() // an answer changes it
	}
	return s.ask(ctx, w, m.Args)
}

// stableText returns an answer as a text, without what may differ from one time to the next: IDs
// and times.
func stableText(m *wire.PluginMessage) string {
	o := m.GetOutcome()
	if o == nil {
		return "failure: " + m.GetFailure().GetError().GetMessage()
	}
	o = proto.CloneOf(o)
	events := append([][]byte{o.Replace}, o.Emit...)
	for i, data := range events {
		var e map[string]any
		if json.Unmarshal(data, &e) == nil {
			delete(e, "id")
			delete(e, "timestamp")
			events[i], _ = json.Marshal(e)
		}
	}
	return fmt.Sprintf("%s withhold %t stop %t reason %q request %s", events, o.Withhold, o.Stop, o.Reason, o.Request)
}

// addUnknownBelow adds an unknown field to a message and to those in it.
func addUnknownBelow(m protoreflect.Message) {
	transport.AddUnknown(m.Interface())
	m.Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case field.Message() == nil || field.IsMap():
		case field.IsList():
			for i := range v.List().Len() {
				addUnknownBelow(v.List().Get(i).Message())
			}
		default:
			addUnknownBelow(v.Message())
		}
		return true
	})
}

package caller

import (
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

// NewCall encodes the part of a call that does not depend on earlier calls: the hook, the event
// and the end. Sent.Complete adds the rest.
func NewCall(a plugin.Args) (*wire.Call, error) {
	call := &wire.Call{Hook: message.WireHook[a.Hook]}
	if a.Event != nil {
		data, err := message.EncodeEvent(a.Event)
		if err != nil {
			return nil, err
		}
		call.Event = data
	}
	if a.Hook == plugin.AfterRun {
		call.End = &wire.End{Kind: string(a.End.Kind), Plugin: a.End.Plugin, Reason: a.End.Reason}
		if a.End.Err != nil {
			call.End.Error = message.EncodeError(a.End.Err)
		}
	}
	return call, nil
}

// Complete adds the invocation and the model request to a call, and leaves out what earlier calls have sent. It
// counts what is in this call as sent: if the call is not sent after all, drop the session.
func (x *Sent) Complete(call *wire.Call, inv *session.Invocation, a plugin.Args) error {
	w, err := x.invocation(inv)
	if err != nil {
		return err
	}
	call.Invocation = w
	s := x.session(inv.Key)
	if a.Event != nil && !a.Event.Partial && a.Event.ID != "" {
		s.offer(a.Event, call.Event)
	}
	if a.Request != nil {
		call.Request, err = s.request(a.Request)
		if err != nil {
			return err
		}
	}
	if a.Hook == plugin.AfterRun {
		s.dropOffered()
	}
	x.count(s)
	return nil
}

package remote

import (
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

// newCall encodes the part of a call that does not depend on earlier calls. sent.complete adds the rest.
func newCall(a args) (*wire.Call, error) {
	call := &wire.Call{Hook: wireHook[a.hook]}
	if a.event != nil {
		data, err := events.encode(a.event)
		if err != nil {
			return nil, err
		}
		call.Event = data
	}
	if a.hook == plugin.AfterRun {
		call.End = &wire.End{Kind: string(a.end.Kind), Plugin: a.end.Plugin, Reason: a.end.Reason}
		if a.end.Err != nil {
			call.End.Error = encodeError(a.end.Err)
		}
	}
	return call, nil
}

// complete adds the invocation and the model request to a call, without what the plugin has. It notes what the plugin
// has once it has this call too. If the call is not sent then, the caller drops the session.
func (x *sent) complete(call *wire.Call, inv *session.Invocation, a args) error {
	w, err := x.invocation(inv)
	if err != nil {
		return err
	}
	call.Invocation = w
	s := x.session(inv.Key)
	if a.event != nil && !a.event.Partial && a.event.ID != "" {
		s.offered[a.event.ID] = offered{event: a.event, size: len(call.Event)}
	}
	if a.request != nil {
		call.Request, err = encodeRequest(a.request, s.kept(a.request.Contents))
		if err != nil {
			return err
		}
	}
	if a.hook == plugin.AfterRun {
		clear(s.offered)
	}
	return nil
}

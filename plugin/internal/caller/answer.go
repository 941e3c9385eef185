package caller

import (
	"errors"
	"fmt"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/remote/wire"
)

// decodeAnswer returns what a hook has answered, and the request that it has made of the one at hand, nil if it has
// changed nothing. What it says has no secrets. That it lets something pass unchecked is not the plugin's to say: it has
// failed then.
func DecodeAnswer(m *wire.PluginMessage, a message.Args, secret message.Secrets) (out plugin.Outcome, request *model.Request, err error) {
	bad := func(err error) (plugin.Outcome, *model.Request, error) {
		return plugin.Outcome{}, nil, secret.Error(fmt.Errorf("%w: %w", plugin.ErrOutcome, err))
	}
	if f := m.GetFailure(); f != nil {
		if f.Stack != "" {
			return out, nil, &plugin.PanicError{Value: secret.Text(f.GetError().GetMessage()), Stack: []byte(secret.Text(f.Stack))}
		}
		return out, nil, message.DecodeError(f.Error, secret)
	}
	o := m.GetOutcome()
	switch {
	case o == nil:
		return bad(fmt.Errorf("the plugin answered with %T", m.Message))
	case o.Unchecked != "":
		return out, nil, errors.New(secret.Text(o.Unchecked))
	case o.Request != nil && a.Request == nil:
		return bad(errors.New("a request is BeforeModel's"))
	}
	if err := checkValues(o, a); err != nil {
		return out, nil, err
	}
	out = plugin.Outcome{Withhold: o.Withhold, Stop: o.Stop, Reason: secret.Replace(o.Reason)}
	if len(o.Replace) > 0 {
		if out.Replace, err = message.DecodeEvent(o.Replace); err != nil {
			return bad(err)
		}
	}
	if out.Emit, err = message.DecodeEvents(o.Emit); err != nil {
		return bad(err)
	}
	if o.Request == nil {
		return out, nil, nil
	}
	if request, err = message.DecodeRequest(o.Request, a.Request.Contents); err != nil {
		return bad(err)
	}
	if request.Config == nil {
		request.Config = a.Request.Config
	}
	request.Agent, request.Branch = a.Request.Agent, a.Request.Branch
	return out, request, nil
}

// checkValues returns ErrTooLarge if what an outcome has in JSON is more than what is decoded. An answer to an event may
// have as many values as that one, and maxValues besides.
func checkValues(o *wire.Outcome, a message.Args) error {
	all := append([][]byte{o.Replace}, o.Emit...)
	if r := o.Request; r != nil {
		all = append(append(all, r.Config), r.Contents...)
	}
	size := 0
	for _, data := range all {
		size += message.PerEvent + len(data)
	}
	if size <= message.MaxValues { // a value has a byte at least
		return nil
	}
	n, most := 0, message.MaxValues
	for _, data := range all {
		n += message.PerEvent + message.Values(data)
	}
	if n > most && a.Event != nil {
		if data, err := message.EncodeEvent(a.Event); err == nil {
			most += message.Values(data)
		}
	}
	if n > most {
		return fmt.Errorf("%w: the answer counts for %d JSON values (each bracket and comma for one, each event and content for %d); %d is the most", message.ErrTooLarge, n, message.PerEvent, most)
	}
	return nil
}

package remote

import (
	"errors"
	"fmt"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote/wire"
)

// decodeAnswer returns what a hook has answered, and the request that it has made of the one at hand, nil if it has
// changed nothing. What it says has no secrets. That it lets something pass unchecked is not the plugin's to say: it has
// failed then.
func decodeAnswer(m *wire.PluginMessage, a args, secret Secrets) (out plugin.Outcome, request *model.Request, err error) {
	bad := func(err error) (plugin.Outcome, *model.Request, error) {
		return plugin.Outcome{}, nil, secret.Error(fmt.Errorf("%w: %w", plugin.ErrOutcome, err))
	}
	if f := m.GetFailure(); f != nil {
		if f.Stack != "" {
			return out, nil, &plugin.PanicError{Value: secret.Text(f.GetError().GetMessage()), Stack: []byte(secret.Text(f.Stack))}
		}
		return out, nil, decodeError(f.Error, secret)
	}
	o := m.GetOutcome()
	switch {
	case o == nil:
		return bad(fmt.Errorf("the plugin answered with %T", m.Message))
	case o.Unchecked != "":
		return out, nil, errors.New(secret.Text(o.Unchecked))
	case o.Request != nil && a.request == nil:
		return bad(errors.New("a request is BeforeModel's"))
	}
	if err := checkValues(o, a); err != nil {
		return out, nil, err
	}
	out = plugin.Outcome{Withhold: o.Withhold, Stop: o.Stop, Reason: secret.Replace(o.Reason)}
	if len(o.Replace) > 0 {
		if out.Replace, err = decodeEvent(o.Replace); err != nil {
			return bad(err)
		}
	}
	if out.Emit, err = decodeEvents(o.Emit); err != nil {
		return bad(err)
	}
	if o.Request == nil {
		return out, nil, nil
	}
	if request, err = decodeRequest(o.Request, a.request.Contents); err != nil {
		return bad(err)
	}
	if request.Config == nil {
		request.Config = a.request.Config
	}
	request.Agent, request.Branch = a.request.Agent, a.request.Branch
	return out, request, nil
}

// checkValues returns ErrTooLarge if what an outcome has in JSON is more than what is decoded. An answer to an event may
// have as many values as that one, and maxValues besides.
func checkValues(o *wire.Outcome, a args) error {
	all := append([][]byte{o.Replace}, o.Emit...)
	if r := o.Request; r != nil {
		all = append(append(all, r.Config), r.Contents...)
	}
	size := 0
	for _, data := range all {
		size += perEvent + len(data)
	}
	if size <= maxValues { // a value has a byte at least
		return nil
	}
	n, most := 0, maxValues
	for _, data := range all {
		n += perEvent + values(data)
	}
	if n > most && a.event != nil {
		if data, err := events.encode(a.event); err == nil {
			most += values(data)
		}
	}
	if n > most {
		return fmt.Errorf("%w: the answer counts for %d JSON values (each bracket and comma for one, each event and content for %d); %d is the most", ErrTooLarge, n, perEvent, most)
	}
	return nil
}

package caller

import (
	"errors"
	"fmt"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/remote/wire"
)

// DecodeAnswer returns what a hook has answered. If the hook has changed the model request, it
// returns the changed one too. Secrets are replaced in texts that people read. If the plugin sets
// Unchecked, which only the host may set, the hook has failed.
func DecodeAnswer(m *wire.PluginMessage, a plugin.Args, secret message.Secrets) (out plugin.Outcome, request *model.Request, err error) {
	bad := func(err error) (plugin.Outcome, *model.Request, error) {
		return plugin.Outcome{}, nil, secret.Error(fmt.Errorf("%w: %w", plugin.ErrOutcome, err))
	}
	if f := m.GetFailure(); f != nil {
		if f.Stack != "" {
			return out, nil, &plugin.PanicError{
				Value: secret.Text(f.GetError().GetMessage()),
				Stack: []byte(secret.Text(f.Stack)),
			}
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
		return bad(errors.New("only BeforeModel may change a request"))
	}
	if err := checkValues(o, a); err != nil {
		return out, nil, err
	}
	out = plugin.Outcome{
		Withhold: o.Withhold,
		Stop:     o.Stop,
		Reason:   secret.Text(o.Reason),
	}
	if len(o.Replace) > 0 {
		out.Replace, err = message.DecodeEvent(o.Replace)
		if err != nil {
			return bad(err)
		}
	}
	out.Emit, err = message.DecodeEvents(o.Emit)
	if err != nil {
		return bad(err)
	}
	if o.Request == nil {
		return out, nil, nil
	}
	request, err = message.DecodeRequest(o.Request, a.Request.Contents)
	if err != nil {
		return bad(err)
	}
	if request.Config == nil {
		request.Config = a.Request.Config
	}
	request.Agent = a.Request.Agent
	request.Branch = a.Request.Branch
	return out, request, nil
}

// checkValues returns ErrTooLarge if an outcome has too many JSON values to be decoded. An answer
// to an event may have as many values as that event, and MaxValues besides.
func checkValues(o *wire.Outcome, a plugin.Args) error {
	all := append([][]byte{o.Replace}, o.Emit...)
	if r := o.Request; r != nil {
		all = append(all, r.Config)
		all = append(all, r.Contents...)
	}

	// A value has a byte at least. Most answers are so small that nothing has to be counted.
	size := 0
	for _, data := range all {
		size += message.PerEvent + len(data)
	}
	if size <= message.MaxValues {
		return nil
	}

	n := 0
	for _, data := range all {
		n += message.PerEvent + message.Values(data)
	}
	limit := message.MaxValues
	if n > limit && a.Event != nil {
		data, err := message.EncodeEvent(a.Event)
		if err == nil {
			limit += message.Values(data)
		}
	}
	if n > limit {
		return fmt.Errorf("%w: the answer counts for %d JSON values; at most %d are allowed (each bracket and comma counts for one, each event and content for %d)",
			message.ErrTooLarge, n, limit, message.PerEvent)
	}
	return nil
}

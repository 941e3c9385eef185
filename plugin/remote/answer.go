package remote

import (
	"errors"
	"fmt"
	"strings"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/remote/wire"
)

// decodeAnswer returns what a hook has answered, and the request that it has made of the one at hand, nil if it has
// changed nothing. What it says has no secrets. That it lets something pass unchecked is not the plugin's to say: it has
// failed then.
func decodeAnswer(m *wire.PluginMessage, a args, secret *strings.Replacer) (out plugin.Outcome, request *model.Request, err error) {
	bad := func(err error) (plugin.Outcome, *model.Request, error) {
		return plugin.Outcome{}, nil, scrubbed(secret, fmt.Errorf("%w: %w", plugin.ErrOutcome, err))
	}
	if f := m.GetFailure(); f != nil {
		if f.Stack != "" {
			return out, nil, &plugin.PanicError{Value: plainText(secret, f.GetError().GetMessage()), Stack: []byte(plainText(secret, f.Stack))}
		}
		return out, nil, decodeError(f.Error, secret)
	}
	o := m.GetOutcome()
	switch {
	case o == nil:
		return bad(fmt.Errorf("the plugin answered with %T", m.Message))
	case o.Unchecked != "":
		return out, nil, errors.New(plainText(secret, o.Unchecked))
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

// plainText returns a text that a plugin says to people, without secrets, and its beginning only if it is long.
func plainText(secret *strings.Replacer, text string) string {
	text = secret.Replace(text)
	if len(text) > maxLine {
		text = strings.ToValidUTF8(text[:maxLine], "") + "…"
	}
	return text
}

// scrubbed returns an error in whose text a plugin may have had a say, with a text without secrets.
func scrubbed(secret *strings.Replacer, err error) error {
	text := err.Error()
	if clean := plainText(secret, text); clean != text {
		return &scrubbedError{clean, err}
	}
	return err
}

type scrubbedError struct {
	text string
	err  error
}

func (e *scrubbedError) Error() string { return e.text }

func (e *scrubbedError) Unwrap() error { return e.err }

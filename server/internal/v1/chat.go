package v1

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plughook/plughook/server/internal/web"
)

var chatHandlers = handlers{"chat": (*routes).chat}

// chat is the simplest route: a message, and the session that it belongs to, which is made if it is not
// there. The answer is a stream. The field that names the session has the name that the server was given.
func (x *routes) chat(w http.ResponseWriter, r *request) (answer any, err error) {
	if r.app, err = x.App(r.Request, cmp.Or(x.options.ChatApp, x.Apps[0].Name)); err != nil {
		return nil, err
	}
	field := cmp.Or(x.options.ChatField, "session")
	fields := map[string]jsontext.Value{}
	if err := x.Decode(w, r.Request, &fields); err != nil {
		return nil, err
	}
	named := fields[field]
	delete(fields, field)
	rest, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	var body runBody
	var wrong *json.SemanticError
	err = json.Unmarshal(rest, &body, json.RejectUnknownMembers(true))
	if errors.As(err, &wrong) {
		return nil, web.Bad(fmt.Sprintf("the body at %s: %s; it has message, %s, and the keys of a run",
			wrong.JSONPointer, web.Wrong(wrong), field))
	}
	if err != nil {
		return nil, err
	}
	var id string
	if err := json.Unmarshal(named, &id); err != nil || id == "" {
		return nil, web.Bad(field + " is missing: a text that names the session")
	}
	if body.Message == "" && body.Content == nil {
		return nil, web.Bad("message is missing: the text to answer")
	}
	if r.key, err = x.Key(r.Request, r.app, r.query.Get("user"), id, false); err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "text/event-stream")
	return x.run(w, r, &body)
}

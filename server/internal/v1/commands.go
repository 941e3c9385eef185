package v1

import (
	"net/http"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/server/internal/web"
)

// commandHandlers carry out what a plugin does on request. The arguments are those of plugin.Action.
var commandHandlers = handlers{
	"rewind":  with((*routes).rewind),
	"undo":    with((*routes).undo),
	"compact": with((*routes).compact),
}

// commandBody is what the body of each command may have.
type commandBody struct {
	ID     string `json:"id"` // with the same one, the command is carried out once
	DryRun bool   `json:"dryRun"`
}

type rewindBody struct {
	commandBody
	To     *int64 `json:"to"`
	Before string `json:"before"`
	Turns  int    `json:"turns"`
}

// rewind takes back the end of a session, or says what that would do.
func (x *routes) rewind(w http.ResponseWriter, r *request, body *rewindBody) (any, error) {
	args := map[string]any{}
	if body.To != nil {
		args["to"] = float64(*body.To)
	}
	if body.Before != "" {
		args["before"] = body.Before
	}
	if body.Turns > 0 {
		args["turns"] = float64(body.Turns)
	}
	if len(args) != 1 {
		return nil, web.Bad("how far back? Send one of to (a position), before (an invocation) and turns " +
			"(a number above 0)")
	}
	return x.command(w, r, plugin.Rewind, args, body.commandBody)
}

// undo takes back the last rewind.
func (x *routes) undo(w http.ResponseWriter, r *request, body *commandBody) (any, error) {
	return x.command(w, r, plugin.Rewind, map[string]any{"undo": true}, *body)
}

type compactBody struct {
	commandBody
	Instructions string `json:"instructions"`
}

// compact makes a summary stand in for the older part of a session, or says what that would do.
func (x *routes) compact(w http.ResponseWriter, r *request, body *compactBody) (any, error) {
	args := map[string]any{}
	if body.Instructions != "" {
		args["instructions"] = body.Instructions
	}
	return x.command(w, r, plugin.Compact, args, body.commandBody)
}

// command carries out a command, and answers with the events that came of it; or with what it would do.
func (x *routes) command(
	w http.ResponseWriter, r *request, action plugin.Action, args map[string]any, body commandBody,
) (any, error) {
	if body.DryRun {
		plan, err := x.DryRun(r.Context(), r.app, r.key, action, args)
		return map[string]any{"plan": plan}, err
	}
	run, err := x.Command(r.Context(), r.app, r.key, action, args, body.ID)
	if err != nil {
		return nil, err
	}
	return nil, x.eventsOf(w, r, run)
}

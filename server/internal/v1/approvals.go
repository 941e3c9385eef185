package v1

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"

	"github.com/plughook/plughook/server/internal/apps"
	"github.com/plughook/plughook/server/internal/sessions"
	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// approvalHandlers are for those who answer by a role, and not as a session's user.
var approvalHandlers = handlers{
	"approvals": (*routes).approvals,
	"decide":    with((*routes).decideForOther),
}

// maxApprovals is how many calls are listed.
const maxApprovals = 100

// approvals lists the calls of all sessions that wait for a role of the caller.
func (x *routes) approvals(_ http.ResponseWriter, r *request) (any, error) {
	served := x.Reachable(r.Request)
	if name := r.query.Get("app"); name != "" {
		app, err := x.App(r.Request, name)
		if err != nil {
			return nil, err
		}
		served = []*apps.App{app}
	}
	limit := maxApprovals
	if text := r.query.Get("limit"); text != "" {
		limit, _ = strconv.Atoi(text) // the document has it as a number
	}
	list := []sessions.Approval{}
	for _, app := range served {
		some, err := x.Approvals(r.Context(), app, limit)
		if err != nil {
			return nil, err
		}
		list = append(list, some...)
	}
	slices.SortStableFunc(list, func(a, b sessions.Approval) int { return b.Updated.Compare(a.Updated) })
	return map[string]any{"approvals": list[:min(len(list), limit)]}, nil
}

// approvalBody is a yes or no by a role.
type approvalBody struct {
	ID      string   `json:"id"`
	App     string   `json:"app"`
	User    string   `json:"user"`
	Session string   `json:"session"`
	Calls   []string `json:"calls"`
	Approve *bool    `json:"approve"`
	Reason  string   `json:"reason"`
}

// decideForOther says yes or no to calls of a session of anybody.
func (x *routes) decideForOther(_ http.ResponseWriter, r *request, body *approvalBody) (any, error) {
	if body.Approve == nil || len(body.Calls) == 0 {
		return nil, web.Bad("send calls, a list of ids, and approve: true or false")
	}
	app, err := x.App(r.Request, body.App)
	if err != nil {
		return nil, err
	}
	key := session.Key{App: app.Name, User: cmp.Or(body.User, web.DefaultUser), ID: body.Session}
	run, err := x.Decide(r.Context(), app, key, body.ID, *body.Approve, body.Reason, body.Calls)
	if err != nil {
		return nil, err
	}
	return map[string]any{"invocationId": run.Invocation}, nil
}

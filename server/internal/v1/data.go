package v1

import (
	"net/http"
	"strconv"
	"time"

	"github.com/plughook/plughook/retention"
	"github.com/plughook/plughook/server/internal/web"
)

var dataHandlers = handlers{
	"deleteUser": (*routes).deleteUser,
	"retain":     (*routes).retain,
}

// deleteUser deletes all that belongs to a user: sessions, artifacts and state. It is the caller's own, or an
// admin's to ask for.
func (x *routes) deleteUser(_ http.ResponseWriter, r *request) (any, error) {
	user, err := x.User(r.Request, r.PathValue("user"))
	if err != nil {
		return nil, err
	}
	report, err := x.DeleteUser(r.Context(), r.app, user, r.flag("dryRun"))
	return deletedOf(report, err)
}

// maxDays is the most that retain takes. A number of days with which the arithmetic of times overflows would
// delete every session.
const maxDays = 100_000

// retain deletes an app's sessions that had no event for a number of days.
func (x *routes) retain(w http.ResponseWriter, r *request) (any, error) {
	if !web.CallerOf(r.Request).Admin {
		return nil, web.NewProblem(http.StatusForbidden, "forbidden", "only an admin's token may delete "+
			"the sessions of all users")
	}
	var body struct {
		Days   int  `json:"days"`
		DryRun bool `json:"dryRun"`
	}
	if err := x.Decode(w, r.Request, &body); err != nil {
		return nil, err
	}
	if body.Days < 1 || body.Days > maxDays {
		return nil, web.Bad("days is after how many days without an event a session is deleted: 1 to " +
			strconv.Itoa(maxDays))
	}
	report, err := r.app.Stores(body.DryRun).
		Before(r.Context(), r.app.Name, time.Now().AddDate(0, 0, -body.Days))
	return deletedOf(report, err)
}

// deletedBody says what was deleted.
type deletedBody struct {
	Sessions  []deletedSession `json:"sessions"`
	Artifacts int              `json:"artifacts"`
	State     []string         `json:"state"`
}

type deletedSession struct {
	App  string `json:"app"`
	User string `json:"user"`
	ID   string `json:"id"`
}

func deletedOf(r *retention.Report, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	body := deletedBody{
		Sessions:  []deletedSession{},
		Artifacts: r.Artifacts,
		State:     append([]string{}, r.State...),
	}
	for _, key := range r.Sessions {
		body.Sessions = append(body.Sessions, deletedSession{App: key.App, User: key.User, ID: key.ID})
	}
	return map[string]any{"deleted": body}, nil
}

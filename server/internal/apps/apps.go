// Package apps has what the packages of the server share: an app that is served, and who sends a request. Package server exports these types under its own name, so each of them is defined once, here.
//
// A new option of the server that more than one package reads: add a field here. One that a single package
// reads belongs to that package.
package apps

import (
	"cmp"
	"slices"
	"strings"

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/retention"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
)

// An App is one runner that is served. Its agent, sessions and plugins are those of the runner.
type App struct {
	// Name is the app of the sessions' keys, and stands in paths.
	Name   string
	Runner *runner.Runner
	// Artifacts has the files of the sessions; nil means that there are none.
	Artifacts artifact.Service
	// State says which keys of a session's state callers may write.
	State StateRule
}

// Sessions returns the store of the app's sessions.
func (a *App) Sessions() session.Service { return a.Runner.Sessions() }

// Command returns what the app's plugins have for an action, nil if they have nothing.
func (a *App) Command(action plugin.Action) *plugin.Command {
	return plugin.CommandFor(a.Runner.Plugins(), action)
}

// Stores returns the app's stores, for deleting what is in them.
func (a *App) Stores(dryRun bool) retention.Store {
	return retention.Store{Sessions: a.Sessions(), Artifacts: a.Artifacts, DryRun: dryRun}
}

// A Caller is who sends a request.
type Caller struct {
	// User is the caller's user: the caller reaches every session of this user, and no other. A caller
	// without a user is not let in, but with AnyUser.
	User string
	// AnyUser lets a caller without a user reach the sessions of every user, by naming one in the request.
	AnyUser bool
	// Apps are the apps that the caller reaches; nil is all of them.
	Apps []string
	// Admin says that the caller may act in the sessions of every user, delete the data of every user, set off
	// retention, and write every key of the state.
	Admin bool
	// OnBehalfOf are further users whose sessions the caller reaches, as they would themselves, by naming one in
	// the request: for the token of a service that has logged its users in. A name that ends with "*" is every
	// name that begins so.
	OnBehalfOf []string
	// Roles are those of the caller, such as "finance"; session.AnyRole is every one. The role "user" is not given: it is
	// that of whoever acts for a session's user.
	Roles []string
}

// Budget returns the user whose share of the server the caller takes; "" for a service that acts for many: what these
// run and store counts as theirs.
func (c Caller) Budget() string {
	if len(c.OnBehalfOf) > 0 {
		return ""
	}
	return c.User
}

// ActsFor reports whether the caller may answer and ask in the place of a user.
func (c Caller) ActsFor(user string) bool {
	return user == c.User || c.User == "" || slices.ContainsFunc(c.OnBehalfOf, func(name string) bool {
		start, many := strings.CutSuffix(name, "*")
		return name == user || many && strings.HasPrefix(user, start)
	})
}

// Reaches reports whether the sessions of a user are there for the caller.
func (c Caller) Reaches(user string) bool { return c.Admin || c.ActsFor(user) }

// On returns who the caller is on a session of a user: with the caller's roles, and the user's own if the caller acts for
// the user.
func (c Caller) On(user string) session.Sender {
	roles := slices.Clone(c.Roles)
	if c.ActsFor(user) {
		roles = append(roles, session.UserRole)
	}
	return session.Sender{Name: cmp.Or(c.User, user), Roles: append([]string{}, roles...)}
}

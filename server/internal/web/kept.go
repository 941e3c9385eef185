package web

import "github.com/plughook/plughook/retention"

// Kept returns the app's stores, for deleting what is in them.
func (a *App) Kept(dryRun bool) retention.Store {
	return retention.Store{Sessions: a.Sessions, Artifacts: a.Artifacts, DryRun: dryRun}
}

package page

import (
	"time"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/server/internal/apps"
)

// A budgetLine is what is used of a limit.
type budgetLine struct {
	plugin.Use
	Share int // in percent
}

// Left is what is left.
func (b budgetLine) Left() float64 { return max(0, float64(b.Max)-b.Used) }

// FreeIn is how long it takes until something is free again.
func (b budgetLine) FreeIn() time.Duration { return b.Frees.Sub(now()) }

// budgetsOf returns what is used of the limits of an app's plugins by a session with that state.
func budgetsOf(app *apps.App, state map[string]any) (list []budgetLine) {
	for _, p := range app.Runner.Plugins() {
		if p.About == nil {
			continue
		}
		uses := p.About().Uses
		if uses == nil {
			continue
		}
		for _, use := range uses(state) {
			list = append(list, budgetLine{Use: use, Share: min(100, int(100*use.Used/float64(use.Max)))})
		}
	}
	return list
}

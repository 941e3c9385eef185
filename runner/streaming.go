package runner

import "github.com/plughook/plughook/plugin"

// warnUnstreamed logs, once for a Runner, which plugins keep partial events from a caller who asks for them
// (rule 8): nothing else would tell that caller why whole events are all that comes.
func (r *Runner) warnUnstreamed() {
	if r.partials {
		return
	}
	r.unstreamed.Do(func() {
		for _, p := range r.opt.Plugins {
			for _, advice := range plugin.Warnings(p) { // of one plugin there are no warnings but about partial events
				r.opt.Log.Warn(advice)
			}
		}
	})
}

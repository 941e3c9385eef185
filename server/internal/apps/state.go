package apps

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plughook/plughook/session"
)

// A StateRule says which keys of a session's state callers may write: when they make a session, with an input, and by
// PATCH. What a plugin alone writes is refused to everybody (plugin.StateOwners).
type StateRule struct {
	// Write are the keys that every caller may write; a key that ends with "*" is every key that begins so. nil: the
	// keys that are one session's alone (without the prefix "user:" or "app:"), but for those that decide what the app
	// does: Read, and what its plugins read (plugin.Plugin.ReadsState).
	Write []string
	// Role: callers with it write every key, as admins do.
	Role string
	// Read are the keys that the app's agent reads, as in an instruction; "*" is every key.
	Read []string
}

// MayWrite returns an error, which is session.ErrInvalid, if a state key is not a caller's to write.
func (a *App) MayWrite(who Caller, key string) error {
	rule := &a.State
	admin := who.Admin || rule.Role != "" &&
		(slices.Contains(who.Roles, rule.Role) || slices.Contains(who.Roles, session.AnyRole))
	refused := func(why string) error {
		return fmt.Errorf("%w: state key %q %s: it takes a caller who may (server.state)", session.ErrInvalid, key, why)
	}
	switch {
	case admin:
		return nil
	case rule.Write != nil:
		if !matches(rule.Write, key) {
			return refused("is not for every caller to write")
		}
		return nil
	case strings.HasPrefix(key, session.AppPrefix):
		return refused("is shared by all users of the app")
	case strings.HasPrefix(key, session.UserPrefix):
		return refused("is shared by all sessions of the user")
	case matches(rule.Read, key):
		return refused("decides what the agent does")
	}
	for _, p := range a.Runner.Plugins() {
		if p.ReadsState != nil && matches(p.ReadsState(), key) {
			return refused("decides what the plugin " + p.Name + " does")
		}
	}
	return nil
}

// matches reports whether one of the patterns is a key, or its beginning and a "*". A "*" stands for no prefix such as
// "app:".
func matches(patterns []string, key string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		start, many := strings.CutSuffix(pattern, "*")
		return pattern == key || many && strings.HasPrefix(key, start) && scope(key) == scope(start)
	})
}

func scope(key string) string {
	for _, prefix := range []string{session.AppPrefix, session.UserPrefix, session.TempPrefix} {
		if strings.HasPrefix(key, prefix) {
			return prefix
		}
	}
	return ""
}

package plugin

import (
	"strings"

	"github.com/plughook/plughook/session"
)

// StateOwner returns the name of the plugin that a state key belongs to if a plugin of that name is
// configured: the part before the first ':', after the prefix "app:", "user:" or "temp:". It returns ""
// for a key that can belong to no plugin. The runner lets nobody but that plugin write the key.
func StateOwner(key string) string {
	for _, prefix := range []string{session.AppPrefix, session.UserPrefix, session.TempPrefix} {
		if rest, ok := strings.CutPrefix(key, prefix); ok {
			key = rest
			break
		}
	}
	owner, _, ok := strings.Cut(key, ":")
	if !ok {
		return ""
	}
	return owner
}

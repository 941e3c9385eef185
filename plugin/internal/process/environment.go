package process

import (
	"log/slog"
	"os"
	"strings"

	"github.com/plughook/plughook/internal/redact"
	"github.com/plughook/plughook/plugin/internal/message"
)

// allowed are the variables of the host's environment that every plugin gets.
var allowed = []string{"PATH", "HOME", "LANG", "TMPDIR", "TZ"}

// environment returns the environment of a plugin, and the secrets: the values of the variables
// that the configuration grants.
func environment(grants []string, log *slog.Logger) (env []string, secret message.Secrets) {
	for _, name := range allowed {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	var values []redact.Secret
	for _, entry := range grants {
		name, v, set := strings.Cut(entry, "=")
		if !set {
			v, set = os.LookupEnv(name)
			if !set {
				log.Warn("a variable that the plugin is granted is not set", "variable", name)
				continue
			}
		}
		env = append(env, name+"="+v)
		for line := range strings.Lines(v) {
			line = strings.TrimSpace(line)
			if len(line) >= 6 { // a shorter value is no secret, and may be part of any word
				values = append(values, redact.Secret{Value: line, Name: "$" + name})
			}
		}
	}
	return env, message.NewSecrets(values...)
}

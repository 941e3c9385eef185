// Command guardrail is the guardrail (package plugins/guardrail) in a process of its own. A runner starts it, with
// the settings that the kind guardrail has: file, reload and key_env, whose variable goes into the plugin's env.
package main

import (
	"github.com/plughook/plughook/plugin/remote/serve"
	"github.com/plughook/plughook/plugins/guardrail"
)

func main() {
	serve.WithSettings(serve.About{
		Name: "guardrail", Version: "1.0.0",
		Doc: "Holds runs to a policy: blocks, redacts, asks, flags.",
	}, guardrail.New)
}

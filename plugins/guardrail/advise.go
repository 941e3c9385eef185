package guardrail

import (
	"fmt"
	"slices"

	"github.com/plughook/plughook/yamlfile"
)

// namedTool is a glob of tools' names, and where it stands.
type namedTool struct{ glob, at string }

// names notes the tools that are named at a path.
func (r *reader) names(path string, g globs) {
	for _, glob := range slices.Concat(g.some, g.none) {
		r.policy.named = append(r.policy.named, namedTool{glob, r.Name() + ":" + r.At(path)})
	}
}

// Advise says which names of tools in the policy are those of none of these tools, nor of what a model's provider runs, with
// file, line and column: what is said of such a tool is about nothing.
func (p *Policy) Advise(tools []string) (advice []string) {
	all := slices.Concat(tools, providers)
	for _, n := range p.named {
		if !slices.ContainsFunc(all, func(tool string) bool { return globMatch(n.glob, tool) }) {
			advice = append(advice, fmt.Sprintf("%s: no tool has the name %q%s", n.at, n.glob, yamlfile.Guess(n.glob, tools)))
		}
	}
	return advice
}

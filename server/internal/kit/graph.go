package kit

import (
	"net/http"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
)

// A node is an agent with what it calls.
type node struct {
	agent agent.Agent
	below []agent.Agent
	tools []*genai.FunctionDeclaration
}

// nodesOf returns an agent and all agents below it, each once.
func nodesOf(root agent.Agent) []node {
	var list []node
	seen := map[string]bool{}
	var add func(a agent.Agent)
	add = func(a agent.Agent) {
		if seen[a.Name()] {
			return
		}
		seen[a.Name()] = true
		n := node{agent: a}
		if p, ok := a.(agent.Parent); ok {
			n.below = p.Agents()
		}
		if f, ok := a.(interface {
			Functions() []*genai.FunctionDeclaration
		}); ok {
			n.tools = f.Functions()
		}
		list = append(list, n)
		for _, child := range n.below {
			add(child)
		}
	}
	add(root)
	return list
}

// treeBody is an agent as the kit's page reads it, with the agents below it.
type treeBody struct {
	Name        string     `json:"name"`
	Description string     `json:"description"`
	SubAgents   []treeBody `json:"sub_agents"`
	Tools       []toolBody `json:"tools"`
}

type toolBody struct {
	Name        string `json:"name"`
	Description string `json:"description,omitzero"`
}

// buildGraph answers with the tree of an app's agents.
func (x *routes) buildGraph(_ http.ResponseWriter, r *request) (any, error) {
	nodes := nodesOf(r.app.Runner.Agent())
	var tree func(a agent.Agent, above []string) treeBody
	tree = func(a agent.Agent, above []string) treeBody {
		n := nodes[slices.IndexFunc(nodes, func(n node) bool { return n.agent.Name() == a.Name() })]
		body := treeBody{
			Name:        a.Name(),
			Description: a.Description(),
			SubAgents:   []treeBody{},
			Tools:       []toolBody{},
		}
		for _, t := range n.tools {
			body.Tools = append(body.Tools, toolBody{Name: t.Name, Description: t.Description})
		}
		above = append(slices.Clone(above), a.Name())
		for _, child := range n.below {
			if !slices.Contains(above, child.Name()) {
				body.SubAgents = append(body.SubAgents, tree(child, above))
			}
		}
		return body
	}
	return map[string]any{"name": r.app.Name, "root_agent": tree(r.app.Runner.Agent(), nil)}, nil
}

// graphImages answers with a picture of an app's agents. Its key is the path of an agent; the root's is
// empty.
func (x *routes) graphImages(_ http.ResponseWriter, r *request) (any, error) {
	dark := r.URL.Query().Get("dark_mode") == "true"
	return map[string]any{"": map[string]string{"dotSrc": dot(r.app.Runner.Agent(), nil, dark)}}, nil
}

// eventGraph answers with a picture of an app's agents in which what an event is of stands out.
func (x *routes) eventGraph(_ http.ResponseWriter, r *request) (any, error) {
	log, err := x.ReadAll(r.Context(), r.app, r.key, session.Selection{})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(log, func(e *session.Event) bool { return e.ID == r.PathValue("event") })
	if i < 0 || agent.Find(r.app.Runner.Agent(), agent.Owner(log[i])) == nil {
		return map[string]string{}, nil
	}
	return map[string]string{"dotSrc": dot(r.app.Runner.Agent(), log[i], true)}, nil
}

// dot returns a picture of an agent, what it calls and all that is below it, in the language of Graphviz.
// What an event is of stands out; e may be nil.
func dot(root agent.Agent, e *session.Event, dark bool) string {
	// The names of nodes that stand out, and the tools that an agent which does not say its own has called.
	bright := map[string]bool{}
	var called []string
	owner := ""
	if e != nil {
		owner = agent.Owner(e)
		bright[owner] = true
		for _, c := range e.FunctionCalls() {
			called = append(called, c.Name)
		}
		for _, c := range e.FunctionResponses() {
			called = append(called, c.Name)
		}
	}
	for _, name := range called {
		bright[name] = true
	}

	ink := "#5f6368"
	if dark {
		ink = "#cccccc"
	}
	var b strings.Builder
	b.WriteString("digraph { rankdir=LR; bgcolor=transparent; node " +
		"[fontcolor=\"" + ink + "\" color=\"" + ink + "\"];")
	drawn := map[string]bool{}
	draw := func(name, shape string) {
		if drawn[name] {
			return
		}
		drawn[name] = true
		style := shape
		if bright[name] {
			style += ` style="filled,rounded" fillcolor="#0F5223" fontcolor="#ffffff"`
		}
		b.WriteString(" " + quoted(name) + " [label=" + quoted(name) + " " + style + "];")
	}
	arrow := func(from, to string) {
		style := ` [color="` + ink + `" arrowhead=none]`
		if from == owner && slices.Contains(called, to) {
			style = ` [color="#69CB87"]`
		}
		b.WriteString(" " + quoted(from) + " -> " + quoted(to) + style + ";")
	}
	for _, n := range nodesOf(root) {
		name := n.agent.Name()
		draw(name, "shape=ellipse")
		for _, child := range n.below {
			draw(child.Name(), "shape=ellipse")
			arrow(name, child.Name())
		}
		known := map[string]bool{}
		for _, t := range n.tools {
			known[t.Name] = true
			draw(t.Name, "shape=box")
			arrow(name, t.Name)
		}
		for _, tool := range called {
			if name == owner && !known[tool] && agent.Find(root, tool) == nil {
				known[tool] = true
				draw(tool, "shape=box")
				arrow(name, tool)
			}
		}
	}
	b.WriteString(" }")
	return b.String()
}

// quoted returns a name as a text of Graphviz's language.
func quoted(name string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ").Replace(name) + `"`
}

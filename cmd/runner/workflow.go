package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/yamlfile"
)

func (p *program) workflowCommand() *cobra.Command {
	format := "mermaid"
	graph := &cobra.Command{
		Use:   "graph",
		Short: "Draw the configured workflow",
		Args:  cli.NoArgs,
		Long: `Draw the workflow that the configuration's agent is, as Mermaid, which many pages and editors
show as a picture, or as DOT, for Graphviz. Workflows in its nodes are drawn as one node each.

With --session, each node says how far the latest run of the workflow in the session has come with
it: how often it has run, and whether it is completed, failed, waiting for an answer, answered, or
was cut off (unclear).`,
		Example: `  runner workflow graph --config examples/workflow/runner.yaml
  runner workflow graph --store sqlite:sessions.db --session ada --format dot | dot -Tsvg > ada.svg`,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.drawWorkflow(cmd.Context(), format) },
	}
	graph.Flags().StringVar(&format, "format", format, "mermaid or dot")
	return cli.Group(&cobra.Command{Use: "workflow", Short: "Draw the configured workflow"}, graph)
}

func (p *program) drawWorkflow(ctx context.Context, format string) error {
	draw, ok := map[string]func(io.Writer, *config.Graph, map[string]nodeState) error{"mermaid": drawMermaid, "dot": drawDOT}[format]
	if !ok {
		return exit.Usage.Errorf("--format %q: it is mermaid or dot%s", format, yamlfile.Guess(format, []string{"mermaid", "dot"}))
	}
	c, err := p.NeedConfig(ctx)
	if err != nil {
		return err
	}
	g := c.Graph()
	if g == nil {
		return exit.Usage.Errorf("%s: the agent is no workflow; write agent: {workflow: …}", c.Name())
	}
	states := map[string]nodeState{}
	if p.Session != "" {
		if states, err = p.nodeStates(ctx, c, g.Name); err != nil {
			return err
		}
	}
	return draw(p.Out, g, states)
}

// A nodeState is how far a run of a workflow has come with a node: what became of the latest run of
// the node, which is the one of this number.
type nodeState struct {
	status session.NodeStatus
	runs   int
}

// String returns "" for a node that has not run.
func (s nodeState) String() string {
	if s.runs > 1 {
		return fmt.Sprintf("%s, run %d", s.status, s.runs)
	}
	return string(s.status)
}

// nodeStates returns the states of the nodes in the session's latest run of a workflow.
func (p *program) nodeStates(ctx context.Context, c *config.Config, name string) (states map[string]nodeState, err error) {
	sessions, _, err := p.OpenKept(ctx, false)
	if err != nil {
		return nil, err
	}
	defer cli.CloseStore(sessions, &err)
	s := &setup{sessions: sessions, key: p.Key(c)}
	if _, err := sessions.Get(ctx, s.key); err != nil {
		return nil, exit.Store.As(err)
	}
	live, err := s.live(ctx)
	if err != nil {
		return nil, err
	}
	states = map[string]nodeState{}
	for _, w := range session.Nodes(live).Workflows() {
		if !strings.HasPrefix(w.Path, name+"@") {
			continue
		}
		clear(states) // an earlier run's
		for _, n := range w.Nodes {
			node, number, _ := strings.Cut(strings.TrimPrefix(n.Path, w.Path+"/"), "@")
			run, err := strconv.Atoi(number)
			if err == nil && run > states[node].runs {
				states[node] = nodeState{status: n.Status(), runs: run}
			}
		}
	}
	return states, nil
}

// statusColours are the colours of nodes that have run, as Mermaid and DOT take them.
var statusColours = []struct {
	status session.NodeStatus
	colour string
}{
	{session.Completed, "#b7e4c7"},
	{session.Failed, "#f4acb7"},
	{session.Waiting, "#ffe8a1"},
	{session.Answered, "#cfe8ff"},
	{session.Unclear, "#dddddd"},
}

// drawMermaid writes the graph as a flowchart of Mermaid.
func drawMermaid(w io.Writer, g *config.Graph, states map[string]nodeState) error {
	quote := func(text string) string {
		return `"` + strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "\n", " ").Replace(text) + `"`
	}
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	fmt.Fprintf(&b, "  n0([%s])\n", quote(config.Start))
	ids := map[string]string{config.Start: "n0"}
	for i, n := range g.Nodes {
		id := fmt.Sprintf("n%d", i+1)
		ids[n.Name] = id
		label := n.Name + " (" + n.Kind + ")"
		state := states[n.Name]
		if state.runs > 0 {
			label += ": " + state.String()
		}
		left, right := "[", "]"
		if n.Kind == "ask" {
			left, right = "{{", "}}"
		}
		fmt.Fprintf(&b, "  %s%s%s%s", id, left, quote(label), right)
		if state.runs > 0 {
			fmt.Fprintf(&b, ":::%s", state.status)
		}
		b.WriteByte('\n')
	}
	for _, e := range g.Edges {
		label := ""
		switch {
		case e.When != "":
			label = "|" + quote(e.When) + "|"
		case e.Default:
			label = "|otherwise|"
		}
		fmt.Fprintf(&b, "  %s -->%s %s\n", ids[e.From], label, ids[e.To])
	}
	if len(states) > 0 {
		for _, c := range statusColours {
			fmt.Fprintf(&b, "  classDef %s fill:%s\n", c.status, c.colour)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// drawDOT writes the graph in the language of Graphviz.
func drawDOT(w io.Writer, g *config.Graph, states map[string]nodeState) error {
	quote := func(text string) string {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ").Replace(text) + `"`
	}
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n  %s [shape=oval]\n", quote(g.Name), quote(config.Start))
	for _, n := range g.Nodes {
		label := n.Name + " (" + n.Kind + ")"
		shape := "box"
		if n.Kind == "ask" {
			shape = "hexagon"
		}
		state := states[n.Name]
		if state.runs > 0 {
			label += ": " + state.String()
		}
		fmt.Fprintf(&b, "  %s [label=%s, shape=%s", quote(n.Name), quote(label), shape)
		for _, c := range statusColours {
			if state.runs > 0 && c.status == state.status {
				fmt.Fprintf(&b, ", style=filled, fillcolor=%s", quote(c.colour))
			}
		}
		b.WriteString("]\n")
	}
	for _, e := range g.Edges {
		fmt.Fprintf(&b, "  %s -> %s", quote(e.From), quote(e.To))
		switch {
		case e.When != "":
			fmt.Fprintf(&b, " [label=%s]", quote(e.When))
		case e.Default:
			b.WriteString(" [label=otherwise]")
		}
		b.WriteByte('\n')
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

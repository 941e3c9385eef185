package workflow

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
)

// A Picture is a graph for those who draw it. Mermaid and DOT write it; graphs in nodes are drawn inside
// of these.
type Picture struct {
	Name  string
	Nodes []PictureNode
	Edges []PictureEdge
}

// A PictureNode is a node. Kind says what it is, in a word; Inside is the graph in it, nil if there is
// none.
type PictureNode struct {
	Name, Kind string
	Was        []string // names that it had before
	Inside     *Picture
}

// A PictureEdge leads from one node, or from Start, to another. Label says when, "" is always.
type PictureEdge struct{ From, To, Label string }

// PictureOf returns the picture of an agent that New has made, nil for any other agent. Nodes in Children
// are not in it.
func PictureOf(a agent.Agent) *Picture {
	g, ok := a.(*graph)
	if !ok {
		return nil
	}
	p := &Picture{Name: g.Name()}
	drawn := map[string]bool{Start.Name: true}
	for _, e := range g.Edges {
		for _, n := range []*Node{e.From, e.To} {
			if !drawn[n.Name] {
				drawn[n.Name] = true
				p.Nodes = append(p.Nodes, pictureOf(n))
			}
		}
		label := ""
		switch {
		case e.Route == Default:
			label = "otherwise"
		case e.Route == Failed:
			label = "failed"
		case e.Route != nil:
			var routes []string
			for _, route := range routeList(e.Route) {
				text, ok := route.(string)
				if !ok {
					text = inJSON(route)
				}
				routes = append(routes, text)
			}
			label = strings.Join(routes, ", ")
		}
		p.Edges = append(p.Edges, PictureEdge{From: e.From.Name, To: e.To.Name, Label: label})
	}
	return p
}

func pictureOf(n *Node) PictureNode {
	p := PictureNode{Name: n.Name, Was: n.Was}
	switch kind := n.kind.(type) {
	case *function:
		p.Kind = "function"
	case *agentNode:
		p.Kind = "agent"
	case *toolNode:
		p.Kind = "tool"
	case join:
		p.Kind = "join"
	case *each:
		p.Kind = "each"
		p.Inside = pictureOf(kind.node).Inside
	case *graph:
		p.Kind = "workflow"
		p.Inside = PictureOf(kind)
	}
	return p
}

// progressIn is how far a run of a workflow has come with its nodes; nil shows nothing.
type progressIn struct {
	run  *session.WorkflowRun
	path string // of the run of the graph that is drawn
}

// A nodeState is what became of the latest run of a node.
type nodeState struct {
	path   string // "" if it has not run
	status session.NodeStatus
	label  string
}

// of returns the state of a node.
func (p *progressIn) of(n PictureNode) nodeState {
	if p == nil {
		return nodeState{}
	}

	// Which run of it is the latest? The log may have only what is inside of it.
	latest := 0
	s := nodeState{status: session.Unclear}
	runs := map[string]*session.NodeRun{}
	for _, run := range p.run.Nodes {
		rest, ok := strings.CutPrefix(run.Path, p.path+"/")
		first, _, _ := strings.Cut(rest, "/")
		name, number := element(first)
		i, err := strconv.Atoi(number)
		if !ok || err != nil || name != n.Name && !slices.Contains(n.Was, name) {
			continue
		}
		runs[run.Path] = run
		if i > latest {
			latest = i
			s.path = p.path + "/" + first
		}
	}
	if latest == 0 {
		return nodeState{}
	}
	own := runs[s.path]
	if own != nil {
		s.status = own.Status()
	}

	// What it runs itself says how far it is, while it has not ended.
	items := map[session.NodeStatus]int{}
	for path, run := range runs {
		if !within(path, s.path) || path == s.path {
			continue
		}
		if above(path) == s.path {
			items[run.Status()]++
		}
		if s.status == session.Unclear && slices.Contains([]session.NodeStatus{session.Failed, session.Waiting, session.Answered}, run.Status()) {
			s.status = run.Status()
		}
		if run.Status() == session.Waiting && (s.status == session.Failed && own == nil || s.status == session.Answered) {
			s.status = session.Waiting
		}
	}
	s.label = string(s.status)
	if latest > 1 {
		s.label += fmt.Sprintf(", run %d", latest)
	}
	if own != nil && own.Attempts() > 1 {
		s.label += fmt.Sprintf(", %d attempts", own.Attempts())
	}
	if n.Kind == "each" {
		between := ", items: "
		for _, status := range slices.Sorted(maps.Keys(items)) {
			s.label += fmt.Sprintf("%s%d %s", between, items[status], status)
			between = ", "
		}
	}
	return s
}

// Progress returns how far a run of the picture's workflow has come with a node: what became of the node's latest run, and
// the same in words, with the number of runs and attempts. Both are "" if the node has not run.
func (p *Picture) Progress(n PictureNode, run *session.WorkflowRun) (status session.NodeStatus, label string) {
	s := progressOf(run).of(n)
	if s.path == "" {
		return "", ""
	}
	return s.status, s.label
}

// inside returns the progress with the graph in a node; nil if there are several of it.
func (p *progressIn) inside(n PictureNode, s nodeState) *progressIn {
	if p == nil || s.path == "" || n.Kind == "each" {
		return nil
	}
	return &progressIn{run: p.run, path: s.path}
}

// colours are those of nodes that have run, as Mermaid and DOT take them.
var colours = []struct {
	status session.NodeStatus
	colour string
}{
	{session.Completed, "#b7e4c7"},
	{session.Failed, "#f4acb7"},
	{session.Waiting, "#ffe8a1"},
	{session.Answered, "#cfe8ff"},
	{session.Unclear, "#dddddd"},
}

func (n PictureNode) label(s nodeState) string {
	label := n.Name + " (" + n.Kind + ")"
	if s.label != "" {
		label += ": " + s.label
	}
	return label
}

func progressOf(run *session.WorkflowRun) *progressIn {
	if run == nil {
		return nil
	}
	return &progressIn{run: run, path: run.Path}
}

// Mermaid writes the graph as a flowchart of Mermaid, which many pages and editors show as a picture. If
// run is not nil, each node says how far that run of the workflow has come with it (session.NewWorkflowRuns).
func (p *Picture) Mermaid(w io.Writer, run *session.WorkflowRun) error {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	p.mermaid(&b, "  ", "n", progressOf(run))
	if run != nil {
		for _, c := range colours {
			fmt.Fprintf(&b, "  classDef %s fill:%s\n", c.status, c.colour)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// mermaid writes the nodes and edges of a graph, whose ids begin with a prefix.
func (p *Picture) mermaid(b *strings.Builder, indent, prefix string, progress *progressIn) {
	quote := func(text string) string {
		return `"` + strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "\n", " ").Replace(text) + `"`
	}
	ids := map[string]string{Start.Name: prefix + "0"}
	fmt.Fprintf(b, "%s%s([%s])\n", indent, ids[Start.Name], quote(Start.Name))
	for i, n := range p.Nodes {
		id := fmt.Sprintf("%s%d", prefix, i+1)
		ids[n.Name] = id
		state := progress.of(n)
		label := quote(n.label(state))
		if n.Inside != nil {
			fmt.Fprintf(b, "%ssubgraph %s[%s]\n", indent, id, label)
			n.Inside.mermaid(b, indent+"  ", id+"_", progress.inside(n, state))
			fmt.Fprintf(b, "%send\n", indent)
			if state.path != "" {
				fmt.Fprintf(b, "%sclass %s %s\n", indent, id, state.status)
			}
			continue
		}
		left, right := "[", "]"
		if n.Kind == "ask" {
			left, right = "{{", "}}"
		}
		fmt.Fprintf(b, "%s%s%s%s%s", indent, id, left, label, right)
		if state.path != "" {
			fmt.Fprintf(b, ":::%s", state.status)
		}
		b.WriteByte('\n')
	}
	for _, e := range p.Edges {
		label := ""
		if e.Label != "" {
			label = "|" + quote(e.Label) + "|"
		}
		fmt.Fprintf(b, "%s%s -->%s %s\n", indent, ids[e.From], label, ids[e.To])
	}
}

// DOT writes the graph in the language of Graphviz; run is as for Mermaid.
func (p *Picture) DOT(w io.Writer, run *session.WorkflowRun) error {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n  compound=true\n", dotQuoted(p.Name))
	p.dot(&b, "  ", "", progressOf(run))
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func dotQuoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ").Replace(text) + `"`
}

// dot writes the nodes and edges of a graph, whose names have a prefix. A graph inside of a node is a
// cluster: an edge to it leads to its start, and one from it leaves its last node.
func (p *Picture) dot(b *strings.Builder, indent, prefix string, progress *progressIn) {
	fmt.Fprintf(b, "%s%s [label=%s, shape=oval]\n", indent, dotQuoted(prefix+Start.Name), dotQuoted(Start.Name))
	inside := map[string]*Picture{}
	for _, n := range p.Nodes {
		state := progress.of(n)
		style := "label=" + dotQuoted(n.label(state))
		if n.Inside == nil {
			shape := "box"
			if n.Kind == "ask" {
				shape = "hexagon"
			}
			style += ", shape=" + shape
		}
		for _, c := range colours {
			if state.path != "" && c.status == state.status {
				style += ", style=filled, fillcolor=" + dotQuoted(c.colour)
			}
		}
		if n.Inside != nil && state.path == "" {
			style += ", style=solid" // and not that of the cluster around it
		}
		if n.Inside == nil {
			fmt.Fprintf(b, "%s%s [%s]\n", indent, dotQuoted(prefix+n.Name), style)
			continue
		}
		inside[n.Name] = n.Inside
		fmt.Fprintf(b, "%ssubgraph %s {\n%s  graph [%s]\n", indent, dotQuoted("cluster "+prefix+n.Name), indent, style)
		n.Inside.dot(b, indent+"  ", prefix+n.Name+"/", progress.inside(n, state))
		fmt.Fprintf(b, "%s}\n", indent)
	}
	for _, e := range p.Edges {
		from := prefix + e.From
		to := prefix + e.To
		var attributes []string
		if inner := inside[e.From]; inner != nil {
			attributes = append(attributes, "ltail="+dotQuoted("cluster "+from))
			from += "/" + inner.last()
		}
		if inside[e.To] != nil {
			attributes = append(attributes, "lhead="+dotQuoted("cluster "+to))
			to += "/" + Start.Name
		}
		if e.Label != "" {
			attributes = append(attributes, "label="+dotQuoted(e.Label))
		}
		fmt.Fprintf(b, "%s%s -> %s", indent, dotQuoted(from), dotQuoted(to))
		if attributes != nil {
			fmt.Fprintf(b, " [%s]", strings.Join(attributes, ", "))
		}
		b.WriteByte('\n')
	}
}

// last returns the name of a node that is drawn last: one that no edge leaves, if there is one, and that
// is in a cluster of its own at its last node.
func (p *Picture) last() string {
	name := Start.Name
	var in *Picture
	for _, n := range p.Nodes {
		leaves := slices.ContainsFunc(p.Edges, func(e PictureEdge) bool { return e.From == n.Name })
		if !leaves || name == Start.Name {
			name = n.Name
			in = n.Inside
		}
	}
	if in != nil {
		name += "/" + in.last()
	}
	return name
}

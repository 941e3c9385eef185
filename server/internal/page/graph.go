package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/agent/workflow"
	"github.com/plughook/plughook/server/internal/page/visible"
	"github.com/plughook/plughook/session"
)

// A drawing is the picture of a workflow: nodes in rows, from top to bottom, and edges between them. Lengths are in
// units of which the picture is Width wide.
type drawing struct {
	Name          []visible.Piece
	Words         string // the picture in words
	Width, Height int
	Nodes         []drawnNode
	Edges         []drawnEdge
}

type drawnNode struct {
	X, Y, Width, Height, TextX, TextY int
	Name, Title                       []visible.Piece
	Mark                              string // before the name: what became of its latest run
	Class                             string // the same as a class
}

type drawnEdge struct {
	Path           string
	Label          []visible.Piece
	LabelX, LabelY int
}

const (
	drawingWidth = 320
	nodeHeight   = 28
	rowHeight    = 60
	nodeGap      = 8
	sideGap      = 20 // for edges that lead up, or past a row
)

// marks are shown before the names of nodes.
var marks = map[session.NodeStatus]string{
	session.Completed: "✓ ",
	session.Failed:    "✗ ",
	session.Waiting:   "… ",
	session.Answered:  "↩ ",
	session.Unclear:   "? ",
}

// graphsOf draws the workflows among an agent and those below it, with their latest runs in a live view.
func graphsOf(root agent.Agent, live []*session.Event) (list []*drawing) {
	var runs []*session.WorkflowRun
	seen := map[string]bool{}
	var add func(a agent.Agent)
	add = func(a agent.Agent) {
		if seen[a.Name()] {
			return
		}
		seen[a.Name()] = true
		if p := workflow.PictureOf(a); p != nil {
			if runs == nil {
				runs = session.NewWorkflowRuns(live).Workflows()
			}
			var latest *session.WorkflowRun
			for _, run := range runs {
				if strings.HasPrefix(run.Path, p.Name+"@") {
					latest = run
				}
			}
			list = append(list, draw(p, latest))
			return // workflows in its nodes are nodes of the picture
		}
		if parent, ok := a.(agent.Parent); ok {
			for _, child := range parent.Agents() {
				add(child)
			}
		}
	}
	add(root)
	return list
}

// draw draws a workflow and how far a run of it has come; run may be nil.
func draw(p *workflow.Picture, run *session.WorkflowRun) *drawing {
	rows := rowsOf(p)
	d := &drawing{Name: visible.Line(p.Name, 60), Width: drawingWidth, Height: len(rows) * rowHeight}
	nodes := map[string]*drawnNode{}
	var words []string
	for i, row := range rows {
		width := (drawingWidth - 2*sideGap - nodeGap*(len(row)-1)) / len(row)
		for j, n := range row {
			status, label := p.Progress(n, run)
			title := n.Name + " (" + n.Kind + ")"
			if n.Kind == "" {
				title = n.Name
			}
			if label != "" {
				title += ": " + label
			}
			drawn := &drawnNode{
				X:      sideGap + j*(width+nodeGap),
				Y:      i*rowHeight + (rowHeight-nodeHeight)/2,
				Width:  width,
				Height: nodeHeight,
				Name:   visible.Line(n.Name, max(3, width/8)),
				Title:  visible.Line(title, 200),
				Mark:   marks[status],
				Class:  string(status),
			}
			drawn.TextX = drawn.X + width/2
			drawn.TextY = drawn.Y + nodeHeight/2 + 4
			nodes[n.Name] = drawn
			d.Nodes = append(d.Nodes, *drawn)
			words = append(words, title)
		}
	}
	for _, e := range p.Edges {
		d.Edges = append(d.Edges, edgeOf(nodes[e.From], nodes[e.To], e.Label))
	}
	d.Words = "Workflow " + p.Name + ". " + strings.Join(words, ", ")
	return d
}

// rowsOf returns the nodes of a picture in rows: each below those that lead to it, but for edges that lead back.
func rowsOf(p *workflow.Picture) [][]workflow.PictureNode {
	next := map[string][]string{}
	for _, e := range p.Edges {
		next[e.From] = append(next[e.From], e.To)
	}
	row := map[string]int{}
	path := map[string]bool{} // the nodes from the start to the one at hand
	var descend func(name string, i int)
	descend = func(name string, i int) {
		if known, ok := row[name]; path[name] || ok && i <= known {
			return
		}
		row[name] = i
		path[name] = true
		for _, to := range next[name] {
			descend(to, i+1)
		}
		path[name] = false
	}
	descend(workflow.Start.Name, 0)
	rows := [][]workflow.PictureNode{{{Name: workflow.Start.Name}}}
	for _, n := range p.Nodes {
		for len(rows) <= row[n.Name] {
			rows = append(rows, nil)
		}
		rows[row[n.Name]] = append(rows[row[n.Name]], n)
	}
	return slices.DeleteFunc(rows, func(r []workflow.PictureNode) bool { return len(r) == 0 })
}

// edgeOf draws an edge: from the bottom of a node to the top of one in the next row, and around by the side otherwise.
func edgeOf(from, to *drawnNode, label string) drawnEdge {
	e := drawnEdge{Label: visible.Line(label, 24)}
	x1, y1, x2, y2 := from.TextX, from.Y+nodeHeight, to.TextX, to.Y
	if y2-y1 == rowHeight-nodeHeight {
		e.Path = fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, x1, y1+16, x2, y2-16, x2, y2)
		e.LabelX, e.LabelY = (x1+x2)/2, (y1+y2)/2+4
		return e
	}
	x1, y1, x2, y2 = from.X+from.Width, from.Y+nodeHeight/2, to.X+to.Width, to.Y+nodeHeight/2
	side := drawingWidth - 2
	e.Path = fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, side, y1, side, y2, x2, y2)
	e.LabelX, e.LabelY = x1-sideGap, from.Y-8 // above the node for an edge that leads up, else below
	if y2 > y1 {
		e.LabelY = from.Y + nodeHeight + 16
	}
	return e
}

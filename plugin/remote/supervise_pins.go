package remote

import "maps"

// maxPins is how many invocations are remembered at least.
const maxPins = 1 << 13

// pins remembers which generation an invocation began with, until its AfterRun. The number is bounded,
// as not every plugin gets an AfterRun: of what was used longest ago, up to half is forgotten at once.
type pins struct{ young, old map[string]*generation }

// of returns an invocation's generation, nil if there is none.
func (p *pins) of(id string) *generation {
	if g := p.young[id]; g != nil {
		return g
	}
	return p.old[id]
}

// begin notes that an invocation is a generation's.
func (p *pins) begin(id string, g *generation) {
	if id == "" || p.young[id] == g {
		return
	}
	p.end(id)
	if len(p.young) >= maxPins {
		for _, g := range p.old {
			g.invocations--
		}
		p.old, p.young = p.young, nil
	}
	if p.young == nil {
		p.young = map[string]*generation{}
	}
	p.young[id] = g
	g.invocations++
}

// end forgets an invocation.
func (p *pins) end(id string) {
	if g := p.of(id); g != nil {
		g.invocations--
		delete(p.young, id)
		delete(p.old, id)
	}
}

// drop forgets a generation.
func (p *pins) drop(g *generation) {
	gone := func(_ string, of *generation) bool { return of == g }
	maps.DeleteFunc(p.young, gone)
	maps.DeleteFunc(p.old, gone)
}

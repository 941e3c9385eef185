package remote

import "maps"

// maxAffinities is how many invocations are remembered at least.
const maxAffinities = 1 << 13

// processAffinity remembers which generation an invocation began with, until its AfterRun: all
// its calls go there. Not every plugin gets an AfterRun, so the number is bounded: at the bound,
// the half that was used longest ago is forgotten.
type processAffinity struct {
	young map[string]*generation
	old   map[string]*generation
}

// of returns the generation of an invocation, nil if none is known.
func (p *processAffinity) of(id string) *generation {
	if g := p.young[id]; g != nil {
		return g
	}
	return p.old[id]
}

// begin notes that an invocation belongs to a generation. Invocations without an ID are not noted.
func (p *processAffinity) begin(id string, g *generation) {
	if id == "" || p.young[id] == g {
		return
	}
	p.end(id)
	if len(p.young) >= maxAffinities {
		for _, g := range p.old {
			g.invocations--
		}
		p.old = p.young
		p.young = nil
	}
	if p.young == nil {
		p.young = map[string]*generation{}
	}
	p.young[id] = g
	g.invocations++
}

// end forgets an invocation.
func (p *processAffinity) end(id string) {
	g := p.of(id)
	if g == nil {
		return
	}
	g.invocations--
	delete(p.young, id)
	delete(p.old, id)
}

// drop forgets all invocations of a generation.
func (p *processAffinity) drop(g *generation) {
	gone := func(_ string, of *generation) bool { return of == g }
	maps.DeleteFunc(p.young, gone)
	maps.DeleteFunc(p.old, gone)
}

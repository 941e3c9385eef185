package policy

import "github.com/plughook/plughook/plugins/guardrail/detect"

// SetDetector puts a detector in the place of the policy's first, and has each rule take all that
// it finds.
func SetDetector(p *Policy, d detect.Detector) {
	p.detectors[0] = d
	for _, r := range p.rules {
		for i := range r.uses {
			r.uses[i].types = nil
		}
	}
}

// DropLiterals has regular expressions looked for everywhere.
func DropLiterals(p *Policy) {
	p.literals = nil
	for i, d := range p.detectors {
		if l, ok := d.(lines); ok {
			l.filtered = false
			p.detectors[i] = l
		}
	}
}

// FindAll returns what the detectors of a policy find in a text, before the strictest counts.
func FindAll(p *Policy, text string) []Finding {
	return p.Judge(Output, Scope{}, text).Findings
}

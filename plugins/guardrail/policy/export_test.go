package policy

import "github.com/plughook/plughook/plugins/guardrail/detect"

// SetDetector puts a detector in the place of the policy's first, and has each rule take all that it finds.
func SetDetector(p *Policy, d detect.Detector) {
	p.detectors[0] = d
	for _, r := range p.rules {
		for i := range r.uses {
			r.uses[i].types = nil
		}
	}
}

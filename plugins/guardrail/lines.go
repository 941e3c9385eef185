package guardrail

import (
	"regexp"
	"strings"

	"github.com/plughook/plughook/plugins/guardrail/detect"
)

// lines finds what a regular expression matches in lines, each as if it stood alone; a line longer than maxLine in
// pieces of that. So a stream is held back to the beginning of its last line.
type lines struct {
	kind string
	re   *regexp.Regexp
}

const maxLine = 4096

// Find implements detect.Detector.
func (l lines) Find(found []detect.Finding, text string) []detect.Finding {
	for at := 0; at < len(text); {
		end := lineEnd(text, at)
		for _, m := range l.re.FindAllStringIndex(strings.TrimSuffix(text[at:end], "\n"), -1) {
			if m[0] < m[1] {
				found = append(found, detect.Finding{Type: l.kind, Rule: "regexp", Start: at + m[0], End: at + m[1], Score: 1})
			}
		}
		at = end
	}
	return found
}

// Open implements detect.Detector.
func (l lines) Open(text string) int {
	at := 0
	for at < len(text) {
		end := lineEnd(text, at)
		if end == len(text) && end-at < maxLine && text[end-1] != '\n' {
			break
		}
		at = end
	}
	return at
}

// lineEnd returns the end of the line, or the piece of one, that begins at a byte: after its line feed.
func lineEnd(text string, at int) int {
	rest := text[at:min(len(text), at+maxLine)]
	if i := strings.IndexByte(rest, '\n'); i >= 0 {
		return at + i + 1
	}
	return at + len(rest)
}

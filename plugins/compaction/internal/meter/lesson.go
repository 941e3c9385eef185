package meter

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/plughook/plughook/internal/lazyregexp"
)

// Bounds of what is learned from refused prompts.
const (
	minLesson = 1.1 // by at least this factor the scale grows with each
	maxScale  = 64
)

// figure matches a number of tokens in a provider's message, such as 1048576 or 128,000; address matches a
// URL. The port of a URL is no number of tokens.
var (
	figure  = lazyregexp.New(`\d{1,3}(?:,\d{3})+|\d{3,}`)
	address = lazyregexp.New(`\w+://\S+`)
)

// leastFigure is larger than any HTTP status. A message may have an HTTP status, which is no number of
// tokens.
const leastFigure = 600

// learn returns the meter's scale after the provider has refused a prompt with a message. prompt is how many
// tokens we counted, and window is the window of the model. With the new scale, we count as many tokens for
// such a prompt as it takes of the window. If the message says how many tokens the prompt has and how many
// are allowed, that is exact. Otherwise the prompt is taken for one that is just as long as the window. From
// the second refused prompt on, it is taken for one that is twice as long, so that there is hardly a third.
func (m *Meter) learn(prompt, window int, message string) float64 {
	if prompt <= 0 {
		return m.scale
	}
	more := float64(window) / float64(prompt)
	if m.lessons > 0 {
		more *= 2
	}
	var figures []int
	for _, text := range figure.FindAllString(address.ReplaceAllString(message, ""), -1) {
		n, err := strconv.Atoi(strings.ReplaceAll(text, ",", ""))
		if err == nil && n >= leastFigure {
			figures = append(figures, n)
		}
	}
	slices.Sort(figures)
	n := len(figures)
	if m.lessons == 0 && n >= 2 && figures[n-1] > figures[n-2] {
		told := float64(figures[n-1]) / float64(prompt)    // the provider's tokens for each of ours
		allowed := float64(window) / float64(figures[n-2]) // the window in the units of what the provider allows
		if told > 0.25 && told < 4 {                       // otherwise the numbers are about something else
			more = told * math.Max(1, allowed)
		}
	}
	return math.Min(maxScale, m.scale*math.Max(more, minLesson))
}

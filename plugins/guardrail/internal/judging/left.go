package judging

// A Left is a text as the findings of a verdict leave it, before the rules with a judge have decided.
type Left struct {
	Text string
	// Cuts are the parts of the text before that something else stands in the place of, in order.
	Cuts []Cut
}

// A Cut is a part of a text that becomes something else.
type Cut struct {
	Start, End int
	LeftEnd    int // where what stands in its place ends in the text that is left
}

// Original returns where a part of the text that is left was in the text before. A part that
// touches what stands in the place of a finding begins, or ends, with all of that finding.
func (l *Left) Original(start, end int) (int, int) {
	return l.original(start, false), l.original(end, true)
}

// original returns where a byte was: a byte at which a part ends, or one at which it begins.
func (l *Left) original(at int, isEnd bool) int {
	was := 0 // where the text behind the last cut began
	now := 0 // and where it begins
	for _, c := range l.Cuts {
		begins := now + c.Start - was
		if at < begins || isEnd && at == begins {
			break
		}
		inside := at < c.LeftEnd || isEnd && at == c.LeftEnd
		switch {
		case inside && isEnd:
			return c.End
		case inside:
			return c.Start
		}
		was = c.End
		now = c.LeftEnd
	}
	return was + at - now
}

package compaction_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/plughook/plughook/plugins/compaction"
	"github.com/plughook/plughook/plugins/compaction/internal/extract"
	"github.com/plughook/plughook/session"
)

// A teller is a Summarizer whose summaries say which events it was shown, in this generation and before.
// Calls in the background wait until they are let go.
type teller struct {
	mu      sync.Mutex
	modes   []string // what the next calls do; "tell" if there is none
	waiting []chan struct{}
	free    bool // nothing waits any more
	calls   int
}

// Deadlines of a history tell the teller where it is called from: a model call waits for a summary
// without one.
const (
	backgroundTimeout = 10 * time.Minute
	summaryTimeout    = 20 * time.Minute
)

func inBackground(ctx context.Context) bool {
	end, ok := ctx.Deadline()
	left := time.Until(end)
	return ok && left > time.Minute && left < backgroundTimeout
}

func (s *teller) Summarize(
	ctx context.Context,
	r *compaction.Request,
) (*compaction.Summary, error) {
	s.mu.Lock()
	mode := "tell"
	if len(s.modes) > 0 {
		mode, s.modes = s.modes[0], s.modes[1:]
	}
	s.calls++
	n := s.calls
	var gate chan struct{}
	if inBackground(ctx) && !s.free {
		gate = make(chan struct{})
		s.waiting = append(s.waiting, gate)
	}
	s.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	switch mode {
	case "fail":
		return nil, errors.New("no summary today")
	case "panic":
		panic("no summary today")
	case "exit":
		runtime.Goexit()
	case "empty":
		return &compaction.Summary{Text: " \n"}, nil
	case "long":
		return &compaction.Summary{Text: strings.Repeat("word ", r.Budget+1)}, nil
	}
	text := tell(r, n)
	if has := r.Count(text); has < r.Budget/2 {
		text += strings.Repeat(" word", r.Budget/2-has)
	}
	return &compaction.Summary{Text: text, Model: "teller"}, nil
}

// letGo lets the calls go that wait, the first of them or all.
func (s *teller) letGo(all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.waiting) > 0 {
		close(s.waiting[0])
		s.waiting = s.waiting[1:]
		if !all {
			return
		}
	}
}

// tell writes down the positions that the n-th request shows, with those of the summary before.
func tell(r *compaction.Request, n int) string {
	_, seen, places := seenIn(r.Prior)
	for _, e := range r.Events {
		seen = append(seen, e.Seq)
		places = append(places, place(e.Branch))
	}
	slices.Sort(seen)
	slices.Sort(places)
	var b strings.Builder
	fmt.Fprintf(&b, "seen%d:", n)
	for _, seq := range slices.Compact(seen) {
		fmt.Fprintf(&b, "%d,", seq)
	}
	b.WriteString(" " + strings.Join(slices.Compact(places), " "))
	if strings.Contains(r.Prior, "SECRET") || slices.ContainsFunc(r.Events, secret) {
		b.WriteString(" LEAKED")
	}
	return b.String() + " SECRET"
}

var (
	toldSeen  = regexp.MustCompile(`seen(\d+):([0-9,]*)`)
	toldPlace = regexp.MustCompile(`in:(?:[\w@-]+(?:\.[\w@-]+)*)?`)
)

// seenIn returns what a summary says that it stands for, and the number of the latest request of which
// it says so, 0 if it is of none: offline summaries take over words of the one before, and say nothing
// of what is new.
func seenIn(text string) (request int, seen []int64, places []string) {
	text, _ = extract.Split(text)
	for _, m := range toldSeen.FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			continue
		}
		request = max(request, n)
		for n := range strings.SplitSeq(m[2], ",") {
			if seq, err := strconv.ParseInt(n, 10, 64); err == nil {
				seen = append(seen, seq)
			}
		}
	}
	slices.SortFunc(seen, cmp.Compare)
	return request, slices.Compact(seen), toldPlace.FindAllString(text, -1)
}

// secret reports whether an event has a word in it that the guard of a history takes out.
func secret(e *session.Event) bool {
	return strings.Contains(compaction.Text([]*session.Event{e}), "SECRET")
}

package workflow

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/plughook/plughook/session"
)

// A ledger is what the live view says of workflows' runs: the fold session.NewWorkflowRuns, with what running
// a graph asks of it. It follows the log: update takes in what is new. It may be used by several goroutines.
type ledger struct {
	mu       sync.Mutex
	position int64
	frontier int64
	// version counts how often the fold was made anew, since a compaction or a rewind has come.
	version int

	runs    *session.WorkflowRuns
	entries map[string]*entry // by path
	// calls are the function calls of runs by their ids, the latest call with each; open are those without a
	// response. What became of them is what session.CallTracker says.
	calls map[string]*session.Call
	open  map[*session.Call]bool
	// writes has the last write of each state key, by the workflow's run and the key.
	writes map[[2]string]write
}

// An entry is what the log has of a run, and directly within it.
type entry struct {
	run      *session.NodeRun   // nil if the log names runs within it only
	first    *session.Event     // of the run, or of one within it; nil if there is none
	below    []string           // the paths of the runs within it
	ends     []*session.NodeRun // those of them that have ended, in the order of the log
	failed   []int64            // the positions of its failed attempts
	messages []*session.Event   // what it has told the user
	made     []*session.Call    // in order
	digest   string             // of its input, "" if the log has none
}

// interrupted reports whether the process of the call ended before the call was answered.
func interrupted(c *session.Call) bool {
	return c.Result != nil && c.Result.Response["interrupted"] == true && c.Result.Response["error"] != nil
}

// pathOf returns the path of the run that has made a call.
func pathOf(c *session.Call) string { return c.Event.NodeInfo.Path }

// update takes in what was appended since the last time.
func (l *ledger) update(inv *session.Invocation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.runs != nil && inv.Position <= l.position {
		return
	}
	from := len(inv.Live)
	if l.runs == nil || inv.Frontier != l.frontier {
		// A compaction or a rewind has changed what counts.
		l.version++
		l.runs = new(session.WorkflowRuns)
		l.entries = make(map[string]*entry, len(inv.Live))
		l.calls = map[string]*session.Call{}
		l.open = map[*session.Call]bool{}
		l.writes = map[[2]string]write{}
		from = 0
	} else {
		for from > 0 && inv.Live[from-1].Seq > l.position {
			from--
		}
	}
	for _, e := range inv.Live[from:] {
		l.add(e)
	}
	l.position = inv.Position
	l.frontier = inv.Frontier
}

// add takes in an event.
func (l *ledger) add(e *session.Event) {
	made, answered := l.runs.Add(e)
	for _, c := range answered {
		delete(l.open, c)
	}
	for _, c := range made {
		if e.NodeInfo != nil && e.NodeInfo.Path != "" && c.ID != "" {
			l.calls[c.ID] = c
			l.open[c] = true
			own := l.entry(e.NodeInfo.Path)
			own.made = append(own.made, c)
		}
	}
	if e.Author == session.User || e.NodeInfo == nil || e.NodeInfo.Path == "" {
		return
	}

	// Which runs does it show for the first time?
	path := e.NodeInfo.Path
	own := l.entry(path)
	for run := path; run != "" && l.entry(run).first == nil; run = above(run) {
		l.entry(run).first = e
		around := l.entry(above(run))
		around.below = append(around.below, run)
	}

	for key := range e.Actions.StateDelta {
		l.writes[[2]string{rootOf(path), key}] = write{path: path, seq: e.Seq}
	}

	// Which inputs do it and those around it have?
	for run, digests := path, e.NodeInfo.Inputs; digests != "" && run != ""; run = above(run) {
		digest, around, _ := strings.Cut(digests, "/")
		in := l.entry(run)
		in.digest = cmp.Or(in.digest, digest)
		digests = around
	}

	// What does it say of its run?
	own.run = l.runs.Run(path)
	switch {
	case own.run == nil: // of another kit
	case own.run.End == e:
		around := l.entry(above(path))
		around.ends = append(around.ends, own.run)
	case own.run.Failure == e:
		own.failed = append(own.failed, e.Seq)
	case e.Content != nil && len(e.FunctionCalls()) == 0 && len(e.FunctionResponses()) == 0:
		own.messages = append(own.messages, e)
	}
}

// entry returns the entry of a path, which may be new.
func (l *ledger) entry(path string) *entry {
	own := l.entries[path]
	if own == nil {
		own = &entry{}
		l.entries[path] = own
	}
	return own
}

// read returns what the log has of a run.
func (l *ledger) read(path string) entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	if own := l.entries[path]; own != nil {
		return *own
	}
	return entry{}
}

// ended returns a run that has ended, nil if it has not.
func (l *ledger) ended(path string) *session.NodeRun {
	l.mu.Lock()
	defer l.mu.Unlock()
	if own := l.entries[path]; own != nil && own.run != nil && own.run.Ended() {
		return own.run
	}
	return nil
}

// foldedAnew returns how often the fold was made anew, since what counts has changed.
func (l *ledger) foldedAnew() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.version
}

// endsIn returns the runs directly within a run that have ended, from number from on, and the version
// of the fold that they are of.
func (l *ledger) endsIn(path string, from int) (ended []*session.NodeRun, version int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.entries[path]
	if own == nil {
		return nil, l.version
	}
	from = min(from, len(own.ends))
	return own.ends[from:len(own.ends):len(own.ends)], l.version
}

// runsIn returns the paths of the runs directly within a run. They must not be changed.
func (l *ledger) runsIn(path string) []string { return l.read(path).below }

// firstOf returns the first event of a run, or of one within it, nil if there is none.
func (l *ledger) firstOf(path string) *session.Event { return l.read(path).first }

// failures returns how many attempts of a run have failed: in all, and since a run around it has failed
// the last time. last is the last of the failures, nil if there is none.
func (l *ledger) failures(path string) (all, now int, last *session.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.entries[path]
	if own == nil || len(own.failed) == 0 {
		return 0, 0, nil
	}
	since := int64(0)
	for around := above(path); around != ""; around = above(around) {
		if in := l.entries[around]; in != nil && len(in.failed) > 0 {
			since = max(since, in.failed[len(in.failed)-1])
		}
	}
	for _, seq := range own.failed {
		if seq > since {
			now++
		}
	}
	return len(own.failed), now, own.run.Failure
}

// messagesOf returns what a run has told the user.
func (l *ledger) messagesOf(path string) []*session.Event { return l.read(path).messages }

// callOf returns the latest call with an id, as it is now, nil if there is none.
func (l *ledger) callOf(id string) *session.Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.calls[id]
	if c == nil {
		return nil
	}
	return new(*c)
}

// callsOf returns the calls that a run has made itself, as they are now.
func (l *ledger) callsOf(path string) []session.Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	var calls []session.Call
	if own := l.entries[path]; own != nil {
		for _, c := range own.made {
			calls = append(calls, *c)
		}
	}
	return calls
}

// waits reports whether a run, or one within it, waits for an answer.
func (l *ledger) waits(path string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		if c.Waits() && within(pathOf(c), path) {
			return true
		}
	}
	return false
}

// answered reports whether the user has answered a call of a run, or of one within it, after a position.
func (l *ledger) answered(path string, after int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	by := func(e *session.Event) bool {
		return e != nil && e.Author == session.User && e.Seq > after
	}
	for _, c := range l.calls {
		if c.Event.Seq <= after && (by(c.Response) || by(c.Decision)) && within(pathOf(c), path) {
			return true
		}
	}
	return false
}

// openCalls returns the calls of a run, and of those within it, that have no response.
func (l *ledger) openCalls(path string) []session.Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	var calls []session.Call
	for c := range l.open {
		if within(pathOf(c), path) {
			calls = append(calls, *c)
		}
	}
	slices.SortFunc(calls, func(a, b session.Call) int { return int(a.Event.Seq - b.Event.Seq) })
	return calls
}

// writeOf returns the last write of a state key in the workflow's run that a run is in.
func (l *ledger) writeOf(path, key string) (w write, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w, ok = l.writes[[2]string{rootOf(path), key}]
	return w, ok
}

// now returns the position up to which the log was read.
func (l *ledger) now() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.position
}

// rootOf returns the first element of a path: the run of the workflow.
func rootOf(path string) string {
	root, _, _ := strings.Cut(path, "/")
	return root
}

// above returns the path of the run that a run is directly within, "" for the outermost.
func above(path string) string { return path[:max(0, strings.LastIndexByte(path, '/'))] }

// element returns the last element of a path: the name of the node, and that of the run.
func element(path string) (name, run string) {
	name, run, _ = strings.Cut(path[strings.LastIndexByte(path, '/')+1:], "@")
	return name, run
}

// within reports whether a path is that of a run or of one within it.
func within(path, run string) bool {
	rest, ok := strings.CutPrefix(path, run)
	return ok && (rest == "" || rest[0] == '/')
}

package compaction

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/plughook/plughook/plugins/compaction/internal/extract"
	"github.com/plughook/plughook/plugins/compaction/internal/meter"
	"github.com/plughook/plughook/session"
)

// maxIndexed is how many events the indexes of all sessions may hold together, at about 40 bytes each. Beyond it the
// index that was not used for longest is dropped.
const maxIndexed = 1 << 20

// An index is what the tool recall knows of a session's log without reading it: what became of its events, and which
// of them have a text. It has no text. A call adds the events that have come since the last one.
type index struct {
	through  int64 // the position of the last event that was taken in
	statuses session.EventStatuses
	notes    []indexedNote
	texts    []indexedText
}

// An indexedNote is what one event of the plugin says about events that the prompt has only the beginning of.
type indexedNote struct {
	event     *session.Event // without contents
	shortened []int64
}

// An indexedText is an event that has a text.
type indexedText struct {
	seq      int64
	branch   string
	recalled bool // the text is what recall has returned
}

// add takes in the log's next event.
func (x *index) add(e *session.Event) {
	x.through = e.Seq
	x.statuses.Add(e)
	if n := meter.NoteOf(e); n != nil && len(n.Cleared)+len(n.Hidden) > 0 {
		bare := &session.Event{Seq: e.Seq, Actions: session.Actions{Rewind: e.Actions.Rewind}}
		if c := e.Actions.Compaction; c != nil {
			bare.Actions.Compaction = &session.Compaction{Through: c.Through, Keep: c.Keep}
		}
		x.notes = append(x.notes, indexedNote{event: bare, shortened: n.Shortened()})
	}
	if e.Marker() || e.Actions.Rewind != nil || !extract.Rendered(e) {
		return
	}
	branch := e.Branch
	if n := len(x.texts); n > 0 && x.texts[n-1].branch == branch {
		branch = x.texts[n-1].branch // which shares its memory
	}
	x.texts = append(x.texts, indexedText{seq: e.Seq, branch: branch, recalled: extract.Recalled(e)})
}

// covered returns the events that a live summary stands for, or of which the prompt has only the beginning.
func (x *index) covered(sees func(branch string) bool) (list []indexedText) {
	shortened := map[int64]bool{}
	for _, n := range x.notes {
		if x.statuses.Of(n.event).Live {
			for _, seq := range n.shortened {
				shortened[seq] = true
			}
		}
	}
	for _, text := range x.texts {
		status := x.statuses.Of(&session.Event{Seq: text.seq})
		isCovered := status.Void == 0 && (status.Behind != 0 || status.Live && shortened[text.seq])
		if isCovered && sees(text.branch) {
			list = append(list, text)
		}
	}
	return list
}

// indexes are those of the sessions in which the tool was called of late.
type indexes struct {
	mu   sync.Mutex
	kept []*keptIndex // the last used one comes last
}

// keptIndex is the index of a session of the store.
type keptIndex struct {
	session int64 // Session.Number
	size    atomic.Int64
	mu      sync.Mutex // index
	index   index
}

// of returns the index of a session's log up to a position. The caller may use it while others go on.
func (k *indexes) of(ctx context.Context, sessions session.Reader, inv *session.Invocation) (index, error) {
	kept := k.take(inv.Number)
	kept.mu.Lock()
	defer kept.mu.Unlock()
	x := &kept.index
	for e, err := range sessions.Read(ctx, inv.Key, session.Selection{After: x.through}) {
		if err != nil {
			return index{}, fmt.Errorf("cannot read the log: %w", err)
		}
		if e.Seq > inv.Position {
			break
		}
		x.add(e)
	}
	kept.size.Store(int64(len(x.texts)))
	x.statuses.Of(&session.Event{}) // what it computes is shared by its copies
	return *x, nil
}

// take returns the index of a session, and drops others if there are too many. The number 0 names no session.
func (k *indexes) take(number int64) *keptIndex {
	taken := &keptIndex{session: number}
	if number == 0 {
		return taken
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	var others []*keptIndex
	for _, kept := range k.kept {
		if kept.session == number {
			taken = kept
		} else {
			others = append(others, kept)
		}
	}
	room := int64(maxIndexed)
	first := len(others)
	for first > 0 && room > 0 {
		first--
		room -= others[first].size.Load() + 1
	}
	k.kept = append(others[first:], taken)
	return taken
}

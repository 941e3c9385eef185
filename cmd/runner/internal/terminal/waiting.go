package terminal

import (
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/term"
)

// waitNotice is how long a program waits without a word.
const waitNotice = 300 * time.Millisecond

// A Waiting says on a terminal what a program waits for: in a line that goes away when something else is written.
type Waiting struct {
	out *os.File // the terminal; nil says nothing

	mu      sync.Mutex
	calls   []*waitedFor // oldest first
	shown   string       // the line that is there, "" if none is
	midLine bool         // what was written last has not ended its line, so there is no room
}

type waitedFor struct {
	what  string
	since time.Time
}

// NewWaiting returns a Waiting that says something on w, or nothing if w is no terminal that lines can be taken from.
func NewWaiting(w io.Writer) *Waiting {
	if !Is(w) || os.Getenv("TERM") == "dumb" {
		return &Waiting{}
	}
	return &Waiting{out: w.(*os.File)}
}

// Begin says that the program waits for something, until done is called.
func (w *Waiting) Begin(what string) (done func()) {
	call := &waitedFor{what: what, since: time.Now()}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, call)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.calls = slices.DeleteFunc(w.calls, func(c *waitedFor) bool { return c == call })
	}
}

// Show shows the line when there is something to wait for, until hide is called.
func (w *Waiting) Show() (hide func()) {
	if w.out == nil {
		return func() {}
	}
	stop := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(waitNotice / 3)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				w.draw()
			case <-stop:
				return
			}
		}
	}()
	return func() {
		close(stop)
		<-ended
		w.mu.Lock()
		defer w.mu.Unlock()
		w.erase()
	}
}

// draw shows the newest of the calls: the others wait for it, or began with it.
func (w *Waiting) draw() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.calls) == 0 || w.midLine {
		w.erase()
		return
	}
	newest := w.calls[len(w.calls)-1]
	waited := time.Since(newest.since)
	if waited < waitNotice {
		w.erase()
		return
	}
	text := "waiting for " + newest.what
	if waited >= time.Second {
		text += fmt.Sprintf(", %d s", int(waited.Seconds()))
	}
	line := []rune(text)
	if columns, _, err := term.GetSize(int(w.out.Fd())); err == nil && columns > 0 {
		line = line[:min(len(line), columns-1)] // a line that is broken in two cannot be taken back
	}
	if string(line) == w.shown {
		return
	}
	w.erase()
	fmt.Fprint(w.out, StyleOf(w.out).Dim(string(line)))
	w.shown = string(line)
}

func (w *Waiting) erase() {
	if w.shown != "" {
		fmt.Fprint(w.out, "\r\x1b[K")
		w.shown = ""
	}
}

// Writer returns a writer to what may be the same terminal: the line goes away before anything is written.
func (w *Waiting) Writer(to io.Writer) io.Writer {
	if w.out == nil || !Is(to) {
		return to
	}
	return besideWaiting{to, w}
}

type besideWaiting struct {
	to io.Writer
	w  *Waiting
}

// Write implements io.Writer.
func (b besideWaiting) Write(data []byte) (int, error) {
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	b.w.erase()
	if len(data) > 0 {
		b.w.midLine = data[len(data)-1] != '\n'
	}
	return b.to.Write(data)
}

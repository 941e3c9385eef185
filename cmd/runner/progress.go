package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// progress draws a bar on a terminal's standard error while something long goes on.
type progress struct {
	mu          sync.Mutex
	w           io.Writer // nil draws nothing
	what        string
	done, total int
	drawn       time.Time
}

// progress returns a bar for total things to do; it draws nothing where nobody would see it as a bar.
func (p *program) progress(what string, total int) *progress {
	b := &progress{what: what, total: total}
	if !p.quiet && !p.verbose && !p.explain && isTerminal(p.stderr) {
		b.w = p.stderr
	}
	return b
}

// add says that one more is done.
func (b *progress) add() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done++
	if b.w == nil || time.Since(b.drawn) < 50*time.Millisecond && b.done < b.total {
		return
	}
	b.drawn = time.Now()
	const width = 30
	full := width * b.done / max(b.total, 1)
	fmt.Fprintf(b.w, "\r%s [%s%s] %d of %d", b.what, strings.Repeat("#", full), strings.Repeat(".", width-full), b.done, b.total)
}

// end takes the bar away.
func (b *progress) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.w != nil && !b.drawn.IsZero() {
		fmt.Fprint(b.w, "\r\x1b[K")
	}
}

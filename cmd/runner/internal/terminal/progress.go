package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// A Progress draws a bar while something long goes on.
type Progress struct {
	mu          sync.Mutex
	w           io.Writer // nil draws nothing
	what        string
	done, total int
	drawn       time.Time
}

// NewProgress returns a bar for total things to do, drawn on w; nil draws nothing.
func NewProgress(w io.Writer, what string, total int) *Progress {
	return &Progress{w: w, what: what, total: total}
}

// Add says that one more is done.
func (p *Progress) Add() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	if p.w == nil || time.Since(p.drawn) < 50*time.Millisecond && p.done < p.total {
		return
	}
	p.drawn = time.Now()
	const width = 30
	full := min(width*p.done/max(p.total, 1), width) // there may be more to do than was said
	fmt.Fprintf(p.w, "\r%s [%s%s] %d of %d", p.what, strings.Repeat("#", full),
		strings.Repeat(".", width-full), p.done, p.total)
}

// End takes the bar away.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w != nil && !p.drawn.IsZero() {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

package web

import (
	"errors"
	"net/http"
	"time"
)

// piece is how many bytes of an answer are written at once.
const piece = 64 << 10

// patient is an http.ResponseWriter for a reader that may be slow, but may not stop.
type patient struct {
	http.ResponseWriter
	patience time.Duration
}

// Patient returns a ResponseWriter that fails when the client does not take the next 64 KiB within a time.
// Otherwise a client that reads no more would keep what its answer is made of for ever.
func Patient(w http.ResponseWriter, patience time.Duration) http.ResponseWriter {
	return &patient{ResponseWriter: w, patience: patience}
}

// Unwrap is for http.ResponseController.
func (p *patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// Write implements http.ResponseWriter.
func (p *patient) Write(data []byte) (n int, err error) {
	c := http.NewResponseController(p.ResponseWriter)
	for {
		// The deadline is of this piece. A ResponseWriter that has none (in a test) writes without.
		err := c.SetWriteDeadline(time.Now().Add(p.patience))
		if err != nil && !errors.Is(err, http.ErrNotSupported) {
			return n, err
		}
		m, err := p.ResponseWriter.Write(data[:min(len(data), piece)])
		n += m
		data = data[m:]
		if err != nil || len(data) == 0 {
			return n, err
		}
	}
}

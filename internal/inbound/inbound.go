// Package inbound bounds what servers send: the bodies of HTTP answers, and messages on a pipe.
//
// A limit on bytes alone bounds neither memory nor the stack: "{}," is three bytes and, decoded,
// hundreds, and a decoder calls itself for each "[". So JSON values and their depth are counted,
// too, while the bytes are read and before anything decodes them.
//
// A new bound: a constant beside the others, and where the bytes are counted.
package inbound

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
)

// The bounds of one answer. Beyond them, reading it fails with an *Error.
const (
	// MaxBytes is the most bytes of the body of an HTTP answer, and of one message on a pipe.
	MaxBytes = 32 << 20
	// MaxValues is the most JSON values of the body of an HTTP answer, of one event in a stream of
	// events, and of one message on a pipe.
	MaxValues = 500_000
	// MaxDepth is how deep JSON values may be in each other.
	MaxDepth = 1_000
	// maxRefusal is how many bytes are read of an answer with an HTTP status that says that it
	// failed. The rest is left out, without an error.
	maxRefusal = 64 << 10
)

// An Error says that a server has sent more than is read of it.
type Error struct{ what string }

func (e *Error) Error() string { return e.what }

// TooLarge returns the error of a server that has sent more than MaxBytes.
func TooLarge(where string) error { return tooMany(MaxBytes, "bytes "+where) }

func tooMany(n int, of string) error {
	return &Error{fmt.Sprintf("the server sends too much: more than %d %s, which is the most that is read; have it send less", n, of)}
}

// Bound bounds the body of an answer, after any decompression. A large one is decoded by the call that
// Hold has put into ctx, and without one until the body is closed.
func Bound(ctx context.Context, resp *http.Response) {
	if resp.StatusCode >= 400 {
		resp.Body = &refusal{Reader: io.LimitReader(resp.Body, maxRefusal), Closer: resp.Body}
		return
	}
	b := &body{in: resp.Body, ctx: ctx}
	b.held, _ = ctx.Value(holdKey{}).(*hold)
	if b.held == nil {
		b.held = &hold{}
		b.own = true
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	b.json.events = kind == "text/event-stream"
	resp.Body = b
}

type refusal struct {
	io.Reader
	io.Closer
}

// A body is the body of an answer.
type body struct {
	in    io.ReadCloser
	ctx   context.Context
	held  *hold
	own   bool // held ends with the body
	bytes int
	json  scanner
	err   error // why no more is read
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.in.Read(p)
	b.bytes += n
	b.err = b.json.scan(p[:n])
	if b.err == nil && b.bytes > MaxBytes {
		b.err = tooMany(MaxBytes, "bytes")
	}
	whole := err == io.EOF && b.json.isLarge()
	if b.err == nil && (whole || b.json.largeEvent) { // it is decoded next
		b.json.largeEvent = false
		b.err = b.held.take(b.ctx)
	}
	if b.err != nil {
		return 0, b.err
	}
	return n, err
}

// Close implements io.Closer.
func (b *body) Close() error {
	if b.own {
		b.held.release()
	}
	return b.in.Close()
}

// Messages returns a reader of JSON messages, such as one a line, whose Read fails with an *Error at
// a message that is too large.
func Messages(r io.Reader) io.Reader {
	return &messages{in: r, json: scanner{messages: true}}
}

type messages struct {
	in   io.Reader
	json scanner
	err  error
}

// Read implements io.Reader.
func (m *messages) Read(p []byte) (int, error) {
	if m.err != nil {
		return 0, m.err
	}
	n, err := m.in.Read(p)
	m.err = m.json.scan(p[:n])
	if m.err != nil {
		return 0, m.err
	}
	return n, err
}

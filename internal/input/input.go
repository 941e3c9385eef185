// Package input reads files and standard input for programs that people start. A read ends when its context is done, even
// where nothing ever comes (a pipe, a terminal), and never takes more memory than its bound.
//
// A new source of bytes: a function that takes a context and a bound.
package input

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// maxLine bounds, in bytes, one line of a file that is read line by line. Such a file may be long itself.
const maxLine = 256 << 20

// An Input is an open file, or standard input.
type Input struct {
	Name string // for messages
	// MaxLine is how many bytes one line may have; Read fails in a longer one.
	MaxLine int

	ctx   context.Context
	from  io.Reader
	close func() error
	line  int // bytes of the line that is being read
	buf   []byte
}

// Open opens a file. Opening a pipe that nobody writes to ends with the context.
func Open(ctx context.Context, name string) (*Input, error) {
	f, err := Within(ctx, func() (*os.File, error) { return os.Open(name) })
	if err != nil {
		return nil, err
	}
	in := Reader(ctx, name, f)
	in.close = f.Close
	return in, nil
}

// Reader returns an Input that reads from, which Close leaves open. The name is for messages.
func Reader(ctx context.Context, name string, from io.Reader) *Input {
	return &Input{Name: name, MaxLine: maxLine, ctx: ctx, from: from, close: func() error { return nil }}
}

// ReadFile reads a file of at most so many bytes.
func ReadFile(ctx context.Context, name string, most int64) ([]byte, error) {
	in, err := Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer in.Close() // it was only read
	return in.All(most)
}

// Close closes the file.
func (in *Input) Close() error { return in.close() }

// Read implements io.Reader.
func (in *Input) Read(p []byte) (int, error) {
	size := min(len(p), 1<<16)
	data, err := Within(in.ctx, func() ([]byte, error) {
		// The read may outlive this call, so it has a buffer of its own.
		if len(in.buf) < size {
			in.buf = make([]byte, size)
		}
		n, err := in.from.Read(in.buf[:size])
		return in.buf[:n], err
	})
	if end := bytes.LastIndexByte(data, '\n'); end >= 0 {
		in.line = len(data) - end - 1
	} else {
		in.line += len(data)
	}
	if in.line > in.MaxLine && err == nil {
		err = fmt.Errorf("a line is longer than %d MiB, the limit", in.MaxLine>>20)
	}
	return copy(p, data), err
}

// All reads everything. More than so many bytes are an error.
func (in *Input) All(most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(in, most+1))
	if err == nil && int64(len(data)) > most {
		err = &fs.PathError{Op: "read", Path: in.Name, Err: fmt.Errorf("it is larger than %d MiB, the limit", most>>20)}
	}
	return data, err
}

// Within calls do, which cannot be cancelled, such as a read of standard input, and returns early with the context's cause
// when the context is done. Then do is left alone: it ends by itself, or with the process.
func Within[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	var none T
	if err := context.Cause(ctx); err != nil {
		return none, err
	}
	done := make(chan result, 1)
	go func() {
		value, err := do()
		done <- result{value, err}
	}()
	select {
	case <-ctx.Done():
		return none, context.Cause(ctx)
	case r := <-done:
		return r.value, r.err
	}
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Bounds, in bytes, of what is read whole: a file may be one that never ends.
const (
	maxConfig  = 1 << 20
	maxMessage = 16 << 20  // and a chat's line
	maxFile    = 64 << 20  // that goes with a message
	maxLine    = 256 << 20 // of a session file, which may be long itself
)

// input is a file or standard input. Reading it ends with its context, also where nothing comes.
type input struct {
	ctx   context.Context
	name  string
	from  io.Reader
	close func() error
	most  int // bytes of one line
	line  int // bytes of the line that is being read
	buf   []byte
}

// openInput opens a file; "-" is standard input.
func (p *program) openInput(ctx context.Context, name string) (*input, error) {
	if name == "-" {
		return p.standardInput(ctx), nil
	}
	return openFile(ctx, name)
}

func (p *program) standardInput(ctx context.Context) *input {
	return &input{ctx: ctx, name: "standard input", from: p.stdin, close: func() error { return nil }, most: maxLine}
}

func openFile(ctx context.Context, name string) (*input, error) {
	f, err := within(ctx, func() (*os.File, error) { return os.Open(name) })
	if err != nil {
		return nil, err
	}
	return &input{ctx: ctx, name: name, from: f, close: f.Close, most: maxLine}, nil
}

// Read implements io.Reader.
func (in *input) Read(p []byte) (int, error) {
	size := min(len(p), 1<<16)
	data, err := within(in.ctx, func() ([]byte, error) {
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
	if in.line > in.most && err == nil {
		err = fmt.Errorf("a line is longer than %d MiB, the most that is taken", in.most>>20)
	}
	return copy(p, data), err
}

// all reads all that there is, at most so many bytes.
func (in *input) all(most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(in, most+1))
	if err == nil && int64(len(data)) > most {
		err = &fs.PathError{Op: "read", Path: in.name, Err: fmt.Errorf("it is larger than %d MiB, the most that is taken", most>>20)}
	}
	return data, err
}

// readFile reads a file of at most so many bytes.
func readFile(ctx context.Context, name string, most int64) ([]byte, error) {
	in, err := openFile(ctx, name)
	if err != nil {
		return nil, err
	}
	defer in.close() // it was only read
	return in.all(most)
}

// within does what cannot be cancelled, such as a read of standard input, and leaves it when the context is
// done: then it ends by itself, or with the process.
func within[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	if err := context.Cause(ctx); err != nil {
		var none T
		return none, err
	}
	go func() {
		value, err := do()
		done <- result{value, err}
	}()
	select {
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	case r := <-done:
		return r.value, r.err
	}
}

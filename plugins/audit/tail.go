package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json"
)

// tail is what a file of lines ends with.
type tail struct {
	n     int64
	line  []byte    // the last whole line, without its line feed; nil if there is none
	cut   int64     // bytes after it
	birth time.Time // when the first line was written
}

// stamped is what is read of a line again.
type stamped struct {
	N       int64     `json:"n"`
	Prev    string    `json:"prev"`
	Kind    string    `json:"kind"`
	Written time.Time `json:"written"`
}

var errForeign = errors.New("it has something else than an audit's lines; move it away, or name another file")

func parse(text []byte) (stamped, error) {
	var s stamped
	if err := json.Unmarshal(text, &s); err != nil || s.N < 1 || s.Kind == "" {
		return s, errForeign
	}
	return s, nil
}

// longest is more bytes than a line can have: its lists are bounded, and so are the names in them.
const longest = 4 << 20

// readTail reads the end of a file of this size, from behind, and its first line.
func readTail(f io.ReaderAt, size int64) (t tail, err error) {
	const step = 64 << 10
	var end []byte // from the beginning of the last whole line on, once it is read
	for from := size; from > 0 && bytes.Count(end, []byte("\n")) < 2; {
		if len(end) > longest {
			return t, errForeign
		}
		to := from
		from = max(0, from-step)
		block := make([]byte, to-from, to-from+int64(len(end)))
		if _, err := f.ReadAt(block, from); err != nil && err != io.EOF {
			return t, err
		}
		end = append(block, end...)
	}
	last := bytes.LastIndexByte(end, '\n')
	t.cut = int64(len(end) - last - 1)
	if last < 0 { // no line is whole
		if size > 0 && !bytes.HasPrefix(end, []byte(`{"n":`)[:min(len(end), 5)]) {
			return t, errForeign
		}
		return t, nil
	}
	t.line = end[bytes.LastIndexByte(end[:last], '\n')+1 : last]
	s, err := parse(t.line)
	if err != nil {
		return t, fmt.Errorf("its last line: %w", err)
	}
	t.n = s.N
	text, err := bufio.NewReader(io.NewSectionReader(f, 0, min(size, longest))).ReadBytes('\n')
	if err != nil && err != io.EOF {
		return t, err
	}
	first, err := parse(text)
	if err != nil {
		return t, fmt.Errorf("its first line: %w", err)
	}
	t.birth = first.Written
	return t, nil
}

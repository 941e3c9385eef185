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

// ErrBroken is the error of a chain in which a line was changed, removed, added, moved, or cut off.
var ErrBroken = errors.New("the chain is broken")

// A Chain is what Verify has found to be correct.
type Chain struct {
	// First and Last are the numbers of the first and last line, 0 if there is none. If First is above 1, the chain
	// began in files that were not read.
	First, Last int64
	// Hash is the hash of the last line. Keep it with Last in another place, to show later that nothing up to that line
	// was changed or removed.
	Hash string
	// Repairs counts the lines of kind repair.
	Repairs int
}

// Verify reads lines and checks that each follows the one before. key is the plugin's key (without the line feed at the end
// of a key file), nil if it has none. To verify several files of one chain, give them as one reader (io.MultiReader): old
// files in the order of their numbers, then the current one. The error is ErrBroken if a line is wrong. Verify returns the
// Chain up to the error.
func Verify(r io.Reader, key []byte) (Chain, error) {
	var c Chain
	var k *keys
	if key != nil {
		var err error
		k, err = newKeys(key, "Verify")
		if err != nil {
			return c, err
		}
	}
	in := bufio.NewReader(r)
	for at := int64(1); ; at++ {
		text, err := in.ReadBytes('\n')
		if err == io.EOF && len(text) == 0 {
			return c, nil
		}
		if err != nil && err != io.EOF {
			return c, fmt.Errorf("audit: line %d: %w", at, err)
		}
		text, complete := bytes.CutSuffix(text, []byte("\n"))
		if !complete {
			return c, fmt.Errorf("audit: line %d: %w: it is cut off", at, ErrBroken)
		}
		next, why := c.next(text, k)
		if why != "" {
			return c, fmt.Errorf("audit: line %d: %w: %s", at, ErrBroken, why)
		}
		c = next
	}
}

// next returns the chain with one more line, or why the line does not follow.
func (c Chain) next(text []byte, k *keys) (next Chain, why string) {
	l, err := parseLine(text)
	if err != nil {
		return c, "it is not a line of an audit"
	}
	if c.First == 0 {
		if l.N == 1 && l.Prev != "" {
			return c, "it is the first line of the chain, but has the hash of one before it"
		}
		c.First = l.N
	} else {
		if l.N != c.Last+1 {
			return c, fmt.Sprintf("its number is %d, after %d", l.N, c.Last)
		}
		if l.Prev != c.Hash {
			return c, fmt.Sprintf("line number %d or this one was changed, or the key is wrong", c.Last)
		}
	}
	if l.Kind == "repair" {
		c.Repairs++
	}
	c.Last = l.N
	c.Hash = k.hash(text)
	return c, ""
}

// A lineHead is what is read of a line.
type lineHead struct {
	N       int64     `json:"n"`
	Prev    string    `json:"prev"`
	Kind    string    `json:"kind"`
	Written time.Time `json:"written"`
}

var errForeign = errors.New("it has something else than an audit's lines; move it away, or name another file")

func parseLine(text []byte) (lineHead, error) {
	var l lineHead
	err := json.Unmarshal(text, &l)
	if err != nil || l.N < 1 || l.Kind == "" {
		return l, errForeign
	}
	return l, nil
}

// A tail is the end of a file of lines.
type tail struct {
	n     int64     // the number of the last complete line
	line  []byte    // that line without its line feed; nil if there is none
	cut   int64     // the number of bytes after it
	birth time.Time // when the first line of the file was written
}

// maxLine is more bytes than a line can have, since its lists and names are limited.
const maxLine = 4 << 20

// readTail reads the end of a file of this size, and its first line.
func readTail(f io.ReaderAt, size int64) (t tail, err error) {
	// Read blocks from the end until they contain the last complete line.
	const blockSize = 64 << 10
	var end []byte
	from := size
	for from > 0 && bytes.Count(end, []byte("\n")) < 2 {
		if len(end) > maxLine {
			return t, errForeign
		}
		to := from
		from = max(0, from-blockSize)
		block := make([]byte, to-from, to-from+int64(len(end)))
		_, err := f.ReadAt(block, from)
		if err != nil && err != io.EOF {
			return t, err
		}
		end = append(block, end...)
	}

	// Without a complete line, the file is empty or has the beginning of its first line.
	last := bytes.LastIndexByte(end, '\n')
	t.cut = int64(len(end) - last - 1)
	if last < 0 {
		beginning := []byte(`{"n":`)
		if !bytes.HasPrefix(end, beginning[:min(len(end), len(beginning))]) {
			return t, errForeign
		}
		return t, nil
	}

	t.line = end[bytes.LastIndexByte(end[:last], '\n')+1 : last]
	lastLine, err := parseLine(t.line)
	if err != nil {
		return t, fmt.Errorf("its last line: %w", err)
	}
	t.n = lastLine.N
	text, err := bufio.NewReader(io.NewSectionReader(f, 0, min(size, maxLine))).ReadBytes('\n')
	if err != nil && err != io.EOF {
		return t, err
	}
	firstLine, err := parseLine(text)
	if err != nil {
		return t, fmt.Errorf("its first line: %w", err)
	}
	t.birth = firstLine.Written
	return t, nil
}

// Package answers keeps what judges have answered in a file, so that a repeat asks nobody again.
//
// A new thing to keep with an answer: a field of line.
package answers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"sync"

	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/internal/input"
	"github.com/plughook/plughook/plugins/guardrail"
)

// Kept is what judges have answered. Each answer is written when it comes, so that what
// was paid for is kept when the command is broken off.
type Kept struct {
	mu    sync.Mutex
	known map[string]string // by the question
	file  *os.File          // nil if no answer is kept
}

// maxFile is how many bytes a file may have.
const maxFile = 1 << 30

// line is a line of the file.
type line struct {
	Question string `json:"question"` // guardrail.JudgeAnswer.Question
	Answer   string `json:"answer"`   // as it came
}

// Open reads a file of answers, which need not be there; "" is none.
func Open(ctx context.Context, name string) (*Kept, error) {
	kept := &Kept{known: map[string]string{}}
	if name == "" {
		return kept, nil
	}
	data, err := input.ReadFile(ctx, name, maxFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, exit.Usage.As(err)
	}
	for i, text := range bytes.Split(data, []byte("\n")) {
		var a line
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		if json.Unmarshal(text, &a) != nil || a.Question == "" {
			return nil, exit.Usage.Errorf("%s:%d: this is no recorded answer: "+
				"name a file with --answers that an evaluation has written, or delete the line", name, i+1)
		}
		kept.known[a.Question] = a.Answer
	}
	kept.file, err = os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil && len(data) > 0 && data[len(data)-1] != '\n' {
		_, err = kept.file.WriteString("\n") // some editors leave it out
	}
	return kept, exit.Usage.As(err)
}

// Len returns how many answers there are.
func (k *Kept) Len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.known)
}

// Of returns the answer to a question, if it is known.
func (k *Kept) Of(question string) (raw string, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	raw, ok = k.known[question]
	return raw, ok
}

// Add keeps an answer, if one came.
func (k *Kept) Add(a guardrail.JudgeAnswer) error {
	if a.Raw == "" {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known[a.Question] = a.Raw
	if k.file == nil {
		return nil
	}
	data, err := json.Marshal(line{Question: a.Question, Answer: a.Raw})
	if err == nil {
		_, err = k.file.Write(append(data, '\n'))
	}
	return exit.Other.As(err)
}

// Close closes the file.
func (k *Kept) Close() error {
	if k.file == nil {
		return nil
	}
	return exit.Other.As(k.file.Close())
}

package policy

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
)

// recordedAnswer is a line of the file of answers.
type recordedAnswer struct {
	Question string `json:"question"` // guardrail.JudgeQuestion.ID
	Answer   string `json:"answer"`   // as it came
}

// answerFile has what judges have answered. Each answer is written when it comes, so that what was paid
// for is kept when the command is broken off.
type answerFile struct {
	mu    sync.Mutex
	known map[string]string // by the question
	file  *os.File          // nil if no answer is kept
}

// openAnswers reads a file of answers, which need not be there; "" is none.
func openAnswers(ctx context.Context, name string) (*answerFile, error) {
	a := &answerFile{known: map[string]string{}}
	if name == "" {
		return a, nil
	}
	data, err := input.ReadFile(ctx, name, maxEvalFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, exit.Usage.As(err)
	}
	for i, line := range bytes.Split(data, []byte("\n")) {
		var r recordedAnswer
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if json.Unmarshal(line, &r) != nil || r.Question == "" {
			return nil, exit.Usage.Errorf("%s:%d: this is no recorded answer: "+
				"name a file with --answers that policy eval has written, or delete the line", name, i+1)
		}
		a.known[r.Question] = r.Answer
	}
	a.file, err = os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil && len(data) > 0 && data[len(data)-1] != '\n' {
		_, err = a.file.WriteString("\n") // some editors leave it out
	}
	return a, exit.Usage.As(err)
}

// of returns the answer to a question, if it is known.
func (a *answerFile) of(question string) (raw string, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	raw, ok = a.known[question]
	return raw, ok
}

// add keeps an answer.
func (a *answerFile) add(question, raw string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known[question] = raw
	if a.file == nil {
		return nil
	}
	data, err := json.Marshal(recordedAnswer{Question: question, Answer: raw})
	if err == nil {
		_, err = a.file.Write(append(data, '\n'))
	}
	return exit.Other.As(err)
}

func (a *answerFile) close() error {
	if a.file == nil {
		return nil
	}
	return exit.Other.As(a.file.Close())
}

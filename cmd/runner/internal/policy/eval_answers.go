package policy

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"sync"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/internal/input"
)

// recordedAnswer is a line of the file of answers.
type recordedAnswer struct {
	Rule     string `json:"rule"`
	Question string `json:"question"` // guardrail.JudgeQuestion.ID
	Answer   string `json:"answer"`   // as it came
}

// answerFile has what judges have answered. Each answer is written when it comes, so that what was paid
// for is kept when the command is broken off.
type answerFile struct {
	name string // "" if no answer is kept
	rule string

	mu    sync.Mutex
	known map[string]string // by the question
	file  *os.File          // nil until an answer comes
	cut   bool              // the last line of the file has no line feed, as some editors leave it
}

// maxAnswers is how many bytes a file of answers may have.
const maxAnswers = 1 << 30

// openAnswers reads a file of answers, which need not be there; "" is none.
func openAnswers(ctx context.Context, name, rule string) (*answerFile, error) {
	a := &answerFile{name: name, rule: rule, known: map[string]string{}}
	if name == "" {
		return a, nil
	}
	data, err := input.ReadFile(ctx, name, maxAnswers)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, exit.Usage.As(err)
	}
	a.cut = len(data) > 0 && data[len(data)-1] != '\n'
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, cli.MaxMessage)
	for n := 1; lines.Scan(); n++ {
		var r recordedAnswer
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		wrong := ""
		switch {
		case validLine(lines.Bytes()) != nil:
			wrong = "the line is not JSON"
		case json.Unmarshal(lines.Bytes(), &r) != nil:
			wrong = "rule, question and answer are texts"
		case r.Question == "":
			wrong = "question is missing"
		}
		if wrong != "" {
			return nil, exit.Usage.Errorf("%s:%d: this is no recorded answer, since %s; name a file with --answers that policy eval has written, or delete the line: it is asked again",
				name, n, wrong)
		}
		a.known[r.Question] = r.Answer
	}
	if err := lines.Err(); err != nil {
		return nil, exit.Usage.Errorf("%s: %w", name, err)
	}
	return a, nil
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
	if a.name == "" {
		return nil
	}
	if a.file == nil {
		file, err := os.OpenFile(a.name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return exit.Usage.As(err)
		}
		a.file = file
	}
	data, err := json.Marshal(recordedAnswer{Rule: a.rule, Question: question, Answer: raw})
	if err != nil {
		panic(err) // these are texts
	}
	if a.cut {
		data = append([]byte("\n"), data...)
		a.cut = false
	}
	_, err = a.file.Write(append(data, '\n'))
	return exit.Other.As(err)
}

func (a *answerFile) close() error {
	if a.file == nil {
		return nil
	}
	return exit.Other.As(a.file.Close())
}

package compaction

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
)

// finished returns the text of an answer that the model has finished, or why it is none.
func finished(r *model.Response) (string, error) {
	if r.ErrorCode != "" || r.FinishReason != genai.FinishReasonStop {
		return "", fmt.Errorf("the model has not finished its answer: %s", word(cmp.Or(r.ErrorCode, string(r.FinishReason))))
	}
	var b strings.Builder
	if r.Content != nil {
		for _, p := range r.Content.Parts {
			switch {
			case p == nil || p.Thought:
			case p.FunctionCall != nil || p.FunctionResponse != nil || p.ExecutableCode != nil || p.CodeExecutionResult != nil || p.InlineData != nil || p.FileData != nil:
				return "", errors.New("the model has answered with a call or a file in place of text")
			default:
				b.WriteString(p.Text)
			}
		}
	}
	text := strings.TrimSpace(strings.ToValidUTF8(b.String(), "\uFFFD"))
	if text == "" {
		return "", errors.New("the model has answered without text")
	}
	return text, nil
}

// failed says what became of a request, in words that have nothing of the conversation: what a server says of
// a request may quote it.
func failed(ctx context.Context, err error) error {
	var coded *model.Error
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &coded) && coded.Status != 0:
		return fmt.Errorf("the model failed: %s (HTTP status %d)", word(coded.Code), coded.Status)
	case errors.As(err, &coded):
		return fmt.Errorf("the model failed: %s", word(coded.Code))
	}
	return fmt.Errorf("the model failed: %s", model.Failed)
}

// word returns a code if it looks like one.
func word(code string) string {
	if code == "" {
		return "no reason was given"
	}
	for _, r := range code {
		if r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') || len(code) > 64 {
			return "a reason that is no code"
		}
	}
	return code
}

package script

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
)

// scriptedAnswer is what a rule answers to one request.
type scriptedAnswer struct {
	thought, text string
	calls         []*genai.Part
	finish        genai.FinishReason
	fail          *model.Error
	chunk         int // runes
	delay         time.Duration
	usage         *genai.GenerateContentResponseUsageMetadata
}

// give yields the answer: chunks of its texts, if a stream is wanted, and the whole.
func (a *scriptedAnswer) give(ctx context.Context, stream bool, yield func(*model.Response, error) bool) {
	var chunks []*genai.Part
	if stream {
		chunks = append(a.chunks(a.thought, true), a.chunks(a.text, false)...)
	}
	pause := a.delay / time.Duration(max(1, len(chunks)))
	for _, p := range chunks {
		if err := wait(ctx, pause); err != nil {
			yield(nil, err)
			return
		}
		if !yield(&model.Response{Content: content(p), Partial: true, ModelVersion: version}, nil) {
			return
		}
	}
	if len(chunks) == 0 {
		if err := wait(ctx, pause); err != nil {
			yield(nil, err)
			return
		}
	}
	whole := a.whole()
	switch {
	case a.fail != nil:
		yield(nil, a.fail)
	case whole.Content == nil && whole.ErrorCode == "":
		yield(nil, errNothing)
	default:
		yield(whole, nil)
	}
}

var errNothing = &model.Error{Code: model.NoAnswer,
	Err: errors.New("the rule's texts came out empty")}

// version is what the model calls itself.
const version = "script"

func (a *scriptedAnswer) whole() *model.Response {
	var parts []*genai.Part
	if a.thought != "" {
		parts = append(parts, &genai.Part{Text: a.thought, Thought: true})
	}
	if a.text != "" {
		parts = append(parts, &genai.Part{Text: a.text})
	}
	r := &model.Response{
		Content:       content(append(parts, a.calls...)...),
		FinishReason:  a.finish,
		UsageMetadata: a.usage,
		ModelVersion:  version,
	}
	if a.finish != genai.FinishReasonStop {
		r.ErrorCode = string(a.finish)
		r.ErrorMessage = "the script ends this answer so"
	}
	return r
}

func content(parts ...*genai.Part) *genai.Content {
	if len(parts) == 0 {
		return nil
	}
	return &genai.Content{Role: genai.RoleModel, Parts: parts}
}

// chunks cuts a text.
func (a *scriptedAnswer) chunks(text string, thought bool) (list []*genai.Part) {
	for text != "" {
		end := 0
		for i := 0; i < a.chunk && end < len(text); i++ {
			_, size := utf8.DecodeRuneInString(text[end:])
			end += size
		}
		list = append(list, &genai.Part{Text: text[:end], Thought: thought})
		text = text[end:]
	}
	return list
}

func wait(ctx context.Context, d time.Duration) error {
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// estimate fills in the counts that the rule does not say: a token is about four characters.
func (a *scriptedAnswer) estimate(req *model.Request) {
	u := a.usage
	if u.PromptTokenCount == 0 {
		contents := req.Contents
		if req.Config != nil {
			contents = append([]*genai.Content{req.Config.SystemInstruction}, contents...)
		}
		var all strings.Builder
		for _, c := range contents {
			for _, p := range parts(c) {
				all.WriteString(written(p))
			}
		}
		u.PromptTokenCount = tokens(all.String())
	}
	if u.CandidatesTokenCount == 0 {
		said := a.text
		for _, p := range a.calls {
			said += written(p)
		}
		u.CandidatesTokenCount = tokens(said)
	}
	u.ThoughtsTokenCount = tokens(a.thought)
	u.TotalTokenCount = u.PromptTokenCount + u.CandidatesTokenCount + u.ThoughtsTokenCount
}

func tokens(text string) int32 { return int32((utf8.RuneCountInString(text) + 3) / 4) }

// written is what a part has for the model to read.
func written(p *genai.Part) string {
	text := p.Text
	add := func(name string, object map[string]any) {
		text += name
		if len(object) > 0 {
			data, _ := jsonOf(object) // what is no JSON is not counted: it is a guess anyway
			text += data
		}
	}
	if c := p.FunctionCall; c != nil {
		add(c.Name, c.Args)
	}
	if r := p.FunctionResponse; r != nil {
		add(r.Name, r.Response)
	}
	return text
}

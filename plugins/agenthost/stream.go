package agenthost

import (
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agenthooks"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// A stream is a model's answer that is being made. It is judged one chunk behind: what came is judged and shown when more
// comes, so that the last chunk is judged with the whole.
type stream struct {
	released string // what was shown
	raw      string // what it was before transforms
	pending  string // what was not judged yet
}

// partial judges a chunk.
func (s *subject) partial(e *session.Event) (plugin.Outcome, error) {
	model, awaited := s.waiting[asker{agent: e.Author, branch: e.Branch}]
	chunk := e.Text()
	if !awaited || chunk == "" {
		return plugin.Outcome{Withhold: true}, nil
	}
	st := s.streams[e.ID]
	if st == nil {
		st = &stream{}
		s.streams[e.ID] = st
	}
	if st.pending == "" || len(st.pending) < s.Segment {
		st.pending += chunk
		return plugin.Outcome{Withhold: true}, nil
	}
	r, err := s.askAnswer(model, []*genai.Part{{Text: st.released + st.pending}}, nil, "incremental", st, "")
	switch {
	case err != nil:
		return plugin.Outcome{}, err
	case !r.Proceed:
		return *s.block(r), nil
	}
	text := st.released + st.pending
	if r.Changed {
		parts, err := partsOf(r.Target, genai.RoleModel)
		if err != nil {
			return plugin.Outcome{}, err
		}
		text = textOf(parts)
	}
	shown := strings.TrimPrefix(text, st.released)
	st.released = text
	st.raw += st.pending
	st.pending = chunk
	if shown == "" {
		return plugin.Outcome{Withhold: true}, nil
	}
	c := e.Clone()
	c.Content.Parts = []*genai.Part{{Text: shown}}
	return plugin.Outcome{Replace: c}, nil
}

// askAnswer emits post_model_call.
func (s *subject) askAnswer(
	model string, parts []*genai.Part, calls []toolCall, finish string, st *stream, refuse string,
) (agenthooks.Result, error) {
	response := map[string]any{"content": nil, "tool_calls": append([]toolCall{}, calls...), "finish_reason": finish}
	if len(parts) > 0 {
		response["content"] = contentOf(parts)
	}
	shown := ""
	if st != nil {
		shown = st.released
	}
	return s.emit(agenthooks.Ask{
		Point:  agenthooks.PostModelCall,
		Fields: agenthooks.Fields{"model": encode(map[string]string{"id": model}), "response": encode(response)},
		Refuse: refuse,
		Usable: func(target jsontext.Value) error {
			if _, err := readAnswer(target, calls); err != nil {
				return err
			}
			if shown == "" {
				return nil
			}
			return beginsWith(target, genai.RoleModel, shown)
		},
	})
}

// An answerRead is a response that was transformed.
type answerRead struct {
	Content jsontext.Value `json:"content"`
	Calls   []toolCall     `json:"tool_calls"`
	Finish  string         `json:"finish_reason"`
	parts   []*genai.Part
}

// readAnswer reads a response back. It may have calls changed or taken away, but no others.
func readAnswer(target jsontext.Value, calls []toolCall) (*answerRead, error) {
	var a answerRead
	if err := json.Unmarshal(target, &a); err != nil {
		return nil, errContent
	}
	if a.Content.Kind() != 'n' {
		var err error
		if a.parts, err = readParts(a.Content, genai.RoleModel); err != nil {
			return nil, err
		}
	}
	for _, c := range a.Calls {
		if _, err := readArgs(c.Args); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(calls, func(was toolCall) bool { return was.ID == c.ID }) {
			return nil, errors.New("there is no such call")
		}
	}
	return &a, nil
}

// passed reports whether the event has text that was shown and therefore judged, and no more: what the runner keeps of an
// answer that broke off.
func (j *judged) passed() bool {
	s := j.streams[j.given.ID]
	return s != nil && j.given.Interrupted && j.given.ErrorCode == "" && len(j.given.FunctionCalls()) == 0 &&
		j.given.Text() == s.released && len(visible(j.given)) == 1
}

// answer judges a model's answer: the event after a BeforeModel of the same agent and branch.
func (j *judged) answer() error {
	waits := asker{agent: j.given.Author, branch: j.given.Branch}
	model, again := j.answers[j.given.ID]
	if !again {
		var awaited bool
		if model, awaited = j.waiting[waits]; !awaited || j.passed() {
			return nil
		}
		delete(j.waiting, waits)
		j.answers[j.given.ID] = model
	}
	st := j.streams[j.given.ID]

	// A model that failed has no answer. Nothing stays of it that was not judged.
	if j.given.ErrorCode != "" && j.given.FinishReason == "" {
		return j.failed(model, st)
	}

	// What was shown may be another text than the model's.
	if st != nil && st.released != st.raw {
		if rest, ok := strings.CutPrefix(j.now.Text(), st.raw); ok {
			e := j.change("")
			others := slices.DeleteFunc(e.Content.Parts, isVisible)
			e.Content.Parts = append([]*genai.Part{{Text: st.released + rest}}, others...)
		}
	}
	parts, calls := answerParts(j.now)
	r, err := j.askAnswer(model, parts, calls, finish(j.now), st, "")
	switch {
	case err != nil:
		return err
	case !r.Proceed:
		j.end = j.block(r)
		return nil
	case !r.Changed:
		return nil
	}
	a, err := readAnswer(r.Target, calls)
	if err != nil {
		return err
	}
	e := j.change(r.Verdict.Reason)
	changed := a.parts
	for _, p := range e.Parts() {
		if p.FunctionCall == nil {
			continue
		}
		k := slices.IndexFunc(a.Calls, func(c toolCall) bool { return c.ID == callOf(p.FunctionCall).ID })
		if k < 0 {
			continue
		}
		args, err := readArgs(a.Calls[k].Args)
		if err != nil {
			return err
		}
		p.FunctionCall.Name = a.Calls[k].Name
		p.FunctionCall.Args = args
		changed = append(changed, p)
	}
	if e.Content == nil {
		e.Content = &genai.Content{Role: genai.RoleModel}
	}
	e.Content.Parts = changed
	e.GroundingMetadata, e.CitationMetadata = nil, nil
	return nil
}

// failed takes out of the event of a model that failed what nobody has judged.
func (j *judged) failed(model string, st *stream) error {
	if st != nil && st.pending != "" {
		parts, calls := answerParts(j.now)
		r, err := j.askAnswer(model, parts, calls, "stream_incomplete", st, agenthooks.StreamingUnsupported)
		if err == nil && !r.Proceed {
			j.end = j.block(r)
		}
		return err
	}
	if j.given.Content == nil {
		return nil
	}
	e := j.change("the model failed")
	e.Content = nil
	if st != nil && st.released != "" {
		e.Content = genai.NewContentFromText(st.released, genai.RoleModel)
	}
	return nil
}

// answerParts returns what an answer has beside its calls, thoughts among it, and the calls.
func answerParts(e *session.Event) (parts []*genai.Part, calls []toolCall) {
	for _, p := range e.Parts() {
		if p.FunctionCall == nil {
			parts = append(parts, p)
			continue
		}
		calls = append(calls, callOf(p.FunctionCall))
	}
	return parts, calls
}

// finish returns the reason why an answer ended, in the contract's words.
func finish(e *session.Event) string {
	switch {
	case e.FinishReason == genai.FinishReasonMaxTokens:
		return "length"
	case e.FinishReason != "" && e.FinishReason != genai.FinishReasonStop:
		return strings.ToLower(string(e.FinishReason))
	case len(e.FunctionCalls()) > 0:
		return "tool_calls"
	}
	return "stop"
}

package runner

import (
	"reflect"
	"slices"
	"unsafe"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// seal remembers an event's fields, parts and maps, so that a hook which changes one in place is found
// out. It does not look behind the pointers of metadata, nor into inline bytes.
type seal struct {
	of    *session.Event
	event session.Event
	parts []genai.Part
	calls []genai.FunctionCall
	resps []genai.FunctionResponse
	role  string
	cut   session.Compaction
	to    session.Rewind
	maps  []any // copies of the maps that the event has, in the order of mapsOf
}

// mapsOf returns the event's maps that have something in them.
func mapsOf(e *session.Event) []any {
	var list []any
	add := func(m map[string]any) {
		if len(m) > 0 {
			list = append(list, m)
		}
	}
	add(e.CustomMetadata)
	add(e.Actions.StateDelta)
	if len(e.Actions.StateIncrement) > 0 {
		list = append(list, e.Actions.StateIncrement)
	}
	if len(e.Actions.RequestedToolConfirmations) > 0 {
		list = append(list, e.Actions.RequestedToolConfirmations)
	}
	if len(e.LongRunningToolIDs) > 0 {
		list = append(list, e.LongRunningToolIDs)
	}
	if e.Content != nil {
		for _, p := range e.Content.Parts {
			if p != nil && p.FunctionCall != nil {
				add(p.FunctionCall.Args)
			}
			if p != nil && p.FunctionResponse != nil {
				add(p.FunctionResponse.Response)
			}
		}
	}
	return list
}

func sealed(e *session.Event) *seal {
	s := &seal{of: e, event: *e}
	if len(mapsOf(e)) > 0 {
		s.maps = mapsOf(e.Clone())
	}
	if c := e.Actions.Compaction; c != nil {
		s.cut = *c
		s.cut.Keep, s.cut.Branches = slices.Clone(c.Keep), slices.Clone(c.Branches)
	}
	if r := e.Actions.Rewind; r != nil {
		s.to = *r
	}
	if e.Content == nil {
		return s
	}
	s.role = e.Content.Role
	for _, p := range e.Content.Parts {
		if p == nil {
			continue
		}
		s.parts = append(s.parts, *p)
		if p.FunctionCall != nil {
			s.calls = append(s.calls, *p.FunctionCall)
		}
		if p.FunctionResponse != nil {
			s.resps = append(s.resps, *p.FunctionResponse)
		}
	}
	return s
}

// broken reports whether the event has changed since.
func (s *seal) broken() bool {
	was, e := &s.event, s.of
	if was.ID != e.ID || was.Seq != e.Seq || was.InvocationID != e.InvocationID || was.Author != e.Author || was.Branch != e.Branch ||
		was.Timestamp != e.Timestamp || was.Content != e.Content || was.Partial != e.Partial || was.TurnComplete != e.TurnComplete ||
		was.Interrupted != e.Interrupted || was.ErrorCode != e.ErrorCode || was.ErrorMessage != e.ErrorMessage ||
		was.FinishReason != e.FinishReason || was.UsageMetadata != e.UsageMetadata || was.GroundingMetadata != e.GroundingMetadata ||
		was.CitationMetadata != e.CitationMetadata || was.ModelVersion != e.ModelVersion || len(was.CustomMetadata) != len(e.CustomMetadata) ||
		len(was.LongRunningToolIDs) != len(e.LongRunningToolIDs) || len(was.Extra) != len(e.Extra) {
		return true
	}
	a, b := &was.Actions, &e.Actions
	if len(a.StateDelta) != len(b.StateDelta) || len(a.StateIncrement) != len(b.StateIncrement) || len(a.ArtifactDelta) != len(b.ArtifactDelta) ||
		a.SkipSummarization != b.SkipSummarization || a.TransferToAgent != b.TransferToAgent || a.Escalate != b.Escalate ||
		len(a.RequestedToolConfirmations) != len(b.RequestedToolConfirmations) || a.Compaction != b.Compaction || a.Rewind != b.Rewind {
		return true
	}
	if c := b.Compaction; c != nil && (c.Through != s.cut.Through || c.Frontier != s.cut.Frontier || c.Content != s.cut.Content || !slices.Equal(c.Keep, s.cut.Keep) || !slices.Equal(c.Branches, s.cut.Branches)) {
		return true
	}
	if b.Rewind != nil && *b.Rewind != s.to {
		return true
	}
	if s.maps != nil && !reflect.DeepEqual(s.maps, mapsOf(e)) {
		return true
	}
	if e.Content == nil {
		return false
	}
	if e.Content.Role != s.role {
		return true
	}
	n, calls, resps := 0, 0, 0
	for _, p := range e.Content.Parts {
		if p == nil {
			continue
		}
		if n == len(s.parts) || changed(&s.parts[n], p) {
			return true
		}
		n++
		if c := p.FunctionCall; c != nil {
			if c.ID != s.calls[calls].ID || c.Name != s.calls[calls].Name || len(c.Args) != len(s.calls[calls].Args) {
				return true
			}
			calls++
		}
		if r := p.FunctionResponse; r != nil {
			if r.ID != s.resps[resps].ID || r.Name != s.resps[resps].Name || len(r.Response) != len(s.resps[resps].Response) {
				return true
			}
			resps++
		}
	}
	return n != len(s.parts)
}

func changed(a, b *genai.Part) bool {
	return a.Text != b.Text || a.Thought != b.Thought || a.FunctionCall != b.FunctionCall || a.FunctionResponse != b.FunctionResponse ||
		a.InlineData != b.InlineData || a.FileData != b.FileData || a.ExecutableCode != b.ExecutableCode ||
		a.CodeExecutionResult != b.CodeExecutionResult || len(a.ThoughtSignature) != len(b.ThoughtSignature) ||
		unsafe.SliceData(a.ThoughtSignature) != unsafe.SliceData(b.ThoughtSignature)
}

// changedInvocation reports whether a hook has assigned to an invocation's fields.
func changedInvocation(a, b *session.Invocation) bool {
	return a.ID != b.ID || a.Key != b.Key || a.Input != b.Input || a.Config != b.Config || a.Position != b.Position || a.Frontier != b.Frontier ||
		len(a.Live) != len(b.Live) || unsafe.SliceData(a.Live) != unsafe.SliceData(b.Live) || len(a.State) != len(b.State)
}

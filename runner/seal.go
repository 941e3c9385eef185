package runner

import (
	"reflect"
	"unsafe"

	"github.com/huandu/go-clone"
	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// seal remembers an event's fields, parts and maps, so that a hook which changes one in place is found
// out. It does not look behind the pointers of metadata, nor into inline bytes.
type seal struct {
	of    *session.Event // whose seal it is, once set
	isSet bool
	event session.Event
	parts []genai.Part
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

func (s *seal) set(e *session.Event) {
	if s.isSet && s.of == e {
		return
	}
	s.of, s.isSet, s.event, s.parts = e, true, *e, s.parts[:0]
	if s.maps = nil; len(mapsOf(e)) > 0 {
		s.maps = clone.Clone(mapsOf(e)).([]any)
	}
	if e.Content != nil {
		for _, p := range e.Content.Parts {
			if p != nil {
				s.parts = append(s.parts, *p)
			}
		}
	}
}

func (s *seal) broken(e *session.Event) bool {
	was := &s.event
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
	if s.maps != nil && !reflect.DeepEqual(s.maps, mapsOf(e)) {
		return true
	}
	if e.Content == nil {
		return false
	}
	n := 0
	for _, p := range e.Content.Parts {
		if p == nil {
			continue
		}
		if n == len(s.parts) || changed(&s.parts[n], p) {
			return true
		}
		n++
	}
	return n != len(s.parts)
}

func changed(a, b *genai.Part) bool {
	return a.Text != b.Text || a.Thought != b.Thought || a.FunctionCall != b.FunctionCall || a.FunctionResponse != b.FunctionResponse ||
		a.InlineData != b.InlineData || a.FileData != b.FileData || a.ExecutableCode != b.ExecutableCode ||
		a.CodeExecutionResult != b.CodeExecutionResult || len(a.ThoughtSignature) != len(b.ThoughtSignature) ||
		unsafe.SliceData(a.ThoughtSignature) != unsafe.SliceData(b.ThoughtSignature)
}

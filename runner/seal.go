package runner

import (
	"reflect"
	"slices"
	"unsafe"

	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// seal remembers an event's fields, parts and what they point to, so that a hook which changes one in
// place is found out. It does not look into inline bytes and thought signatures, nor behind the pointers
// of usage, grounding and citation metadata.
type seal struct {
	of     *session.Event
	event  session.Event
	parts  []genai.Part
	calls  []genai.FunctionCall
	resps  []genai.FunctionResponse
	blobs  []genai.Blob // in the order of blobsOf
	role   string
	cut    session.Compaction
	to     session.Rewind
	behind []any // copies of what the event has behind it, in the order of behind
}

func sealed(e *session.Event) *seal {
	s := &seal{of: e, event: *e, blobs: blobsOf(e)}
	if len(behind(e)) > 0 {
		s.behind = behind(e.Clone())
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
		len(a.RequestedToolConfirmations) != len(b.RequestedToolConfirmations) || len(a.Extra) != len(b.Extra) || a.Compaction != b.Compaction || a.Rewind != b.Rewind {
		return true
	}
	if c := b.Compaction; c != nil && (c.Through != s.cut.Through || c.Frontier != s.cut.Frontier || c.Content != s.cut.Content || !slices.Equal(c.Keep, s.cut.Keep) || !slices.Equal(c.Branches, s.cut.Branches)) {
		return true
	}
	if b.Rewind != nil && *b.Rewind != s.to {
		return true
	}
	if s.behind != nil && !reflect.DeepEqual(s.behind, behind(e)) {
		return true
	}
	if s.blobs != nil && !slices.EqualFunc(s.blobs, blobsOf(e), func(a, b genai.Blob) bool {
		return a.MIMEType == b.MIMEType && a.DisplayName == b.DisplayName && sameBytes(a.Data, b.Data)
	}) {
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
			was := &s.calls[calls]
			if c.ID != was.ID || c.Name != was.Name || len(c.Args) != len(was.Args) || len(c.PartialArgs) != len(was.PartialArgs) || c.WillContinue != was.WillContinue {
				return true
			}
			calls++
		}
		if r := p.FunctionResponse; r != nil {
			was := &s.resps[resps]
			if r.ID != was.ID || r.Name != was.Name || len(r.Response) != len(was.Response) || r.Scheduling != was.Scheduling ||
				r.WillContinue != was.WillContinue || len(r.Parts) != len(was.Parts) {
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
		a.CodeExecutionResult != b.CodeExecutionResult || a.VideoMetadata != b.VideoMetadata || a.ToolCall != b.ToolCall ||
		a.ToolResponse != b.ToolResponse || a.AudioTranscription != b.AudioTranscription || a.SpeechMetadata != b.SpeechMetadata ||
		a.MediaResolution != b.MediaResolution || a.MediaProcessing != b.MediaProcessing || len(a.PartMetadata) != len(b.PartMetadata) ||
		!sameBytes(a.ThoughtSignature, b.ThoughtSignature)
}

// sameBytes reports whether two slices are of the same memory: what is in it is not looked at.
func sameBytes(a, b []byte) bool {
	return len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b)
}

// changedInvocation reports whether a hook has assigned to an invocation's fields.
func changedInvocation(a, b *session.Invocation) bool {
	return a.ID != b.ID || a.Key != b.Key || a.Input != b.Input || a.Config != b.Config || a.Position != b.Position || a.Frontier != b.Frontier ||
		len(a.Live) != len(b.Live) || unsafe.SliceData(a.Live) != unsafe.SliceData(b.Live) || len(a.State) != len(b.State)
}

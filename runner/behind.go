package runner

import (
	"google.golang.org/genai"

	"github.com/plughook/plughook/session"
)

// behind returns the event's maps that have something in them, and what the less usual kinds of part and
// a compaction point to. Of most events it is nothing.
func behind(e *session.Event) []any {
	var list []any
	list = grown(list, e.CustomMetadata)
	list = grown(list, e.Extra)
	list = grown(list, e.Actions.StateDelta)
	list = grown(list, e.Actions.StateIncrement)
	list = grown(list, e.Actions.ArtifactDelta)
	list = grown(list, e.Actions.RequestedToolConfirmations)
	list = grown(list, e.Actions.Extra)
	if len(e.LongRunningToolIDs) > 0 {
		list = append(list, e.LongRunningToolIDs)
	}
	if c := e.Actions.Compaction; c != nil {
		list = grown(append(list, c.Content), c.Extra)
	}
	for _, p := range partsOf(e) {
		if p == nil {
			continue
		}
		if c := p.FunctionCall; c != nil {
			list = grown(list, c.Args)
			if len(c.PartialArgs) > 0 || c.WillContinue != nil {
				list = append(list, c.PartialArgs, c.WillContinue)
			}
		}
		if r := p.FunctionResponse; r != nil {
			list = grown(list, r.Response)
			if r.WillContinue != nil {
				list = append(list, r.WillContinue)
			}
			for _, m := range r.Parts {
				if m != nil {
					list = append(list, m.FileData, m.MediaProcessing, m.InlineData != nil)
				}
			}
		}
		list = grown(list, p.PartMetadata)
		if unusual(p) {
			list = append(list, p.FileData, p.ExecutableCode, p.CodeExecutionResult, p.VideoMetadata, p.ToolCall, p.ToolResponse,
				p.AudioTranscription, p.SpeechMetadata, p.MediaResolution)
		}
	}
	return list
}

func grown[M ~map[K]V, K comparable, V any](list []any, m M) []any {
	if len(m) > 0 {
		list = append(list, m)
	}
	return list
}

// unusual reports whether a part points to something that is neither text, call, response nor bytes.
func unusual(p *genai.Part) bool {
	return p.FileData != nil || p.ExecutableCode != nil || p.CodeExecutionResult != nil || p.VideoMetadata != nil || p.ToolCall != nil ||
		p.ToolResponse != nil || p.AudioTranscription != nil || p.SpeechMetadata != nil || p.MediaResolution != nil
}

// blobsOf returns the inline bytes of the event's parts, and of its function responses.
func blobsOf(e *session.Event) []genai.Blob {
	var list []genai.Blob
	for _, p := range partsOf(e) {
		if p == nil {
			continue
		}
		if p.InlineData != nil {
			list = append(list, *p.InlineData)
		}
		if p.FunctionResponse == nil {
			continue
		}
		for _, m := range p.FunctionResponse.Parts {
			if m != nil && m.InlineData != nil {
				list = append(list, genai.Blob{Data: m.InlineData.Data, DisplayName: m.InlineData.DisplayName, MIMEType: m.InlineData.MIMEType})
			}
		}
	}
	return list
}

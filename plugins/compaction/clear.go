package compaction

import (
	"context"
	"fmt"

	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/told"
	"github.com/plughook/plughook/plugins/compaction/internal/meter"
	"github.com/plughook/plughook/plugins/compaction/internal/plan"
	"github.com/plughook/plughook/session"
)

// save saves the results that are still to be saved as artifacts, and notes their versions in the event that
// says what is cleared. It only warns of a result that cannot be saved, since the log has it anyway.
func (k *compactor) save(ctx context.Context, inv *session.Invocation, c meter.Cleared, e *session.Event) {
	for _, event := range inv.Live {
		if event.Content == nil {
			continue
		}
		for i, p := range event.Content.Parts {
			part := meter.Part{Seq: event.Seq, Index: i}
			isSaved, asked := c.Saved[part]
			if isSaved || !asked {
				continue
			}
			data := []byte(told.JSON(p.FunctionResponse.Response))
			blob := &genai.Part{InlineData: &genai.Blob{MIMEType: "application/json", Data: data}}
			version, err := k.Artifacts.Save(ctx, inv.Key, part.ArtifactName(), blob)
			if err != nil {
				delete(c.Saved, part)
				k.Log.WarnContext(ctx, "a result of a tool was not saved as an artifact", "session",
					inv.Key, "position", part.Seq, "error", err)
				continue
			}
			c.Saved[part] = true
			if e.Actions.ArtifactDelta == nil {
				e.Actions.ArtifactDelta = map[string]int64{}
			}
			e.Actions.ArtifactDelta[part.ArtifactName()] = version
		}
	}
}

// clearEvent returns the event of a Plan that summarizes nothing: its note lists the parts that are shortened.
func (k *compactor) clearEvent(ctx context.Context, inv *session.Invocation, t plan.Task, p *Plan) *session.Event {
	m := p.Meter
	p.After = p.Kept
	e := &session.Event{ID: fmt.Sprintf("%s:clear:%d", Name, inv.Position)}
	k.save(ctx, inv, m.Cleared, e)
	n := &meter.Note{
		Trigger: p.Trigger,
		By:      offline,
		Before:  p.Before,
		After:   p.After,
		Fixed:   t.FixedTokens + t.AttributionTokens,
	}
	m.Cleared.Write(n, func(int64) bool { return true })
	e.CustomMetadata = n.Metadata()
	return e
}

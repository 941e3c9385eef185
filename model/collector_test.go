package model_test

import (
	"testing"

	"github.com/huandu/go-clone"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/model"
)

// parts draws parts of all the kinds that stream.
func parts(t *rapid.T) []*genai.Part {
	text := rapid.StringMatching(`[a-c]{0,3}`)
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *genai.Part {
		p := &genai.Part{}
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0, 1, 2:
			p.Text = text.Draw(t, "text")
		case 3:
			p.Text, p.Thought = text.Draw(t, "thought"), true
		case 4:
			p.Text, p.Thought, p.ThoughtSignature = text.Draw(t, "signed"), rapid.Bool().
				Draw(t, "is thought"),
				rapid.SliceOfN(rapid.Byte(), 1, 4).
					Draw(t, "signature")
		case 5:
			p.FunctionCall, p.ThoughtSignature = &genai.FunctionCall{
				Name: "f",
			}, rapid.SliceOfN(rapid.Byte(), 0, 4).
				Draw(t, "signature")
		case 6:
			return nil
		}
		return p
	}), 0, 4).Draw(t, "parts")
}

// said returns what the parts say, thoughts and the rest apart.
func said(parts []*genai.Part) (text, thought string) {
	for _, p := range parts {
		switch {
		case p == nil:
		case p.Thought:
			thought += p.Text
		default:
			text += p.Text
		}
	}
	return text, thought
}

// joins reports whether the part is text and nothing else.
func joins(p *genai.Part) bool {
	return p.Text != "" && p.ThoughtSignature == nil && p.FunctionCall == nil
}

func TestWhatIsCollectedIsWhatWasSaid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var (
			c    model.Collector
			all  []*genai.Part // all that was added
			had  *model.Response
			kept *model.Response
		)
		for range rapid.IntRange(0, 6).Draw(t, "responses") {
			r := &model.Response{
				Partial: true,
				Content: &genai.Content{Role: genai.RoleModel, Parts: parts(t)},
			}
			before := clone.Clone(r).(*model.Response)
			all = append(all, r.Content.Parts...)
			c.Add(r)
			require.Equal(t, before, r, "what is added is not changed")
			if had != nil {
				require.Equal(t, kept, had, "a whole response does not change when more comes")
			}
			had = c.Whole()
			kept = clone.Clone(had).(*model.Response)
		}
		whole := c.Whole()
		require.False(t, whole.Partial)
		if whole.Content == nil {
			require.Empty(t, all)
			return
		}
		require.Equal(t, genai.RoleModel, whole.Content.Role)

		text, thought := said(all)
		wholeText, wholeThought := said(whole.Content.Parts)
		require.Equal(t, text, wholeText)
		require.Equal(t, thought, wholeThought)

		others := func(parts []*genai.Part) (list []*genai.Part) {
			for _, p := range parts {
				if p != nil && !joins(p) {
					list = append(list, p)
				}
			}
			return list
		}
		came, stayed := others(all), others(whole.Content.Parts)
		require.Len(t, stayed, len(came))
		for i, p := range came {
			require.Same(t, p, stayed[i], "a part that is more than text stays as it came")
		}
		for i, p := range whole.Content.Parts[min(1, len(whole.Content.Parts)):] {
			q := whole.Content.Parts[i]
			require.False(t, joins(p) && joins(q) && p.Thought == q.Thought, "text runs together")
		}
	})
}

func TestTheLastMetadataCounts(t *testing.T) {
	var c model.Collector
	usage := func(n int32) *genai.GenerateContentResponseUsageMetadata {
		return &genai.GenerateContentResponseUsageMetadata{TotalTokenCount: n}
	}
	grounding, citations := &genai.GroundingMetadata{
		WebSearchQueries: []string{"q"},
	}, &genai.CitationMetadata{}
	c.Add(&model.Response{
		Partial:           true,
		UsageMetadata:     usage(1),
		ModelVersion:      "v",
		GroundingMetadata: grounding,
	})
	c.Add(&model.Response{Partial: true, UsageMetadata: usage(2), CitationMetadata: citations})
	c.Add(&model.Response{
		Partial:      true,
		FinishReason: genai.FinishReasonMaxTokens,
		ErrorCode:    "MAX_TOKENS",
		ErrorMessage: "cut off",
	})
	require.Equal(
		t,
		&model.Response{
			UsageMetadata:     usage(2),
			ModelVersion:      "v",
			GroundingMetadata: grounding,
			CitationMetadata:  citations,
			FinishReason:      genai.FinishReasonMaxTokens,
			ErrorCode:         "MAX_TOKENS",
			ErrorMessage:      "cut off",
		},
		c.Whole(),
	)
}

func TestTheZeroCollectorIsEmpty(t *testing.T) {
	var c model.Collector
	require.Equal(t, &model.Response{}, c.Whole())
}

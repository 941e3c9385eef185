package guardrail_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

// Sources that are clean by themselves go with a text that was edited, and stay with one that was
// not.
func TestCleanSources(t *testing.T) {
	p := quiet(t, with(
		t,
		`rules: [{id: r, detect: {words: [heron]}, action: redact}, {id: f, detect: {words: [cat]}, action: flag}]`,
	))
	for text, kept := range map[string]bool{"a heron": false, "a cat": true} {
		e := says("bot", &genai.Part{Text: text})
		e.GroundingMetadata = &genai.GroundingMetadata{WebSearchQueries: []string{"birds"}}
		e.CitationMetadata = &genai.CitationMetadata{Citations: []*genai.Citation{{Title: "birds"}}}
		got, out := offered(t, p, e)
		require.NotNil(t, out.Replace)
		require.Equal(t, kept, got.GroundingMetadata != nil, text)
		require.Equal(t, kept, got.CitationMetadata != nil, text)
	}
}

// What a model says its answer is from is looked at, and goes as a whole.
func TestSources(t *testing.T) {
	p := quiet(t, with(t, `rules: [{id: r, detect: {words: [heron]}, action: redact}]`))
	e := says("bot", &genai.Part{Text: "a bird"})
	e.GroundingMetadata = &genai.GroundingMetadata{WebSearchQueries: []string{"grey heron"}}
	e.CitationMetadata = &genai.CitationMetadata{Citations: []*genai.Citation{{Title: "Cats"}}}
	got, _ := offered(t, p, e)
	require.Nil(t, got.GroundingMetadata)
	require.Equal(t, "a bird", got.Text())
	require.NotContains(t, inJSON(got), "heron")

	e.GroundingMetadata = nil
	got, out := offered(t, p, e)
	require.True(t, out.IsZero())
	require.NotNil(t, got.CitationMetadata)
}

package guardrail_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/plugins/guardrail/policy/selftest"
	"github.com/plughook/plughook/session"
)

// A rule is about files by what their content is, whatever is said of them, by size and by number.
func TestFilesByKind(t *testing.T) {
	const rules = `
rules:
  - {id: kinds, stages: [input, output, tool_result], when: 'any(files, not (.type in ["image/png", "text/plain"]))', action: block, message: Only pictures.}
  - {id: large, stages: [input], when: 'sum(files, .size) > 1000', action: block, message: Too large.}
  - {id: many, stages: [input], when: 'len(files) > 2', action: flag}
  - {id: links, stages: [input], when: 'any(files, .link and not (.name startsWith "gs://ours/"))', action: block, message: Not ours.}
  - {id: texts, stages: [input], when: 'text contains "heron"', action: block, message: No herons.}`
	png := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
	zip := []byte("PK\x03\x04\x14\x00\x00\x00\x08\x00")
	data := func(kind string, content []byte) *genai.Part {
		return &genai.Part{InlineData: &genai.Blob{MIMEType: kind, Data: content, DisplayName: "a"}}
	}
	linked := func(address string) *genai.Part {
		return &genai.Part{FileData: &genai.FileData{FileURI: address, MIMEType: "image/png"}}
	}
	said := func(parts ...*genai.Part) *session.Event {
		e := input("look")
		e.Content.Parts = append(e.Content.Parts, parts...)
		return e
	}
	for name, c := range map[string]struct {
		event *session.Event
		want  string // the first rule that finds something, and its action
	}{
		"a picture":              {said(data("image/png", png)), ""},
		"an archive":             {said(data("application/zip", zip)), "kinds block"},
		"an archive in disguise": {said(data("image/png", zip)), "kinds block"},
		"a picture in disguise":  {said(data("application/zip", png)), ""},
		"a large one": {
			said(data("text/plain", []byte(strings.Repeat("x ", 600)))),
			"large block",
		},
		"several": {
			said(data("image/png", png), data("image/png", png), data("image/png", png)),
			"many flag",
		},
		"a link":            {said(linked("gs://theirs/a.png")), "links block"},
		"a link of ours":    {said(linked("gs://ours/a.png")), ""},
		"no file":           {said(), ""},
		"a text":            {input("a heron"), "texts block"},
		"what a model says": {says("bot", data("image/png", zip)), "kinds block"},
	} {
		t.Run(name, func(t *testing.T) {
			p := plug(t, guardrail.Config{Policy: parse(t, rules)})
			got, out := offered(t, p, c.event)
			if out.Emit != nil {
				got = out.Emit[0]
			}
			n, _ := guardrail.NoteOf(got)
			what := ""
			if len(n.Records) > 0 {
				what = n.Records[0].Rule + " " + string(n.Records[0].Action)
			}
			require.Equal(t, c.want, what)
		})
	}

	// A tool's answer is withheld with its files.
	p := plug(t, guardrail.Config{Policy: parse(t, rules)})
	answer := &genai.FunctionResponse{
		ID:       "1",
		Name:     "fetch",
		Response: map[string]any{"ok": true},
		Parts: []*genai.FunctionResponsePart{
			{InlineData: &genai.FunctionResponseBlob{MIMEType: "image/png", Data: zip}},
		},
	}
	got, _ := offered(t, p, says("bot", &genai.Part{FunctionResponse: answer}))
	require.Equal(t, map[string]any{"error": "Only pictures."}, got.FunctionResponses()[0].Response)
	require.Empty(t, got.FunctionResponses()[0].Parts)
}

func TestPolicysTestsOfFiles(t *testing.T) {
	p := parse(t, `
rules: [{id: archives, when: 'any(files, .type == "application/zip" or .size > 100)', action: block}]
tests:
  - {name: an archive, stage: input, files: [{type: application/zip, size: 1}], want: block}
  - {name: a picture, stage: input, files: [{type: image/png, size: 1}], want: allow}
  - {name: a large one, stage: input, files: [{type: image/png, size: 101}], want: block}
  - {name: a text, stage: input, text: application/zip, want: allow}`)
	for _, r := range selftest.Run(p) {
		require.Empty(t, r.Failure, r.Test.Name)
	}
	_, err := policy.Parse("p.yaml",
		[]byte("rules: [{id: a, when: len(files) > 1, detect: {words: [x]}, action: redact}]"))
	require.ErrorContains(t, err,
		"p.yaml:1:23: a rule whose condition asks about files is about files alone")
}

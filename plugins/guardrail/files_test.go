package guardrail_test

import (
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

// The bytes at a file's beginning say how it is written, whichever end comes first.
func TestUTF16OfEitherEnd(t *testing.T) {
	p := quiet(t, with(t, herons))
	for name, write := range map[string]func(u uint16) []byte{
		"little": func(u uint16) []byte { return []byte{byte(u), byte(u >> 8)} },
		"big":    func(u uint16) []byte { return []byte{byte(u >> 8), byte(u)} },
	} {
		var data []byte
		for _, u := range utf16.Encode([]rune("\ufeffä heron")) {
			data = append(data, write(u)...)
		}
		got, _ := offered(t, p,
			says("bot", &genai.Part{InlineData: &genai.Blob{MIMEType: "text/plain", Data: data}}))
		require.Equal(t, "ä [WORD]", string(got.Content.Parts[0].InlineData.Data), name)
	}
}

// Files: their names, their links, and what is in them if that is text.
func TestFiles(t *testing.T) {
	p := quiet(t, with(t, `rules: [{id: r, detect: {words: [heron]}, action: redact}]`))
	utf16le := func(text string) []byte {
		data := []byte{0xff, 0xfe}
		for _, u := range utf16.Encode([]rune(text)) {
			data = append(data, byte(u), byte(u>>8))
		}
		return data
	}
	for name, c := range map[string]struct{ part, want *genai.Part }{
		"a link": {
			&genai.Part{FileData: &genai.FileData{FileURI: "https://a.example/?q=heron"}},
			&genai.Part{Text: "https://a.example/?q=[WORD]"},
		},
		"a name": {
			&genai.Part{FileData: &genai.FileData{FileURI: "gs://a", DisplayName: "heron.png"}},
			&genai.Part{FileData: &genai.FileData{FileURI: "gs://a", DisplayName: "[WORD].png"}},
		},
		"text": {
			&genai.Part{
				InlineData: &genai.Blob{
					MIMEType: "text/csv; charset=us-ascii",
					Data:     []byte("a,heron"),
				},
			},
			&genai.Part{
				InlineData: &genai.Blob{
					MIMEType: "text/csv; charset=utf-8",
					Data:     []byte("a,[WORD]"),
				},
			},
		},
		"text in UTF-16": {
			&genai.Part{InlineData: &genai.Blob{MIMEType: "text/plain", Data: utf16le("ä heron")}},
			&genai.Part{InlineData: &genai.Blob{MIMEType: "text/plain", Data: []byte("ä [WORD]")}},
		},
		"JSON": {
			&genai.Part{
				InlineData: &genai.Blob{
					MIMEType: "application/geo+json",
					Data:     []byte(`{"a": "heron"}`),
				},
			},
			&genai.Part{
				InlineData: &genai.Blob{
					MIMEType: "application/geo+json",
					Data:     []byte(`{"a": "[WORD]"}`),
				},
			},
		},
		"text that says it is in UTF-16": {
			&genai.Part{
				InlineData: &genai.Blob{
					MIMEType: "text/plain; charset=utf-16",
					Data:     []byte("a heron"),
				},
			},
			&genai.Part{
				InlineData: &genai.Blob{
					MIMEType: "text/plain; charset=utf-8",
					Data:     []byte("a [WORD]"),
				},
			},
		},
		"text of no type": {
			&genai.Part{
				InlineData: &genai.Blob{
					MIMEType: "application/octet-stream",
					Data:     []byte("a heron"),
				},
			},
			&genai.Part{
				InlineData: &genai.Blob{
					MIMEType: "application/octet-stream",
					Data:     []byte("a [WORD]"),
				},
			},
		},
		"a picture that is text": {
			&genai.Part{
				InlineData: &genai.Blob{MIMEType: "image/svg+xml", Data: []byte("<b>heron</b>")},
			},
			&genai.Part{
				InlineData: &genai.Blob{MIMEType: "image/svg+xml", Data: []byte("<b>[WORD]</b>")},
			},
		},
		"bytes": {
			&genai.Part{
				InlineData: &genai.Blob{
					MIMEType: "application/octet-stream",
					Data:     []byte("\x00 heron \xff"),
				},
			},
			&genai.Part{
				InlineData: &genai.Blob{
					MIMEType: "application/octet-stream",
					Data:     []byte("\x00 heron \xff"),
				},
			},
		},
		"a picture is not looked into": {
			&genai.Part{InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte("heron")}},
			&genai.Part{InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte("heron")}},
		},
		"a tool's text": {
			&genai.Part{
				FunctionResponse: &genai.FunctionResponse{
					Name: "f",
					Parts: []*genai.FunctionResponsePart{
						{
							InlineData: &genai.FunctionResponseBlob{
								MIMEType: "text/html",
								Data:     []byte("a heron"),
							},
						},
					},
				},
			},
			&genai.Part{
				FunctionResponse: &genai.FunctionResponse{
					Name: "f",
					Parts: []*genai.FunctionResponsePart{
						{
							InlineData: &genai.FunctionResponseBlob{
								MIMEType: "text/html",
								Data:     []byte("a [WORD]"),
							},
						},
					},
				},
			},
		},
		"a tool's link": {
			&genai.Part{
				FunctionResponse: &genai.FunctionResponse{
					Name: "f",
					Parts: []*genai.FunctionResponsePart{
						{
							FileData: &genai.FunctionResponseFileData{
								FileURI: "https://heron.example/",
							},
						},
						{
							FileData: &genai.FunctionResponseFileData{
								FileURI: "https://cat.example/",
							},
						},
					},
				},
			},
			&genai.Part{
				FunctionResponse: &genai.FunctionResponse{
					Name: "f",
					Parts: []*genai.FunctionResponsePart{
						{
							FileData: &genai.FunctionResponseFileData{
								FileURI: "https://cat.example/",
							},
						},
					},
				},
			},
		},
		"code": {
			&genai.Part{ExecutableCode: &genai.ExecutableCode{Code: "print('heron')"}},
			&genai.Part{ExecutableCode: &genai.ExecutableCode{Code: "print('[WORD]')"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := says("bot", c.part)
			before := inJSON(e)
			got, _ := offered(t, p, e)
			require.Equal(t, before, inJSON(e), "the event was changed")
			require.Equal(t, c.want, got.Content.Parts[0])

			// Of a stream, text that comes as a file is shown when it is whole.
			e.Partial = true
			got, out := offered(t, p, e)
			require.True(
				t,
				out.Withhold ||
					name == "a picture is not looked into" && len(got.Content.Parts) == 1,
				inJSON(got),
			)
		})
	}
}

// A file's text that is blocked in a tool's answer takes the answer with it, and not the run.
func TestToolsFileBlocked(t *testing.T) {
	p := quiet(t,
		with(t, `rules: [{id: r, stages: [tool_result], detect: {words: [heron]}, action: block}]`))
	got, out := offered(t, p, says("bot", &genai.Part{
		FunctionResponse: &genai.FunctionResponse{
			Name:     "f",
			Response: map[string]any{"ok": true},
			Parts: []*genai.FunctionResponsePart{
				{
					InlineData: &genai.FunctionResponseBlob{
						MIMEType: "text/plain",
						Data:     []byte("heron"),
					},
				},
			},
		},
	}))
	require.False(t, out.Stop)
	require.Nil(t, got.FunctionResponses()[0].Parts)
	require.Contains(t, inJSON(got), "withheld: the policy's rule r")
}

// A type that says how a text is written counts where the bytes do not say it; what is written
// otherwise is no text.
func TestTextsInUTF16(t *testing.T) {
	const little, big = "h\x00e\x00r\x00o\x00n\x00", "\x00h\x00e\x00r\x00o\x00n"
	p := quiet(t, with(t, herons))
	for _, c := range []struct{ kind, data, want string }{
		{"text/plain; charset=utf-16le", little, "[WORD]"},
		{"text/plain; charset=UTF-16LE", little, "[WORD]"},
		{"text/plain; charset=utf-16be", big, "[WORD]"},
		{"text/plain; charset=utf-16", big, "[WORD]"},
		{"text/plain; charset=utf-16le", "heron", "[WORD]"},
		{"text/plain; charset=utf-16", "heron", "[WORD]"},
		{"text/plain; charset=utf-8", "heron\x00", "[WORD]\x00"},
		{"application/octet-stream", little, little},
		{"application/x-a; charset=utf-16le", little, little},
	} {
		got, _ := offered(t, p, says("bot",
			&genai.Part{InlineData: &genai.Blob{MIMEType: c.kind, Data: []byte(c.data)}}))
		require.Equal(t, c.want, string(got.Content.Parts[0].InlineData.Data), c.kind)
	}
}

package artifact_test

import (
	"bytes"
	"fmt"

	"google.golang.org/genai"

	"github.com/plughook/plughook/artifact"
)

var partCases = []testCase{{
	Name: "part/kept",
	Rule: "Inline data, the URI of a file and a text come back as they were, to the byte, also if they are " +
		"empty.",
	Run: func(t *tester) {
		key := t.Key("ann", "s")
		every := make([]byte, 256)
		for i := range every {
			every[i] = byte(i)
		}
		for v, part := range []*genai.Part{
			{InlineData: &genai.Blob{
				Data: every, MIMEType: "image/png", DisplayName: "a picture <b>.png",
			}},
			{InlineData: &genai.Blob{Data: []byte{}, MIMEType: "text/plain; charset=utf-8"}},
			{InlineData: &genai.Blob{}},
			{FileData: &genai.FileData{
				FileURI: "gs://bucket/file?a=b&c", MIMEType: "video/mp4",
				DisplayName: "ein Film: ä\n",
			}},
			{FileData: &genai.FileData{FileURI: "x"}},
			{Text: "text \x00\r\n\u2028 & 日本"},
			{},
		} {
			version, err := t.Save(t.Context(), key, "a", part)
			t.Must(err)
			t.equal("the version", version, int64(v))
			got, err := t.Load(t.Context(), key, "a", version)
			t.Must(err)
			t.same(fmt.Sprint("version ", v), got, part)
		}
	},
}, {
	Name: "part/refused",
	Rule: "A part with something in it that is not kept, with two things, or with none, is an ErrPart, and " +
		"no version.",
	Run: func(t *tester) {
		key, blob, file := t.Key("ann", "s"), &genai.Blob{
			Data: []byte("a"), MIMEType: "a/b",
		}, &genai.FileData{FileURI: "gs://a"}
		for what, part := range map[string]*genai.Part{
			"no part":           nil,
			"inline and file":   {InlineData: blob, FileData: file},
			"inline and text":   {InlineData: blob, Text: "a"},
			"file and text":     {FileData: file, Text: "a"},
			"no URI":            {FileData: &genai.FileData{MIMEType: "a/b"}},
			"function call":     {FunctionCall: &genai.FunctionCall{Name: "f"}},
			"function response": {FunctionResponse: &genai.FunctionResponse{Name: "f"}},
			"thought":           {Text: "a", Thought: true},
			"signature":         {Text: "a", ThoughtSignature: []byte("a")},
			"metadata":          {InlineData: blob, PartMetadata: map[string]any{"a": "b"}},
			"video metadata":    {FileData: file, VideoMetadata: &genai.VideoMetadata{}},
			"text, not UTF-8":   {Text: "\xff"},
			"type, not UTF-8":   {InlineData: &genai.Blob{MIMEType: "\xff"}},
			"URI, not UTF-8":    {FileData: &genai.FileData{FileURI: "\xff"}},
		} {
			_, err := t.Save(t.Context(), key, "a", part)
			t.Is(err, artifact.ErrPart, what)
		}
		t.none(key, "a")
		t.list(key)
	},
}, {
	Name: "part/big",
	Rule: "Data of 5 MB is kept, beside other versions.",
	Run: func(t *tester) {
		key := t.Key("ann", "s")
		for v := range byte(2) {
			data := bytes.Repeat([]byte{v, 1, 2, 3, 0xff}, 1<<20)
			_, err := t.Save(t.Context(), key, "big",
				genai.NewPartFromBytes(data, "application/octet-stream"))
			t.Must(err)
			got, err := t.Load(t.Context(), key, "big", int64(v))
			t.Must(err)
			t.FailIf(got.InlineData == nil || !bytes.Equal(got.InlineData.Data, data),
				"version %d of %d bytes came back otherwise", v, len(data))
		}
	},
}}

var copyCases = []testCase{{
	Name: "copy/what goes in",
	Rule: "What goes in is copied: changing a part after Save changes nothing in the store.",
	Run: func(t *tester) {
		key := t.Key("ann", "s")
		blob := &genai.Part{InlineData: &genai.Blob{Data: []byte("blob"), MIMEType: "a/b"}}
		file := &genai.Part{FileData: &genai.FileData{FileURI: "gs://a", MIMEType: "a/b"}}
		for _, part := range []*genai.Part{blob, file} {
			_, err := t.Save(t.Context(), key, "a", part)
			t.Must(err)
		}
		blob.InlineData.Data[0] = 'X'
		blob.InlineData.MIMEType = "changed"
		file.FileData.FileURI = "changed"
		t.unchanged()
	},
}, {
	Name: "copy/what comes out",
	Rule: "What comes out is the caller's own: changing what Load, List or Versions returned changes " +
		"nothing in the store.",
	Run: func(t *tester) {
		key := t.Key("ann", "s")
		for _, part := range []*genai.Part{
			{InlineData: &genai.Blob{Data: []byte("blob"), MIMEType: "a/b"}},
			{FileData: &genai.FileData{FileURI: "gs://a", MIMEType: "a/b"}},
		} {
			_, err := t.Save(t.Context(), key, "a", part)
			t.Must(err)
		}
		blob, err := t.Load(t.Context(), key, "a", 0)
		t.Must(err)
		file, err := t.Load(t.Context(), key, "a", 1)
		t.Must(err)
		blob.InlineData.Data[0] = 'X'
		blob.InlineData.MIMEType = "changed"
		file.FileData.FileURI = "changed"
		names, err := t.List(t.Context(), key)
		t.Must(err)
		numbers, err := t.Versions(t.Context(), key, "a")
		t.Must(err)
		names[0] = "changed"
		numbers[0] = 7
		t.unchanged()
	},
}}

func (t *tester) unchanged() {
	t.Helper()
	key := t.Key("ann", "s")
	blob, err := t.Load(t.Context(), key, "a", 0)
	t.Must(err)
	t.same("version 0", blob,
		&genai.Part{InlineData: &genai.Blob{Data: []byte("blob"), MIMEType: "a/b"}})
	file, err := t.Load(t.Context(), key, "a", 1)
	t.Must(err)
	t.same("version 1", file,
		&genai.Part{FileData: &genai.FileData{FileURI: "gs://a", MIMEType: "a/b"}})
	t.versions(key, "a", 2)
	t.list(key, "a")
}

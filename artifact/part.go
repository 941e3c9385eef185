package artifact

import (
	"bytes"
	"fmt"
	"reflect"
	"unicode/utf8"

	"google.golang.org/genai"
)

// kept returns a copy of what a service keeps of a part, or an ErrPart if that is not all of it.
func kept(p *genai.Part) (*genai.Part, error) {
	if p == nil {
		return nil, badPart("it is nil")
	}
	rest := *p
	rest.InlineData, rest.FileData, rest.Text = nil, nil, ""
	switch blob, file := p.InlineData, p.FileData; {
	case !reflect.ValueOf(rest).IsZero():
		return nil, badPart("it has more than InlineData, FileData or Text; save one of these in a part of its own")
	case blob != nil && file != nil || p.Text != "" && (blob != nil || file != nil):
		return nil, badPart("it has more than one of InlineData, FileData and Text")
	case file != nil && file.FileURI == "":
		return nil, badPart("its FileData has no FileURI")
	case blob != nil && !valid(blob.MIMEType, blob.DisplayName), file != nil && !valid(file.FileURI, file.MIMEType, file.DisplayName), !valid(p.Text):
		return nil, badPart("a text in it is not UTF-8")
	}
	return copied(p), nil
}

func badPart(why string) error { return fmt.Errorf("artifact: the part: %w: %s", ErrPart, why) }

func valid(texts ...string) bool {
	for _, s := range texts {
		if !utf8.ValidString(s) {
			return false
		}
	}
	return true
}

func copied(p *genai.Part) *genai.Part {
	c := &genai.Part{Text: p.Text}
	if p.InlineData != nil {
		blob := *p.InlineData
		blob.Data = bytes.Clone(blob.Data)
		c.InlineData = &blob
	}
	if p.FileData != nil {
		file := *p.FileData
		c.FileData = &file
	}
	return c
}

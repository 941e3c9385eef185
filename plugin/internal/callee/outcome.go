package callee

import (
	"errors"
	"reflect"

	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/remote/wire"
)

// encodeOutcome encodes what a hook answers.
func encodeOutcome(out plugin.Outcome) (w *wire.Outcome, err error) {
	w = &wire.Outcome{
		Withhold:  out.Withhold,
		Stop:      out.Stop,
		Reason:    out.Reason,
		Unchecked: out.Unchecked,
	}
	if out.Replace != nil {
		w.Replace, err = out.Replace.MarshalJSON()
		if err != nil {
			return nil, err
		}
	}
	for _, e := range out.Emit {
		if e == nil {
			return nil, errors.New("it emits a nil event")
		}
		data, err := e.MarshalJSON()
		if err != nil {
			return nil, err
		}
		w.Emit = append(w.Emit, data)
	}
	return w, nil
}

// shallow copies a request as deep as hooks may change it: contents, parts and configuration are copies, what a
// part points to is shared.
func shallow(r *model.Request) *model.Request {
	mine := *r
	mine.Contents = make([]*genai.Content, len(r.Contents))
	for i, c := range r.Contents {
		if c == nil {
			continue
		}
		copied := &genai.Content{Role: c.Role, Parts: make([]*genai.Part, len(c.Parts))}
		for j, p := range c.Parts {
			if p != nil {
				part := *p
				copied.Parts[j] = &part
			}
		}
		mine.Contents[i] = copied
	}
	if r.Config != nil {
		mine.Config = (&model.Request{Config: r.Config}).Clone().Config
	}
	return &mine
}

// changed compares a request before and after a hook, and returns a message with the difference: nil if there is
// none. Contents at the beginning that are equal are not sent.
func changed(was, is *model.Request) (*wire.ModelRequest, error) {
	keep := 0
	for keep < len(was.Contents) && keep < len(is.Contents) && reflect.DeepEqual(was.Contents[keep], is.Contents[keep]) {
		keep++
	}
	sameContents := keep == len(was.Contents) && keep == len(is.Contents)
	config := !reflect.DeepEqual(was.Config, is.Config)
	if sameContents && !config && was.Model == is.Model && was.Stream == is.Stream {
		return nil, nil
	}
	w, err := message.EncodeRequest(is, keep)
	if err == nil && !config {
		w.Config = nil
	}
	return w, err
}

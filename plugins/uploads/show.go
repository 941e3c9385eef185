package uploads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// show puts what is saved at addresses in their place, in copies of the request's contents.
func (u uploads) show(ctx context.Context, inv *session.Invocation, req *model.Request) (plugin.Outcome, error) {
	contents := slices.Clone(req.Contents)
	for i, c := range contents {
		if c == nil || !slices.ContainsFunc(c.Parts, addressed) {
			continue
		}
		changed := *c
		changed.Parts = slices.Clone(c.Parts)
		for j, p := range c.Parts {
			if !addressed(p) {
				continue
			}
			shown, err := u.load(ctx, inv.Key, p)
			if err != nil {
				return plugin.Outcome{}, fmt.Errorf("uploads: %w", err)
			}
			changed.Parts[j] = shown
		}
		contents[i] = &changed
	}
	req.Contents = contents
	return plugin.Outcome{}, nil
}

// addressed reports whether a part is the address of an artifact.
func addressed(p *genai.Part) bool {
	return p != nil && p.FileData != nil && strings.HasPrefix(p.FileData.FileURI, artifact.URIScheme)
}

// load returns a part with what is saved at its address, or a note for the model if nothing is.
func (u uploads) load(ctx context.Context, key session.Key, p *genai.Part) (*genai.Part, error) {
	name, version, err := artifact.ParseURI(p.FileData.FileURI)
	if err != nil {
		return genai.NewPartFromText(fmt.Sprintf("(A file was here, but its address %q is invalid.)", p.FileData.FileURI)), nil
	}
	data, err := u.Artifacts.Load(ctx, key, name, version)
	switch {
	case errors.Is(err, artifact.ErrNotFound):
		return genai.NewPartFromText(fmt.Sprintf("(The file %q, version %d, was here; it is not stored any more.)", name, version)), nil
	case err != nil:
		return nil, err
	}
	shown := *p
	shown.InlineData = data.InlineData
	shown.FileData = data.FileData
	shown.Text = data.Text
	return &shown, nil
}

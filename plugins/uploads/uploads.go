// Package uploads is a plugin that keeps what users upload as artifacts, so that the log stays small. An
// inline blob in the input is saved, and in the log replaced by its address (artifact.URI); in a model
// request, an address, of whatever artifact of the session or user, is replaced by what is saved there, so
// that the model sees the blob. If nothing is, the model reads that in its place.
//
// What was saved stays when the input is rewound, withheld by a later plugin or refused by the store. An
// address in the log needs this plugin, or another one that knows it, in every later run of the session.
package uploads

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"mime"
	"path"
	"slices"
	"strings"

	"github.com/gabriel-vasile/mimetype"
	"google.golang.org/genai"

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// Config says which blobs are saved, and where. Artifacts is needed.
type Config struct {
	// Artifacts keeps the blobs.
	Artifacts artifact.Service `yaml:"-" json:"-"`
	MinBytes  int              `yaml:"min_bytes" json:"min_bytes,omitempty" jsonschema:"the smallest blob that is saved, in bytes; smaller ones stay in the log. All are saved if it is not set"`
	Types     []string         `yaml:"types" json:"types,omitempty" jsonschema:"the MIME types of the blobs that are saved, such as image/png or image/*; all if it is not set"`
	// Prefix begins the names of artifacts, so that no upload becomes a version of an artifact that
	// something else relies on.
	Prefix string `yaml:"prefix" json:"prefix,omitempty" jsonschema:"what the names of the artifacts begin with, such as uploads/ or, to keep them for all of the user's sessions, user:"`
}

// New returns the plugin, named "uploads", or an error for each thing that is wrong with its configuration.
// Put it after plugins that look into what users upload, or block it. It fails, so that the event is not
// appended or the model not called, if the artifacts cannot be saved or loaded.
//
// An artifact is named by the blob's display name, or, if that is not the name of one or begins with
// "user:", by a digest of the data and an extension of its type. A name that is taken gets its next version.
func New(c Config) (*plugin.Plugin, error) {
	var errs []error
	if c.Artifacts == nil {
		errs = append(errs, errors.New("uploads: there is no artifact service; set Config.Artifacts"))
	}
	if c.MinBytes < 0 {
		errs = append(errs, fmt.Errorf("uploads: min_bytes is %d; it cannot be less than 0", c.MinBytes))
	}
	if err := artifact.CheckName(c.Prefix + strings.Repeat("x", 100)); err != nil {
		errs = append(errs, fmt.Errorf("uploads: prefix %.100q cannot begin a name: %w", c.Prefix, err))
	}
	u := uploads{c}
	u.Types = slices.Clone(c.Types)
	for i, t := range c.Types {
		u.Types[i] = strings.ToLower(t)
		if _, err := path.Match(t, ""); err != nil || strings.Count(t, "/") != 1 || strings.HasPrefix(t, "/") || strings.HasSuffix(t, "/") {
			errs = append(errs, fmt.Errorf("uploads: types: %q is no MIME type; write one as image/png, or as image/*", t))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &plugin.Plugin{
		Name: "uploads", Doc: "Keeps what users upload as artifacts, and shows it to the model.", Partials: true,
		OnEvent: u.save, BeforeModel: u.show,
	}, nil
}

type uploads struct{ Config }

// save puts the artifacts' addresses in place of the blobs.
func (u uploads) save(ctx context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
	if e.Author != session.User || e.Content == nil || !slices.ContainsFunc(e.Content.Parts, u.wants) {
		return plugin.Outcome{}, nil
	}
	by, content := *e, *e.Content
	content.Parts = slices.Clone(content.Parts)
	by.Content, by.Actions.ArtifactDelta = &content, maps.Clone(e.Actions.ArtifactDelta)
	if by.Actions.ArtifactDelta == nil {
		by.Actions.ArtifactDelta = map[string]int64{}
	}
	saved := 0
	for i, p := range content.Parts {
		if !u.wants(p) {
			continue
		}
		name := u.name(p.InlineData)
		version, err := u.Artifacts.Save(ctx, inv.Key, name, &genai.Part{InlineData: p.InlineData})
		if err != nil {
			return plugin.Outcome{}, fmt.Errorf("uploads: %w", err)
		}
		file := *p // with what else the part says
		file.InlineData = nil
		file.FileData = &genai.FileData{FileURI: artifact.URI(name, version), MIMEType: p.InlineData.MIMEType, DisplayName: p.InlineData.DisplayName}
		content.Parts[i] = &file
		by.Actions.ArtifactDelta[name] = version
		saved++
	}
	return plugin.Outcome{Replace: &by, Reason: fmt.Sprintf("saved as artifacts: %d", saved)}, nil
}

// wants reports whether the part is a blob to be saved.
func (u uploads) wants(p *genai.Part) bool {
	if p == nil || p.InlineData == nil || p.FileData != nil || len(p.InlineData.Data) < max(u.MinBytes, 1) {
		return false
	}
	kind := typeOf(p.InlineData)
	return len(u.Types) == 0 || slices.ContainsFunc(u.Types, func(t string) bool {
		ok, _ := path.Match(t, kind) // New has checked it
		return ok
	})
}

// typeOf returns the blob's MIME type without parameters, in lower case.
func typeOf(b *genai.Blob) string {
	kind, _, _ := mime.ParseMediaType(b.MIMEType)
	return kind
}

func (u uploads) name(b *genai.Blob) string {
	name := u.Prefix + b.DisplayName
	if b.DisplayName != "" && !strings.HasPrefix(b.DisplayName, artifact.UserPrefix) && artifact.CheckName(name) == nil {
		return name
	}
	extension := ""
	if known := mimetype.Lookup(typeOf(b)); known != nil {
		extension = known.Extension()
	}
	return fmt.Sprintf("%s%.16x%s", u.Prefix, sha256.Sum256(b.Data), extension)
}

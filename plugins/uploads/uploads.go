// Package uploads is a plugin that saves files that users upload as artifacts, so that the log stays small. In the input,
// it saves each inline blob and puts the blob's address (artifact.URI) in its place. In a model request, it puts what is
// saved at an address in the place of the address, for any artifact of the session or user, so that the model sees the
// file. If nothing is saved there any more, the model reads a note that says so.
//
// A saved file stays if the input is rewound, withheld by a later plugin, or refused by the store. A session with such
// addresses needs this plugin, or another one that knows them, in every later run.
//
// Another place in which files come: uploads.go replaces them, show.go puts them back for the model.
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

	"google.golang.org/genai"

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// Config says which blobs are saved, and where. Artifacts is required.
type Config struct {
	// Artifacts stores the blobs.
	Artifacts artifact.Service `yaml:"-" json:"-"`
	MinBytes  int              `yaml:"min_bytes" json:"min_bytes,omitempty" jsonschema:"the size in bytes of the smallest blob that is saved; smaller ones stay in the log; all are saved if not set"`
	Types     []string         `yaml:"types" json:"types,omitempty" jsonschema:"the MIME types of the blobs that are saved, such as image/png or image/*; all if not set"`
	// Prefix begins the names of artifacts, so that an upload cannot become a new version of an artifact that something
	// else uses.
	Prefix string `yaml:"prefix" json:"prefix,omitempty" jsonschema:"what the names of the artifacts begin with, such as uploads/ or, to keep them for all of the user's sessions, user:"`
}

// New returns the plugin, named "uploads", or an error that says everything that is wrong with the configuration. Put it
// after plugins that look into uploads, or block them. If an artifact cannot be saved or loaded, the plugin fails: the
// event is not appended, or the model not called.
//
// The name of an artifact is the blob's display name. If that is not a valid name, or begins with "user:", it is a hash of
// the data and the file extension of its type. If the name exists, the blob becomes its next version.
func New(c Config) (*plugin.Plugin, error) {
	var errs []error
	if c.Artifacts == nil {
		errs = append(errs, errors.New("uploads: there is no artifact service; set Config.Artifacts"))
	}
	if c.MinBytes < 0 {
		errs = append(errs, fmt.Errorf("uploads: min_bytes is %d; it must not be negative", c.MinBytes))
	}
	if err := artifact.CheckName(c.Prefix + strings.Repeat("x", 100)); err != nil {
		errs = append(errs, fmt.Errorf("uploads: prefix %.100q cannot begin a name: %w", c.Prefix, err))
	}
	u := uploads{Config: c}
	u.Types = slices.Clone(c.Types)
	for i, t := range c.Types {
		u.Types[i] = strings.ToLower(t)
		kind, subtype, _ := strings.Cut(t, "/")
		_, err := path.Match(t, "")
		if err != nil || kind == "" || subtype == "" || strings.Contains(subtype, "/") {
			errs = append(errs, fmt.Errorf("uploads: types: %q is not a MIME type; write one as image/png, or as image/*", t))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &plugin.Plugin{
		Name:        "uploads",
		Doc:         "Saves files that users upload as artifacts, and shows them to the model.",
		Partials:    true,
		OnEvent:     u.save,
		BeforeModel: u.show,
	}, nil
}

type uploads struct{ Config }

// save saves the blobs in a user's event, and puts their addresses in their place.
func (u uploads) save(ctx context.Context, inv *session.Invocation, e *session.Event) (plugin.Outcome, error) {
	if e.Author != session.User || e.Content == nil || !slices.ContainsFunc(e.Content.Parts, u.wants) {
		return plugin.Outcome{}, nil
	}
	content := *e.Content
	content.Parts = slices.Clone(content.Parts)
	delta := maps.Clone(e.Actions.ArtifactDelta)
	if delta == nil {
		delta = map[string]int64{}
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
		file := *p // it keeps the other fields of the part
		file.InlineData = nil
		file.FileData = &genai.FileData{
			FileURI:     artifact.URI(name, version),
			MIMEType:    p.InlineData.MIMEType,
			DisplayName: p.InlineData.DisplayName,
		}
		content.Parts[i] = &file
		delta[name] = version
		saved++
	}
	changed := *e
	changed.Content = &content
	changed.Actions.ArtifactDelta = delta
	return plugin.Outcome{Replace: &changed, Reason: fmt.Sprintf("saved as artifacts: %d", saved)}, nil
}

// wants reports whether a part is a blob to save.
func (u uploads) wants(p *genai.Part) bool {
	if p == nil || p.InlineData == nil || p.FileData != nil || len(p.InlineData.Data) < max(u.MinBytes, 1) {
		return false
	}
	kind := typeOf(p.InlineData)
	return len(u.Types) == 0 || slices.ContainsFunc(u.Types, func(t string) bool {
		ok, _ := path.Match(t, kind) // New has checked the pattern
		return ok
	})
}

// typeOf returns the MIME type of a blob without parameters, in lower case.
func typeOf(b *genai.Blob) string {
	kind, _, _ := mime.ParseMediaType(b.MIMEType)
	return kind
}

// name returns the name of the artifact for a blob.
func (u uploads) name(b *genai.Blob) string {
	name := u.Prefix + b.DisplayName
	if b.DisplayName != "" && !strings.HasPrefix(b.DisplayName, artifact.UserPrefix) && artifact.CheckName(name) == nil {
		return name
	}
	return fmt.Sprintf("%s%.16x%s", u.Prefix, sha256.Sum256(b.Data), extensions[typeOf(b)])
}

// extensions are the usual file extensions of types that people upload. Package mime is not used: what it returns depends
// on the machine.
var extensions = map[string]string{
	"application/gzip":                               ".gz",
	"application/json":                               ".json",
	"application/msword":                             ".doc",
	"application/pdf":                                ".pdf",
	"application/rtf":                                ".rtf",
	"application/vnd.ms-excel":                       ".xls",
	"application/vnd.ms-powerpoint":                  ".ppt",
	"application/vnd.oasis.opendocument.spreadsheet": ".ods",
	"application/vnd.oasis.opendocument.text":        ".odt",
	"application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":         ".xlsx",
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document":   ".docx",
	"application/xml":  ".xml",
	"application/zip":  ".zip",
	"audio/aac":        ".aac",
	"audio/flac":       ".flac",
	"audio/mp4":        ".m4a",
	"audio/mpeg":       ".mp3",
	"audio/ogg":        ".ogg",
	"audio/wav":        ".wav",
	"audio/webm":       ".webm",
	"audio/x-wav":      ".wav",
	"image/avif":       ".avif",
	"image/bmp":        ".bmp",
	"image/gif":        ".gif",
	"image/heic":       ".heic",
	"image/heif":       ".heif",
	"image/jpeg":       ".jpg",
	"image/png":        ".png",
	"image/svg+xml":    ".svg",
	"image/tiff":       ".tiff",
	"image/webp":       ".webp",
	"text/csv":         ".csv",
	"text/html":        ".html",
	"text/markdown":    ".md",
	"text/plain":       ".txt",
	"text/rtf":         ".rtf",
	"text/xml":         ".xml",
	"video/mp4":        ".mp4",
	"video/mpeg":       ".mpeg",
	"video/ogg":        ".ogv",
	"video/quicktime":  ".mov",
	"video/webm":       ".webm",
	"video/x-matroska": ".mkv",
	"video/x-msvideo":  ".avi",
}

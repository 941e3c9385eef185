package kit

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/server/internal/web"
)

// artifactBody describes a version of an artifact. When it was made is not known later.
type artifactBody struct {
	Version  int64          `json:"version"`
	URI      string         `json:"canonicalUri"`
	Metadata map[string]any `json:"customMetadata"`
	Created  float64        `json:"createTime,omitzero"`
	MIMEType string         `json:"mimeType,omitzero"`
}

func describe(name string, version int64, p *genai.Part) artifactBody {
	body := artifactBody{Version: version, URI: artifact.URI(name, version), Metadata: map[string]any{}}
	switch {
	case p.InlineData != nil:
		body.MIMEType = p.InlineData.MIMEType
	case p.FileData != nil:
		body.MIMEType = p.FileData.MIMEType
	default:
		body.MIMEType = "text/plain"
	}
	return body
}

// noArtifact says that there is no such artifact.
var noArtifact = web.NewProblem(http.StatusNotFound, "not_found", "Artifact not found")

// listArtifacts lists the names of a session's artifacts and of its user's.
func (x *routes) listArtifacts(_ http.ResponseWriter, r *request) (any, error) {
	names := []string{}
	if r.app.Artifacts != nil {
		list, err := r.app.Artifacts.List(r.Context(), r.key)
		if err != nil {
			return nil, err
		}
		names = append(names, list...)
	}
	return names, nil
}

// saveArtifact saves a version of an artifact. The session's log does not say so: no run has made it.
func (x *routes) saveArtifact(w http.ResponseWriter, r *request) (any, error) {
	b, err := readBody(w, r.Request, x.Limits.Upload)
	if err != nil {
		return nil, err
	}
	if r.app.Artifacts == nil {
		return nil, web.Bad("the app keeps no artifacts")
	}
	if _, err := r.app.Sessions().Get(r.Context(), r.key); err != nil {
		return nil, err
	}
	name := ""
	b.read("filename", &name)
	if metadata := b.object("customMetadata"); len(metadata) > 0 {
		b.fail(web.Bad("customMetadata of artifacts is not kept: leave it out"))
	}
	if b.err != nil {
		return nil, b.err
	}
	part, err := readPart(b.keys["artifact"])
	if err != nil {
		return nil, err
	}
	if part.FileData != nil {
		return nil, web.Bad("an artifact cannot refer to another file: send its contents, as inlineData")
	}
	stored, err := x.Budget.RoomForArtifact(r.Context(), r.app.Artifacts, r.key, int64(len(b.raw)))
	if err != nil {
		return nil, err
	}
	version, err := r.app.Artifacts.Save(r.Context(), r.key, name, part)
	stored(err == nil)
	if err != nil {
		return nil, err
	}
	answer := describe(name, version, part)
	answer.Created = seconds(time.Now())
	return answer, nil
}

// getArtifact answers with an artifact, or with what the end of the path asks of it:
//
//	…/artifacts/{name}                        the latest version, or ?version=
//	…/artifacts/{name}/versions               the numbers of its versions
//	…/artifacts/{name}/versions/{n}           a version, or the latest: "latest"
//	…/artifacts/{name}/versions/{n}/metadata  what is known of a version
//	…/artifacts/{name}/versions/metadata      the same of every version
//
// A name may have slashes.
func (x *routes) getArtifact(w http.ResponseWriter, r *request) (any, error) {
	if r.app.Artifacts == nil {
		return nil, noArtifact
	}
	name := r.PathValue("name")
	if of, ok := strings.CutSuffix(name, "/versions"); ok {
		versions, err := r.app.Artifacts.Versions(r.Context(), r.key, of)
		if err != nil {
			return nil, known(err)
		}
		return versions, nil
	}
	if of, ok := strings.CutSuffix(name, "/versions/metadata"); ok {
		return x.describeAll(w, r, of)
	}
	about, metadata := strings.CutSuffix(name, "/metadata")
	number := r.URL.Query().Get("version")
	of := name
	if i := strings.LastIndex(about, "/versions/"); i >= 0 &&
		!strings.Contains(about[i+len("/versions/"):], "/") {
		of = about[:i]
		number = about[i+len("/versions/"):]
	} else {
		metadata = false
	}
	version, err := versionOf(number)
	if err != nil {
		return nil, err
	}
	if err := web.HoldOf(r.Context()).WaitJSON(r.Context(), x.Limits.Upload/2); err != nil {
		return nil, err
	}
	part, err := r.app.Artifacts.Load(r.Context(), r.key, of, version)
	if err != nil {
		return nil, known(err)
	}
	if metadata {
		if version == artifact.Latest {
			versions, err := r.app.Artifacts.Versions(r.Context(), r.key, of)
			if err != nil || len(versions) == 0 {
				return nil, known(err)
			}
			version = versions[len(versions)-1]
		}
		return describe(of, version, part), nil
	}
	data, err := partOf(inline(part))
	if err != nil {
		return nil, err
	}
	return data, nil
}

// describeAll answers with what is known of every version of an artifact.
func (x *routes) describeAll(w http.ResponseWriter, r *request, name string) (any, error) {
	versions, err := r.app.Artifacts.Versions(r.Context(), r.key, name)
	if err != nil {
		return nil, known(err)
	}
	list := []artifactBody{}
	for _, version := range versions {
		part, err := r.app.Artifacts.Load(r.Context(), r.key, name, version)
		if err != nil {
			return nil, known(err)
		}
		list = append(list, describe(name, version, part))
	}
	return list, nil
}

// versionOf reads the number of a version; "" and "latest" are the latest.
func versionOf(text string) (int64, error) {
	if text == "" || text == "latest" {
		return artifact.Latest, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, web.NewProblem(http.StatusUnprocessableEntity, "bad_request",
			"a version is a whole number from 0, or latest")
	}
	return n, nil
}

// known returns an artifact service's error as the kit says it. No error is that of an artifact without
// versions.
func known(err error) error {
	if err == nil || errors.Is(err, artifact.ErrNotFound) {
		return noArtifact
	}
	return err
}

// inline returns a part with a text as a file: older pages show files only.
func inline(p *genai.Part) *genai.Part {
	if p.InlineData != nil || p.FileData != nil {
		return p
	}
	return &genai.Part{InlineData: &genai.Blob{MIMEType: "text/plain", Data: []byte(p.Text)}}
}

// deleteArtifact deletes an artifact with all its versions.
func (x *routes) deleteArtifact(_ http.ResponseWriter, r *request) (any, error) {
	if r.app.Artifacts == nil {
		return nil, noArtifact
	}
	return null, r.app.Artifacts.Delete(r.Context(), r.key, r.PathValue("name"))
}

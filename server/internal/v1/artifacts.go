package v1

import (
	"cmp"
	"mime"
	"net/http"
	"path"
	"strconv"

	"google.golang.org/genai"

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/server/internal/web"
)

var artifactHandlers = handlers{
	"listArtifacts":  (*routes).listArtifacts,
	"getArtifact":    (*routes).getArtifact,
	"putArtifact":    (*routes).putArtifact,
	"deleteArtifact": (*routes).deleteArtifact,
}

// files returns the app's artifacts, and the name of the artifact that a path names, if it names one.
func (x *routes) files(r *request) (artifact.Service, string, error) {
	if _, err := r.app.Sessions().Get(r.Context(), r.key); err != nil {
		return nil, "", err
	}
	if r.app.Artifacts == nil {
		return nil, "", web.NewProblem(http.StatusNotImplemented, "no_artifacts", "the app keeps no artifacts")
	}
	name := r.PathValue("name")
	if name != "" {
		if err := artifact.CheckName(name); err != nil {
			return nil, "", web.Bad(err.Error())
		}
	}
	return r.app.Artifacts, name, nil
}

func (x *routes) listArtifacts(_ http.ResponseWriter, r *request) (any, error) {
	files, _, err := x.files(r)
	if err != nil {
		return nil, err
	}
	names, err := files.List(r.Context(), r.key)
	if err != nil {
		return nil, err
	}
	type line struct {
		Name     string  `json:"name"`
		Versions []int64 `json:"versions"`
	}
	list := []line{}
	for _, name := range names {
		versions, err := files.Versions(r.Context(), r.key, name)
		if err != nil {
			return nil, err
		}
		list = append(list, line{Name: name, Versions: versions})
	}
	return map[string]any{"artifacts": list}, nil
}

// getArtifact answers with the bytes of an artifact: of its latest version, or of ?version=. A browser
// downloads them and never shows them as a page of this server: a model or a user has made them, and a script
// in them could act as the user.
func (x *routes) getArtifact(w http.ResponseWriter, r *request) (any, error) {
	files, name, err := x.files(r)
	if err != nil {
		return nil, err
	}
	version := artifact.Latest
	if r.query.Get("version") != "" {
		version = r.number("version")
	}
	hold := web.HoldOf(r.Context())
	if err := hold.WaitJSON(r.Context(), x.Limits.Upload/2); err != nil { // how large it is, is not known
		return nil, err
	}
	part, err := files.Load(r.Context(), r.key, name, version)
	if err != nil {
		return nil, err
	}
	data, kind := []byte(part.Text), "text/plain; charset=utf-8"
	switch {
	case part.FileData != nil:
		return map[string]any{"fileUri": part.FileData.FileURI, "mimeType": part.FileData.MIMEType}, nil
	case part.InlineData != nil:
		data, kind = part.InlineData.Data, part.InlineData.MIMEType
	}
	if _, _, err := mime.ParseMediaType(kind); err != nil {
		kind = "application/octet-stream"
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Length", strconv.Itoa(len(data)))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": path.Base(name)}))
	_, _ = w.Write(data) // a client that has left is told nothing
	return nil, nil
}

// putArtifact saves the body as an artifact's next version.
func (x *routes) putArtifact(w http.ResponseWriter, r *request) (any, error) {
	files, name, err := x.files(r)
	if err != nil {
		return nil, err
	}
	data, err := web.Body(w, r.Request, x.Limits.Upload)
	if err != nil {
		return nil, err
	}
	kind := cmp.Or(r.Header.Get("Content-Type"), "application/octet-stream")
	if _, _, err := mime.ParseMediaType(kind); err != nil {
		return nil, web.Bad("the header Content-Type is not a media type")
	}
	stored, err := x.Budget.RoomForArtifact(r.Context(), files, r.key, int64(len(data)))
	if err != nil {
		return nil, err
	}
	version, err := files.Save(r.Context(), r.key, name, genai.NewPartFromBytes(data, kind))
	stored(err == nil)
	if err != nil {
		return nil, err
	}
	web.WriteJSON(w, http.StatusCreated, map[string]any{"name": name, "version": version})
	return nil, nil
}

func (x *routes) deleteArtifact(w http.ResponseWriter, r *request) (any, error) {
	files, name, err := x.files(r)
	if err != nil {
		return nil, err
	}
	defer x.Budget.Forget(r.key.User)
	if err := files.Delete(r.Context(), r.key, name); err != nil {
		return nil, err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil, nil
}

package kit

import (
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/plughook/plughook/server/internal/web"
)

// prefix is where the kit's page is served.
const prefix = "/dev-ui/"

// registerPages adds the kit's web page.
func (x *routes) registerPages(handle func(string, handler)) {
	if x.options.Root {
		handle("GET /{$}", func(w http.ResponseWriter, r *request) (any, error) {
			// It is relative, so that it holds under a path of another server too.
			to := url.URL{Path: strings.TrimPrefix(prefix, "/"), RawQuery: r.URL.RawQuery}
			w.Header().Set("Location", to.String())
			w.WriteHeader(http.StatusTemporaryRedirect)
			return nil, nil
		})
	}
	handle("GET "+prefix+"assets/config/runtime-config.json",
		func(http.ResponseWriter, *request) (any, error) {
			// An empty address is that of the page.
			return map[string]any{"backendUrl": "", "telemetry": false}, nil
		})
	handle("GET "+prefix, x.page)
}

// page answers with a file of the page. Directories are not listed.
func (x *routes) page(w http.ResponseWriter, r *request) (any, error) {
	missing := web.NewProblem(http.StatusNotFound, "not_found", "the page has no such file")
	name := path.Clean("/" + strings.TrimPrefix(r.URL.Path, prefix))
	if name == "/" {
		name = "/index.html"
	}
	f, err := x.options.Pages.Open(name)
	if err != nil {
		return nil, missing
	}
	defer f.Close() // it was only read
	info, err := f.Stat()
	if err != nil || info.IsDir() {
		return nil, missing
	}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r.Request, name, info.ModTime(), f)
	return nil, nil
}

package v1

import (
	_ "embed"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
)

// document describes the routes: https://spec.openapis.org/oas/v3.1.0. A test holds it to what they answer.
//
//go:embed openapi.json
var document []byte

func (x *routes) openAPI(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(document) // a client that has left is told nothing
	return nil
}

// queryParameters returns the names of each route's parameters in the query, as the document has them, by "METHOD path".
// It has no route that says how the server is.
func queryParameters() map[string][]string {
	var routes struct {
		Paths map[string]map[string]struct {
			Parameters []struct{ Name, In string }
		}
	}
	if err := json.Unmarshal(document, &routes, json.MatchCaseInsensitiveNames(true)); err != nil {
		panic(err) // it is part of this package
	}
	named := map[string][]string{}
	for path, methods := range routes.Paths {
		if path == "/health" || path == "/ready" || path == "/version" {
			continue
		}
		for method, route := range methods {
			names := []string{}
			for _, p := range route.Parameters {
				if p.In == "query" {
					names = append(names, p.Name)
				}
			}
			named[strings.ToUpper(method)+" "+path] = names
		}
	}
	return named
}

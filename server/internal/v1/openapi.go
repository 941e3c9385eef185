package v1

import (
	_ "embed"
	"net/http"
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

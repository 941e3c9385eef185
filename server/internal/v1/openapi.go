package v1

import (
	_ "embed"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/plughook/plughook/server/internal/web"
	"github.com/plughook/plughook/session"
)

// document describes the routes: https://spec.openapis.org/oas/v3.1.0. The routes are made from it. A test
// holds what they answer to it.
//
//go:embed openapi.json
var document []byte

// An operation is one of the document: a route.
type operation struct {
	ID         string      `json:"operationId"`
	Parameters []parameter `json:"parameters"`
	// AnyQuery says that parameters that are not in the document are let through: who asks whether the server
	// lives may add some, so that no cache answers.
	AnyQuery bool `json:"x-any-query"`

	method, path string
}

// A parameter is one of an operation.
type parameter struct {
	Name string `json:"name"`
	In   string `json:"in"` // path, query or header
	// Slashes says that a path's last parameter is the rest of the path.
	Slashes bool `json:"x-slashes"`
	Schema  struct {
		Type      string `json:"type"`
		Format    string `json:"format"`
		Minimum   int64  `json:"minimum"`
		Maximum   int64  `json:"maximum"` // 0 is none
		MinLength int    `json:"minLength"`
		Default   int64  `json:"default"`
	} `json:"schema"`
}

// operations returns the document's operations.
func operations() []*operation {
	var read struct {
		Paths map[string]map[string]*operation `json:"paths"`
	}
	if err := json.Unmarshal(document, &read); err != nil {
		panic(err) // it is part of this package
	}
	var list []*operation
	for path, methods := range read.Paths {
		for method, op := range methods {
			op.method = strings.ToUpper(method)
			op.path = path
			list = append(list, op)
		}
	}
	return list
}

// pattern returns the operation's pattern for an http.ServeMux.
func (o *operation) pattern() string {
	path := o.path
	for _, p := range o.Parameters {
		if p.Slashes {
			path = strings.ReplaceAll(path, "{"+p.Name+"}", "{"+p.Name+"...}")
		}
	}
	return o.method + " " + path
}

// parameter returns a parameter, nil if the operation does not have it.
func (o *operation) parameter(in, name string) *parameter {
	i := slices.IndexFunc(o.Parameters, func(p parameter) bool { return p.In == in && p.Name == name })
	if i < 0 {
		return nil
	}
	return &o.Parameters[i]
}

// check refuses a parameter that the operation does not have, since whoever misspells one meant something
// else, and one with a value of the wrong type. Others are as the document says from here on: handlers do not
// check them again.
func (o *operation) check(query url.Values, header http.Header) error {
	for name, values := range query {
		p := o.parameter("query", name)
		switch {
		case p == nil && !o.AnyQuery:
			return web.Bad("this route has no parameter " + strconv.Quote(name))
		case p == nil:
			continue
		}
		if wrong := p.wrong(values[0]); wrong != "" {
			return web.Bad("the parameter " + name + " " + wrong)
		}
	}
	for i := range o.Parameters {
		p := &o.Parameters[i]
		if p.In != "header" {
			continue
		}
		if wrong := p.wrong(header.Get(p.Name)); wrong != "" {
			return web.Bad("the header " + p.Name + " " + wrong)
		}
	}
	return nil
}

// wrong says what a value should be, "" if it is that. A number that is empty is one that is not there.
func (p *parameter) wrong(value string) string {
	s := &p.Schema
	switch {
	case s.Type == "integer" && value != "":
		n, err := strconv.ParseInt(value, 10, 64)
		switch {
		case err == nil && n >= s.Minimum && (s.Maximum == 0 || n <= s.Maximum):
		case s.Maximum == 0:
			return fmt.Sprintf("is a whole number, %d or more", s.Minimum)
		default:
			return fmt.Sprintf("is a whole number from %d to %d", s.Minimum, s.Maximum)
		}
	case s.Type == "boolean":
		if _, err := strconv.ParseBool(value); err != nil {
			return "is true or false"
		}
	case s.Format == "date-time":
		if t, err := time.Parse(time.RFC3339, value); err != nil || session.CheckTime(t) != nil {
			return "is a time such as 2026-11-01T08:00:00Z"
		}
	case len(value) < s.MinLength:
		return "is empty"
	}
	return ""
}

// flag returns a parameter that is true or false; false if it is not there.
func (r *request) flag(name string) bool {
	yes, _ := strconv.ParseBool(r.query.Get(name))
	return yes
}

// number returns a parameter that is a number; the document's default if it is not there.
func (r *request) number(name string) int64 {
	n, err := strconv.ParseInt(r.query.Get(name), 10, 64)
	if err != nil {
		return r.operation.parameter("query", name).Schema.Default
	}
	return n
}

// time returns a parameter that is a time; zero if it is not there.
func (r *request) time(name string) time.Time {
	t, _ := time.Parse(time.RFC3339, r.query.Get(name))
	return t
}

// after returns the position that a client has read to: the header Last-Event-ID, or else the parameter
// "after", or else 0.
func (r *request) after() int64 {
	n, err := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64)
	if err != nil && r.query.Has("after") {
		return r.number("after")
	}
	return n
}

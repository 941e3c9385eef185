package artifact_test

import (
	"context"
	"fmt"
	"reflect"

	"google.golang.org/genai"

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/session"
)

// A tester is what a case works with: a store, and methods that end the case when something fails.
type tester struct {
	*contract.Tester
	artifact.Service
}

// equal expects equal values, nil and empty lists alike.
func (t *tester) equal(what string, got, want any) {
	t.Helper()
	if g, w := reflect.ValueOf(got), reflect.ValueOf(want); g.Kind() == reflect.Slice &&
		g.Len() == 0 &&
		w.Len() == 0 {
		return
	}
	if !reflect.DeepEqual(got, want) {
		t.Differ(what, brief(got), brief(want))
	}
}

func brief(v any) string {
	text := fmt.Sprintf("%+v", v)
	if p, ok := v.(*genai.Part); ok && p != nil {
		text = fmt.Sprintf("%+v %+v %q", p.InlineData, p.FileData, p.Text)
	}
	return contract.Brief(text)
}

// save saves a text and expects the version.
func (t *tester) save(key session.Key, name, text string, want int64) {
	t.Helper()
	got, err := t.Save(t.Context(), key, name, genai.NewPartFromText(text))
	t.Must(err)
	t.equal("the version of "+name, got, want)
}

// text expects a version to be a text.
func (t *tester) text(key session.Key, name string, version int64, want string) {
	t.Helper()
	part, err := t.Load(t.Context(), key, name, version)
	t.Must(err)
	t.same(fmt.Sprintf("%s, version %d", name, version), part, genai.NewPartFromText(want))
}

// same expects equal parts, a blob's absent and empty data alike.
func (t *tester) same(what string, got, want *genai.Part) {
	t.Helper()
	t.equal(what, filled(got), filled(want))
}

func filled(p *genai.Part) *genai.Part {
	if p == nil || p.InlineData == nil || p.InlineData.Data != nil {
		return p
	}
	blob := *p.InlineData
	blob.Data = []byte{}
	return &genai.Part{InlineData: &blob}
}

// none expects that there is no such artifact.
func (t *tester) none(key session.Key, name string) {
	t.Helper()
	_, err := t.Load(t.Context(), key, name, artifact.Latest)
	t.Is(err, artifact.ErrNotFound, "Load of "+name)
	_, err = t.Load(t.Context(), key, name, 0)
	t.Is(err, artifact.ErrNotFound, "Load of "+name+", version 0")
	_, err = t.Versions(t.Context(), key, name)
	t.Is(err, artifact.ErrNotFound, "Versions of "+name)
}

// versions expects the versions from 0 to n-1.
func (t *tester) versions(key session.Key, name string, n int) {
	t.Helper()
	got, err := t.Versions(t.Context(), key, name)
	t.Must(err)
	var want []int64
	for v := range n {
		want = append(want, int64(v))
	}
	t.equal("the versions of "+name, got, want)
}

// list expects the names that the session has.
func (t *tester) list(key session.Key, want ...string) {
	t.Helper()
	got, err := t.List(t.Context(), key)
	t.Must(err)
	t.equal("the artifacts of "+key.String(), got, want)
}

// An operation is one call of the service.
type operation struct {
	name string
	do   func() error
}

// all returns every operation on an artifact.
func (t *tester) all(ctx context.Context, key session.Key, name string) []operation {
	return []operation{
		{
			"Save",
			func() error { _, err := t.Save(ctx, key, name, genai.NewPartFromText("x")); return err },
		},
		{"Load", func() error { _, err := t.Load(ctx, key, name, artifact.Latest); return err }},
		{"Versions", func() error { _, err := t.Versions(ctx, key, name); return err }},
		{"Delete", func() error { return t.Delete(ctx, key, name) }},
	}
}

package artifact_test

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/internal/contract"
	"github.com/plughook/plughook/session"
)

var machineCases = []testCase{{
	Name: "machine",
	Rule: "Whatever is done in whatever order to the artifacts of a few sessions of a few users, the store " +
		"answers as a map of lists does.",
	Run: func(t *tester) {
		rapid.Check(t.T, func(rt *rapid.T) {
			m := &machine{
				tester: &tester{Tester: contract.NewTester(rt, t.T), Service: t.Service},
				kept:   map[artifactID][]*genai.Part{},
			}
			rt.Repeat(map[string]func(*rapid.T){
				"":       m.compare,
				"save":   m.doSave,
				"save 2": m.doSave, // as the commonest
				"save 3": m.doSave,
				"delete": m.doDelete,
			})
		})
	},
}}

// artifactID names an artifact; the key of one that is the user's has no session ID.
type artifactID struct {
	key  session.Key
	name string
}

// A machine does things to a store and to a map of lists. The last artifactID is the one that something was
// done to.
type machine struct {
	*tester
	kept map[artifactID][]*genai.Part
	key  session.Key
	last artifactID
}

var (
	genName = rapid.SampledFrom([]string{
		"a", "A", "a/b", "a.txt", "user:a", "user:a/b", "user:A", strings.Repeat("long ", 100),
	})
	genPart = rapid.Custom(func(rt *rapid.T) *genai.Part {
		switch text := rapid.String().Draw(rt, "text"); rapid.IntRange(0, 2).Draw(rt, "kind") {
		case 0:
			return &genai.Part{InlineData: &genai.Blob{
				Data: rapid.SliceOf(rapid.Byte()).Draw(rt, "data"), MIMEType: "a/b",
				DisplayName: text,
			}}
		case 1:
			return &genai.Part{
				FileData: &genai.FileData{FileURI: "gs://a/" + text, DisplayName: text},
			}
		default:
			return &genai.Part{Text: text}
		}
	})
)

// pick draws a session and a name; there need not be such an artifact.
func (m *machine) pick(rt *rapid.T) {
	m.key = m.Key(rapid.SampledFrom([]string{"ann", "Ann", "bob"}).Draw(rt, "user"),
		rapid.SampledFrom([]string{"s", "t"}).Draw(rt, "id"))
	m.last = idOf(m.key, genName.Draw(rt, "name"))
}

func idOf(key session.Key, name string) artifactID {
	if strings.HasPrefix(name, artifact.UserPrefix) {
		key.ID = ""
	}
	return artifactID{key: key, name: name}
}

func (m *machine) doSave(rt *rapid.T) {
	m.pick(rt)
	part := genPart.Draw(rt, "part")
	version, err := m.Save(m.Context(), m.key, m.last.name, part)
	m.Must(err)
	m.equal("the version", version, int64(len(m.kept[m.last])))
	m.kept[m.last] = append(m.kept[m.last], part)
}

func (m *machine) doDelete(rt *rapid.T) {
	m.pick(rt)
	m.Must(m.Delete(m.Context(), m.key, m.last.name))
	delete(m.kept, m.last)
}

func (m *machine) compare(rt *rapid.T) {
	if m.key.ID == "" {
		return // nothing was done yet
	}
	var names []string
	for p := range maps.Keys(m.kept) {
		if p == idOf(m.key, p.name) {
			names = append(names, p.name)
		}
	}
	slices.Sort(names)
	m.list(m.key, names...)
	all := m.kept[m.last]
	if len(all) == 0 {
		m.none(m.key, m.last.name)
		return
	}
	m.versions(m.key, m.last.name, len(all))
	version := rapid.Int64Range(artifact.Latest, int64(len(all))-1).Draw(rt, "version")
	want := all[len(all)-1]
	if version != artifact.Latest {
		want = all[version]
	}
	got, err := m.Load(m.Context(), m.key, m.last.name, version)
	m.Must(err)
	m.same(m.last.name, got, want)
}

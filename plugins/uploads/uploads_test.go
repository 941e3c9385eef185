package uploads_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/agent/replay"
	"github.com/plughook/plughook/artifact"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/uploads"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// sessionTimes are the times in a session file that are the store's.
var sessionTimes = regexp.MustCompile(`,"createTime":"[^"]*","lastUpdateTime":"[^"]*"`)

// The log has the address, the store the blob, and the model sees the blob: in its turn, and in
// later ones.
func TestUploadsAreKeptBesideTheLog(t *testing.T) {
	stores(t, func(t *testing.T, artifacts artifact.Service) {
		s := stage(t, uploads.Config{Artifacts: artifacts})
		cat := blob(png, "image/png", "my cat.png")
		cat.VideoMetadata = &genai.VideoMetadata{FPS: genai.Ptr(2.0)} // whatever else the part says
		sent, err := json.Marshal(cat)
		require.NoError(t, err)
		in := s.input(genai.NewPartFromText("what is this?"), cat, genai.NewPartFromText("please"))

		want := file("artifact:my%20cat.png?version=0", "image/png", "my cat.png")
		want.VideoMetadata = cat.VideoMetadata
		require.Equal(
			t,
			[]*genai.Part{
				genai.NewPartFromText("what is this?"),
				want,
				genai.NewPartFromText("please"),
			},
			in.Content.Parts,
		)
		require.Equal(t, map[string]int64{"my cat.png": 0}, in.Actions.ArtifactDelta)
		require.Equal(t, []plugin.Note{{Plugin: "uploads", Reason: "saved as artifacts: 1"}},
			plugin.NotesOf(in).Changed)
		saved, err := artifacts.Load(ctx, key, "my cat.png", 0)
		require.NoError(t, err)
		require.Equal(t, blob(png, "image/png", "my cat.png"), saved)

		for range 2 {
			got, err := json.Marshal(s.model.asked.Contents[0].Parts[1])
			require.NoError(t, err)
			require.JSONEq(t, string(sent), string(got))
			s.input(genai.NewPartFromText("are you sure?"))
		}
		var file bytes.Buffer
		require.NoError(t, session.Export(ctx, s.sessions, key, &file))
		require.NotContains(t, file.String(), base64.StdEncoding.EncodeToString(png)[:20])
		require.NotNil(t, s.log()[0].Content.Parts[1].FileData,
			"what the model saw is not what the log has")
	})
}

// An event that was read from JSON is written with the address too: the blob is nowhere in it.
func TestInputFromTheWire(t *testing.T) {
	stores(t, func(t *testing.T, artifacts artifact.Service) {
		s := stage(t, uploads.Config{Artifacts: artifacts})
		encoded := base64.StdEncoding.EncodeToString(png)
		var input session.Event
		require.NoError(t, json.Unmarshal(
			[]byte(
				`{"id":"in","content":{"role":"user","parts":[{"inlineData":{"data":"`+encoded+`","mimeType":"image/png","displayName":"cat.png"}}]},"theirs":1}`,
			),
			&input,
		))
		for range 2 { // the second time it is answered from the log, and not saved again
			for _, err := range s.runner.Run(ctx, key, &input, session.RunConfig{Create: true}) {
				require.NoError(t, err)
			}
		}
		line, err := json.Marshal(s.log()[0])
		require.NoError(t, err)
		require.NotContains(t, string(line), encoded)
		require.Contains(t, string(line), `"theirs":1`)
		require.Contains(t, string(line), `"artifactDelta":{"cat.png":0}`)
		versions, err := artifacts.Versions(ctx, key, "cat.png")
		require.NoError(t, err)
		require.Equal(t, []int64{0}, versions)
	})
}

func TestNames(t *testing.T) {
	digest := fmt.Sprintf("%x", sha256.Sum256(png))[:32]
	for what, tc := range map[string]struct {
		prefix, display, kind string
		want                  string // "#" stands for the digest
	}{
		"display name":              {"", "charts/q3.png", "image/png", "charts/q3.png"},
		"none":                      {"", "", "image/png", "#.png"},
		"jpeg":                      {"", "", "image/jpeg", "#.jpg"},
		"with parameters":           {"", "", "Text/Plain; charset=utf-8", "#.txt"},
		"unknown type":              {"", "", "application/x-nobody-knows", "#"},
		"no type":                   {"", "", "", "#"},
		"not a name":                {"", `C:\fakepath\cat.png`, "image/png", "#.png"},
		"leads out":                 {"", "../cat.png", "image/png", "#.png"},
		"too long":                  {"", strings.Repeat("x", 513), "image/png", "#.png"},
		"a user's is not for them":  {"", "user:cat.png", "image/png", "#.png"},
		"prefix":                    {"uploads/", "cat.png", "image/png", "uploads/cat.png"},
		"prefix and no name":        {"uploads/", "", "image/png", "uploads/#.png"},
		"too long with the prefix":  {"uploads/", strings.Repeat("x", 512), "image/png", "uploads/#.png"},
		"for all sessions":          {"user:", "cat.png", "image/png", "user:cat.png"},
		"for all, by digest":        {"user:up-", "/", "image/png", "user:up-#.png"},
		"user: with another prefix": {"up/", "user:cat.png", "image/png", "up/#.png"},
	} {
		t.Run(what, func(t *testing.T) {
			artifacts := artifact.NewMemory()
			in := stage(
				t,
				uploads.Config{Artifacts: artifacts, Prefix: tc.prefix},
			).input(blob(png, tc.kind, tc.display))
			require.Len(t, in.Actions.ArtifactDelta, 1)
			for name := range in.Actions.ArtifactDelta {
				require.Equal(t, strings.Replace(tc.want, "#", digest, 1), name)
				require.Equal(t, artifact.URI(name, 0), in.Content.Parts[0].FileData.FileURI)
			}
		})
	}
}

// One name is one artifact: its next version for each upload, in one event too.
func TestVersions(t *testing.T) {
	stores(t, func(t *testing.T, artifacts artifact.Service) {
		s := stage(t, uploads.Config{Artifacts: artifacts})
		in := s.input(blob([]byte("one"), "text/plain", "a"),
			blob([]byte("two"), "text/plain", "a"), blob([]byte("other"), "text/plain", "b"))
		require.Equal(t, map[string]int64{"a": 1, "b": 0}, in.Actions.ArtifactDelta)
		require.Equal(
			t,
			[]*genai.Part{
				blob([]byte("one"), "text/plain", "a"),
				blob([]byte("two"), "text/plain", "a"),
				blob([]byte("other"), "text/plain", "b"),
			},
			s.shown(),
		)
		in = s.input(blob([]byte("three"), "text/plain", "a"))
		require.Equal(t, map[string]int64{"a": 2}, in.Actions.ArtifactDelta)
		require.Equal(t, []*genai.Part{blob([]byte("three"), "text/plain", "a")}, s.shown())
		require.Equal(t, []byte("one"), s.model.asked.Contents[0].Parts[0].InlineData.Data,
			"what was uploaded first is still shown as it was")
	})
}

func TestWhatIsSaved(t *testing.T) {
	for what, tc := range map[string]struct {
		config uploads.Config
		part   *genai.Part
		want   bool
	}{
		"every blob":                 {uploads.Config{}, blob([]byte("a"), "image/png", "a"), true},
		"no blob without data":       {uploads.Config{}, blob(nil, "image/png", "a"), false},
		"big enough":                 {uploads.Config{MinBytes: 3}, blob([]byte("abc"), "image/png", "a"), true},
		"too small":                  {uploads.Config{MinBytes: 3}, blob([]byte("ab"), "image/png", "a"), false},
		"the type":                   {uploads.Config{Types: []string{"a/b", "image/png"}}, blob(png, "image/png", "a"), true},
		"a type of the kind":         {uploads.Config{Types: []string{"image/*"}}, blob(png, "Image/PNG; a=b", "a"), true},
		"case of the pattern":        {uploads.Config{Types: []string{"Image/*"}}, blob(png, "image/png", "a"), true},
		"any type":                   {uploads.Config{Types: []string{"*/*"}}, blob(png, "image/png", "a"), true},
		"another type":               {uploads.Config{Types: []string{"image/*"}}, blob(png, "audio/wav", "a"), false},
		"no type":                    {uploads.Config{Types: []string{"image/*"}}, blob(png, "", "a"), false},
		"text":                       {uploads.Config{}, genai.NewPartFromText("a"), false},
		"a file that is there":       {uploads.Config{}, file("gs://a/b", "image/png", "a"), false},
		"what was an upload already": {uploads.Config{}, file("artifact:a?version=0", "image/png", "a"), false},
	} {
		t.Run(what, func(t *testing.T) {
			artifacts := artifact.NewMemory()
			tc.config.Artifacts = artifacts
			in := stage(t, tc.config).input(genai.NewPartFromText("look"), tc.part)
			names, err := artifacts.List(ctx, key)
			require.NoError(t, err)
			require.Equal(t, tc.want, len(names) == 1, names)
			require.Equal(t, tc.want, len(in.Actions.ArtifactDelta) == 1)
			if !tc.want {
				require.Equal(t, tc.part, in.Content.Parts[1])
				require.Empty(t, plugin.NotesOf(in).Changed)
			}
		})
	}
}

// Only the user's input is changed: what agents and tools make is theirs to keep. Partial events
// pass.
func TestAgentsEventsStay(t *testing.T) {
	p := made(t, uploads.Config{Artifacts: artifact.NewMemory()})
	for _, author := range []string{"bot", "plugin/other", ""} {
		out, err := p.OnEvent(ctx, &session.Invocation{Key: key}, &session.Event{
			Author:  author,
			Content: &genai.Content{Parts: []*genai.Part{blob(png, "image/png", "a")}},
		})
		require.NoError(t, err)
		require.True(t, out.IsZero())
	}
	for _, e := range []*session.Event{{Author: "user"}, {Author: "user", Content: &genai.Content{Parts: []*genai.Part{nil, {}}}}} {
		out, err := p.OnEvent(ctx, &session.Invocation{Key: key}, e)
		require.NoError(t, err)
		require.True(t, out.IsZero())
	}
}

func TestStreaming(t *testing.T) {
	stores(t, func(t *testing.T, artifacts artifact.Service) {
		s := stage(t, uploads.Config{Artifacts: artifacts})
		yielded, err := s.run(session.SSE, genai.NewPartFromText("a"),
			blob(png, "image/png", "cat.png"))
		require.NoError(t, err)
		var texts []string
		for _, e := range yielded {
			texts = append(texts, fmt.Sprint(e.Partial, " ", e.Text()))
		}
		require.Equal(t, []string{"false a", "true I see", "true  2 parts", "false I see 2 parts"},
			texts)
		require.NotNil(t, yielded[0].Content.Parts[1].FileData)
		require.Equal(t, blob(png, "image/png", "cat.png"), s.shown()[1])
	})
}

// What the model is shown of an address where there is no blob.
func TestShown(t *testing.T) {
	stores(t, func(t *testing.T, artifacts artifact.Service) {
		for name, part := range map[string]*genai.Part{"user:text": genai.NewPartFromText("a text"), "file": file("gs://a/b", "video/mp4", "b")} {
			_, err := artifacts.Save(ctx, key, name, part)
			require.NoError(t, err)
		}
		_, err := artifacts.Save(ctx, session.Key{App: "app", User: "bob", ID: "s"}, "bob's",
			genai.NewPartFromText("a secret"))
		require.NoError(t, err)
		s := stage(t, uploads.Config{Artifacts: artifacts})
		s.input(file("artifact:user:text?version=0", "text/plain", ""),
			file("artifact:file?version=0", "", ""), file("gs://c/d", "image/png", "d"),
			file("artifact:file?version=1", "video/mp4", ""),
			file("artifact:bob's?version=0", "", ""), file("artifact:../a?version=0", "", ""))
		require.Equal(t, []*genai.Part{
			genai.NewPartFromText(
				"a text"), file("gs://a/b", "video/mp4", "b"), file("gs://c/d", "image/png", "d"),
			genai.NewPartFromText(
				`(The file "file", version 1, was here; it is not stored any more.)`),
			genai.NewPartFromText(
				`(The file "bob's", version 0, was here; it is not stored any more.)`),
			genai.NewPartFromText(
				`(A file was here, but its address "artifact:../a?version=0" is invalid.)`),
		}, s.shown())
	})
}

func TestDeletedUpload(t *testing.T) {
	stores(t, func(t *testing.T, artifacts artifact.Service) {
		s := stage(t, uploads.Config{Artifacts: artifacts})
		s.input(blob(png, "image/png", "cat.png"))
		require.NoError(t, artifacts.Delete(ctx, key, "cat.png"))
		s.input(genai.NewPartFromText("and now?"))
		require.Equal(t, `(The file "cat.png", version 0, was here; it is not stored any more.)`,
			s.model.asked.Contents[0].Parts[0].Text)
	})
}

// The request's contents are shared with the log: the hook changes copies, of what needs it only.
func TestContentsAreNotChanged(t *testing.T) {
	artifacts := artifact.NewMemory()
	_, err := artifacts.Save(ctx, key, "a", blob(png, "image/png", "a"))
	require.NoError(t, err)
	plain, with := genai.NewContentFromText("a", "user"), &genai.Content{
		Role:  "user",
		Parts: []*genai.Part{nil, file("artifact:a?version=0", "image/png", "a")},
	}
	contents := []*genai.Content{plain, with, nil}
	req := &model.Request{Contents: contents}
	out, err := made(t,
		uploads.Config{Artifacts: artifacts}).BeforeModel(ctx, &session.Invocation{Key: key}, req)
	require.NoError(t, err)
	require.True(t, out.IsZero())
	require.Same(t, plain, req.Contents[0])
	require.Equal(t, png, req.Contents[1].Parts[1].InlineData.Data)
	require.Same(t, with, contents[1])
	require.Equal(t, "artifact:a?version=0", with.Parts[1].FileData.FileURI)
}

// failing is a service whose Save and Load fail from a number of calls on.
type failing struct {
	artifact.Service
	saves, loads int
}

var errDisk = errors.New("the disk is full")

func (f *failing) Save(
	ctx context.Context,
	key session.Key,
	name string,
	data *genai.Part,
) (int64, error) {
	if f.saves--; f.saves < 0 {
		return 0, errDisk
	}
	return f.Service.Save(ctx, key, name, data)
}

func (f *failing) Load(
	ctx context.Context,
	key session.Key,
	name string,
	version int64,
) (*genai.Part, error) {
	if f.loads--; f.loads < 0 {
		return nil, errDisk
	}
	return f.Service.Load(ctx, key, name, version)
}

func TestFailures(t *testing.T) {
	for what, tc := range map[string]struct {
		artifacts *failing
		hook      plugin.Hook
		log       int // how many events are in it
	}{
		"save":             {&failing{saves: 0}, plugin.OnEvent, 0},
		"the second save":  {&failing{saves: 1}, plugin.OnEvent, 0},
		"load":             {&failing{saves: 2}, plugin.BeforeModel, 1},
		"the second load":  {&failing{saves: 2, loads: 1}, plugin.BeforeModel, 1},
		"nothing (2 each)": {&failing{saves: 2, loads: 2}, "", 2},
	} {
		t.Run(what, func(t *testing.T) {
			tc.artifacts.Service = artifact.NewMemory()
			s := stage(t, uploads.Config{Artifacts: tc.artifacts})
			_, err := s.run(session.NoStreaming, blob(png, "image/png", "a"),
				blob(png, "image/png", "b"))
			require.Len(t, s.log(), tc.log)
			if tc.hook == "" {
				require.NoError(t, err)
				return
			}
			var failed *plugin.Error
			require.ErrorAs(t, err, &failed)
			require.True(t, failed.Plugin == "uploads" && failed.Hook == tc.hook, failed)
			require.ErrorIs(t, err, errDisk)
			require.Nil(t, s.model.asked)
		})
	}
}

// A recording is played under the plugin to the same log: nothing is saved again, nor need it be
// there.
func TestReplay(t *testing.T) {
	stores(t, func(t *testing.T, artifacts artifact.Service) {
		s := stage(t, uploads.Config{Artifacts: artifacts})
		s.input(genai.NewPartFromText("look"), blob(png, "image/png", "cat.png"))
		s.input(blob(png, "image/png", ""))
		var recorded, played bytes.Buffer
		require.NoError(t, session.Export(ctx, s.sessions, key, &recorded))

		for _, kept := range []artifact.Service{artifacts, artifact.NewMemory()} {
			before, err := kept.List(ctx, key)
			require.NoError(t, err)
			for rec, err := range session.ReadRecordings("recording", bytes.NewReader(recorded.Bytes())) {
				require.NoError(t, err)
				player, err := replay.New("bot", rec)
				require.NoError(t, err)
				again := &scene{t: t, sessions: memory.New()}
				r := again.start(player, runner.Options{Restore: true},
					made(t, uploads.Config{Artifacts: kept}))
				for input := range player.Inputs(key) {
					for _, err := range r.Run(ctx, key, input, session.RunConfig{Create: true}) {
						require.NoError(t, err)
					}
				}
				played.Reset()
				require.NoError(t, session.Export(ctx, again.sessions, key, &played))
			}
			require.Equal(t, sessionTimes.ReplaceAllString(recorded.String(), ""),
				sessionTimes.ReplaceAllString(played.String(), ""))
			after, err := kept.List(ctx, key)
			require.NoError(t, err)
			require.Equal(t, before, after)
		}
	})
}

func TestRefused(t *testing.T) {
	for want, c := range map[string]uploads.Config{
		"set Config.Artifacts":                        {},
		"min_bytes is -1":                             {MinBytes: -1},
		`types: "image" is not a MIME type`:           {Types: []string{"image/*", "image"}},
		`types: "*" is not a MIME type`:               {Types: []string{"*"}},
		`types: "image/[" is not a MIME type`:         {Types: []string{"image/["}},
		`types: "/png" is not a MIME type`:            {Types: []string{"/png"}},
		`prefix "../" cannot begin a name`:            {Prefix: "../"},
		`prefix "/" cannot begin a name`:              {Prefix: "/"},
		"min_bytes is -2; it must not be negative\nu": {MinBytes: -2, Types: []string{"a"}},
	} {
		if !strings.Contains(want, "Artifacts") {
			c.Artifacts = artifact.NewMemory()
		}
		_, err := uploads.New(c)
		require.ErrorContains(t, err, want)
	}
}
